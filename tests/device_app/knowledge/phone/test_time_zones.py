"""A phone that moves to another time zone prints all times in that zone; each message is still stored exactly once."""

import json
import os
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from device_app.ahead.phone import read
from device_app.commands import phone_sources as commands
from device_app.device import Device
from device_app.knowledge.phone.reading import PhoneReading
from device_app.knowledge.phone.sources import CALLS, MESSAGES, Source
from shared.errors import GaveWay, PhoneSilent
from storage.paths import HOME_VARIABLE, Paths
from storage.phone_sources import PhoneSources
from tests.devices import fake_device

BEGAN = datetime(2026, 8, 1, 12, tzinfo=UTC)

MESSAGE, CALL = "messages", "calls"


class Traveller:
    """A fake phone that prints its messages' times in the time zone where it is.

    Messages are numbered in the order of time.
    """

    def __init__(self, hours_east: float = 0.0) -> None:
        self.moments: list[datetime] = []
        self.pages = 0
        self.fails_after = -1
        self.days_left = 0
        self.flies(hours_east)

    def flies(self, hours_east: float) -> None:
        """Move the phone, and this process, to the time zone `hours_east` hours east of UTC."""
        self.hours_east = hours_east
        os.environ["TZ"] = _zone_of(hours_east)

    def gets(self, *moments: datetime) -> None:
        self.moments = sorted({*self.moments, *moments})

    def counts_days(self, *_: object) -> None:
        """Stop the reading of messages after the number of days in `days_left`."""
        self.days_left -= 1
        if self.days_left == 0:
            raise GaveWay("The device is needed.")

    def local(self, at: datetime) -> datetime:
        return (at + timedelta(hours=self.hours_east)).replace(tzinfo=None)

    def fetch(self, source: Source, skip: int, most: int) -> Sequence[object]:
        self.pages += 1
        if self.pages == self.fails_after:
            raise PhoneSilent("The phone does not answer.")
        numbered = list(enumerate(self.moments))[::-1][skip : skip + most][::-1]
        printed = {MESSAGES: self._message, CALLS: self._call}[source]
        return [printed(place, at) for place, at in numbered]

    def _message(self, place: int, at: datetime) -> dict[str, Any]:
        return {
            "_id": place,
            "threadid": at.minute % 2,
            "type": "inbox",
            "number": f"07012345{at.minute % 2}",
            "received": f"{self.local(at):%Y-%m-%d %H:%M:%S}",
            "body": f"Sent at {at:%m-%d %H:%M}.",
        }

    def _call(self, _: int, at: datetime) -> dict[str, Any]:
        number = f"070123{at:%d%H%M}"
        return {"phone_number": number, "type": "MISSED", "date": f"{self.local(at):%Y-%m-%d %H:%M:%S}"}


def _zone_of(hours_east: float) -> str:
    """A time zone as the variable TZ names it, which counts to the west."""
    sign, minutes = "-" if hours_east > 0 else "+", int(abs(hours_east) * 60)
    return f"<here>{sign}{minutes // 60}:{minutes % 60:02d}"


@pytest.fixture(autouse=True)
def _zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "UTC0")
        yield
    time.tzset()


@pytest.fixture
def device(tmp_path: Path) -> Iterator[Device]:
    with opened(tmp_path) as device:
        yield device


def opened(home: Path) -> Any:
    device = fake_device(Paths.locate({HOME_VARIABLE: str(home)}))
    for name in (MESSAGE, CALL):
        commands.allow(device, name)
    return device


def run(device: Device, phone: Traveller, name: str = MESSAGE, **other: Any) -> PhoneReading:
    phone.pages = 0
    reading = PhoneReading(device.ingestion(), PhoneSources(device.database), device.people, phone.fetch, **other)
    read(device, reading, name)
    return reading


def stored(device: Device) -> list[str]:
    """Return the texts of all stored messages; a message that is stored twice occurs twice."""
    passages = device.knowledge.passages_of(MESSAGES.path)
    return sorted(line.partition(": ")[2] for passage in passages for line in passage.text.splitlines())


def bodies(phone: Traveller) -> list[str]:
    return sorted(f"Sent at {at:%m-%d %H:%M}." for at in phone.moments)


def days_of(device: Device) -> dict[str, str]:
    """Return the day under which each message is stored."""
    passages = device.knowledge.passages_of(MESSAGES.path)
    return {
        line.partition(": ")[2]: passage.title.rpartition(", ")[2]
        for passage in passages
        for line in passage.text.splitlines()
    }


def around_midnights(hours_east: Sequence[float]) -> list[datetime]:
    """Moments just before and after every midnight of a week in these time zones, and every five hours."""
    midnights = [
        datetime(2026, 8, day, tzinfo=UTC) - timedelta(hours=hours) for day in range(1, 8) for hours in hours_east
    ]
    near = [at + timedelta(minutes=minutes) for at in midnights for minutes in (-61, -2, 1, 62)]
    return [*near, *(BEGAN + timedelta(hours=5 * number, minutes=33) for number in range(28))]


FLIGHTS = [(0, 7), (7, 0), (9, -5), (-5, 9), (-11, 14), (14, -12), (5.5, -3.5)]


@pytest.mark.parametrize(("before", "after"), FLIGHTS)
@pytest.mark.parametrize("new_hours", [0, 30])
def test_each_message_stands_once_after_a_flight(device: Device, before: float, after: float, new_hours: int) -> None:
    phone = Traveller(before)
    phone.gets(*around_midnights([before, after]))
    run(device, phone)
    assert stored(device) == bodies(phone)
    phone.flies(after)
    last = phone.moments[-1]
    phone.gets(*(last + timedelta(minutes=29 * number) for number in range(1, new_hours * 2)))
    run(device, phone)
    assert stored(device) == bodies(phone)
    phone.gets(phone.moments[-1] + timedelta(hours=1))
    run(device, phone)
    assert stored(device) == bodies(phone)
    assert run(device, phone).report.documents == 0


@pytest.mark.parametrize(("before", "after"), FLIGHTS)
def test_new_messages_stand_under_the_day_of_the_place(device: Device, before: float, after: float) -> None:
    phone = Traveller(before)
    phone.gets(*around_midnights([before]))
    run(device, phone)
    phone.flies(after)
    new = [phone.moments[-1] + timedelta(minutes=10 * number) for number in range(1, 200)]
    phone.gets(*new)
    run(device, phone)
    stands = days_of(device)
    assert {body: stands[body] for body in (f"Sent at {at:%m-%d %H:%M}." for at in new)} == {
        f"Sent at {at:%m-%d %H:%M}.": f"{phone.local(at):%Y-%m-%d}" for at in new
    }


@pytest.mark.parametrize(("before", "after"), FLIGHTS)
def test_a_log_with_a_single_day_moves_as_a_whole(device: Device, before: float, after: float) -> None:
    phone = Traveller(before)
    for hour in (1, 23):
        phone.moments = [datetime(2026, 8, 3, hour, tzinfo=UTC) - timedelta(hours=before)]
        run(device, phone)
        assert stored(device) == bodies(phone)
        phone.flies(after)
        run(device, phone)
        assert stored(device) == bodies(phone)
        phone.flies(before)


@pytest.mark.parametrize(("before", "after"), FLIGHTS)
def test_a_flight_while_older_messages_are_still_to_be_read(device: Device, before: float, after: float) -> None:
    phone = Traveller(before)
    phone.gets(*around_midnights([before, after]), *(BEGAN - timedelta(minutes=53 * place) for place in range(900)))
    for fails_after, hours_east in ((4, before), (7, after), (-1, before)):
        phone.flies(hours_east)
        phone.fails_after = fails_after
        with suppress(PhoneSilent):
            run(device, phone)
        assert max(Counter(stored(device)).values()) == 1
    assert stored(device) == bodies(phone)


@pytest.mark.parametrize(("before", "after"), FLIGHTS)
def test_a_kill_between_two_writings_and_then_a_flight(device: Device, before: float, after: float) -> None:
    """Messages stored after the last recorded progress are read again, with their days in the new time zone."""
    phone = Traveller(before)
    phone.gets(*around_midnights([before, after]))
    run(device, phone)
    phone.flies(after)
    device.database.execute("UPDATE phone_sources SET progress = '{}'")
    run(device, phone)
    assert stored(device) == bodies(phone)


def test_calls_stand_once_after_a_flight(device: Device) -> None:
    phone = Traveller(7)
    phone.gets(*around_midnights([7, 0]))
    run(device, phone, CALL)
    phone.flies(0)
    run(device, phone, CALL)
    numbers = [passage.text.partition("from ")[2].rstrip(".") for passage in device.knowledge.passages_of(CALLS.path)]
    assert sorted(numbers) == sorted(f"070123{at:%d%H%M}" for at in phone.moments)


SUMMER = "CET-1CEST,M3.5.0,M10.5.0/3"


def test_summer_time_that_ends_moves_nothing(device: Device) -> None:
    """After the end of summer time, a phone still prints earlier messages with their summer times."""

    class AtHome(Traveller):
        def flies(self, hours_east: float) -> None:
            os.environ["TZ"] = SUMMER

        def local(self, at: datetime) -> datetime:
            return (at + timedelta(hours=2 if at < datetime(2026, 10, 25, 1, tzinfo=UTC) else 1)).replace(tzinfo=None)

    phone = AtHome()
    phone.gets(*(datetime(2026, 10, 23, tzinfo=UTC) + timedelta(minutes=30 * place) for place in range(100)))
    run(device, phone)
    assert stored(device) == bodies(phone)
    phone.gets(*(phone.moments[-1] + timedelta(minutes=30 * place) for place in range(100)))
    assert run(device, phone).report.documents <= 2 * 3
    assert stored(device) == bodies(phone)


def test_a_zone_that_changes_between_two_pages_ends_the_reading(device: Device) -> None:
    phone = Traveller(-5)
    phone.gets(*around_midnights([-5, 9]), *(BEGAN - timedelta(minutes=53 * place) for place in range(600)))
    with pytest.raises(GaveWay, match="time zone"):
        run(device, phone, on_day=lambda *_: phone.flies(9))
    run(device, phone)
    assert stored(device) == bodies(phone)


@pytest.mark.parametrize("whole", [True, False])
def test_progress_of_an_earlier_version_is_continued(device: Device, whole: bool) -> None:
    phone = Traveller(2)
    phone.gets(*around_midnights([2]), *(BEGAN - timedelta(minutes=53 * place) for place in range(500)))
    if not whole:
        phone.fails_after = 4
    with suppress(PhoneSilent):
        run(device, phone)
    progress = json.loads(PhoneSources(device.database).allowed()[1].progress)
    earlier = {name: progress[name] for name in ("newest", "oldest", "reached", "whole", "fingerprint")}
    assert PhoneSources(device.database).note_progress(MESSAGE, json.dumps(earlier))
    phone.fails_after = -1
    phone.gets(phone.moments[-1] + timedelta(hours=3))
    run(device, phone)
    assert phone.pages <= (1 if whole else 6)
    assert stored(device) == bodies(phone)


STEP = st.one_of(
    st.tuples(st.just("fly"), st.sampled_from([-12.0, -5.0, 0.0, 5.5, 9.0, 14.0])),
    st.tuples(st.just("get"), st.integers(1, 60)),
    st.tuples(st.just("read"), st.sampled_from([1, 2, 3, 5, -1])),
    st.tuples(st.just("give way"), st.integers(1, 20)),
)


@settings(max_examples=12, deadline=None)
@given(st.lists(STEP, min_size=3, max_size=9))
def test_whatever_happens_on_the_way(tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, Any]]) -> None:
    phone = Traveller()
    phone.gets(*(BEGAN - timedelta(minutes=97 * place) for place in range(250)))
    with opened(tmp_path_factory.mktemp("home")) as device:
        for kind, value in [*steps, ("read", -1)]:
            if kind == "fly":
                phone.flies(value)
            elif kind == "get":
                phone.gets(*(phone.moments[-1] + timedelta(minutes=89 * place) for place in range(1, value)))
            elif kind == "give way":
                phone.days_left = value
                phone.fails_after = -1
                with suppress(GaveWay):
                    run(device, phone, on_day=phone.counts_days)
            else:
                phone.fails_after = value
                with suppress(PhoneSilent):
                    run(device, phone)
        assert stored(device) == bodies(phone)
