"""Reading a phone's sources into the store: newer and older entries, after a kill, and after consent is withdrawn."""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from device_app.ahead.phone import phone_sources, read
from device_app.commands import phone_sources as commands
from device_app.commands.knowledge import absolute, remove
from device_app.device import Device
from device_app.knowledge.phone.days import PAGE
from device_app.knowledge.phone.reading import PhoneReading
from device_app.knowledge.phone.sources import CONTACTS, MESSAGES, Source
from shared.errors import GaveWay, PhoneSilent
from shared.types import Filters
from storage.paths import HOME_VARIABLE, Paths
from storage.phone_sources import PhoneSources
from storage.wrong_answers import WrongAnswers
from tests.devices import fake_device
from tests.termux import CONTACTS as LISTED_CONTACTS

NOW = datetime(2026, 8, 13, 12)


def message(place: int, **other: Any) -> dict[str, Any]:
    """Return the message with the number `place`, in the format of `termux-sms-list`: five a day, from two people,
    ascending in time.
    """
    at = NOW + timedelta(hours=place * 4.8)
    thread = place % 2
    return {
        "_id": place,
        "threadid": thread,
        "type": "inbox",
        "sender": ("Anna Lindqvist", "Petra Novak")[thread],
        "number": f"07012345{thread}",
        "received": f"{at:%Y-%m-%d %H:%M:%S}",
        "body": f"This is the message number {place} of all.",
    } | other


class Log:
    """A fake phone with messages and contacts, which records the requests for pages."""

    def __init__(self, count: int) -> None:
        self.messages = [message(-number) for number in range(count)]
        self.asked: list[int] = []
        self.fails_after = -1

    def fetch(self, source: Source, skip: int, most: int) -> Sequence[object]:
        if source is CONTACTS:
            return LISTED_CONTACTS
        self.asked.append(skip)
        if len(self.asked) == self.fails_after:
            raise PhoneSilent("The phone does not answer.")
        return self.messages[skip : skip + most][::-1]


@pytest.fixture
def device(tmp_path: Path) -> Iterator[Device]:
    with fake_device(Paths.locate({HOME_VARIABLE: str(tmp_path)})) as device:
        for name in ("messages", "contacts", "calls"):
            commands.allow(device, name)
        yield device


def run(device: Device, log: Log, name: str = "messages", **settings: Any) -> PhoneReading:
    reading = PhoneReading(device.ingestion(), PhoneSources(device.database), device.people, log.fetch, **settings)
    read(device, reading, name)
    return reading


def stored(device: Device) -> set[str]:
    passages = device.knowledge.passages_of(MESSAGES.path)
    return {line.partition(": ")[2] for passage in passages for line in passage.text.splitlines()}


def bodies(log: Log) -> set[str]:
    return {each["body"] for each in log.messages}


def test_all_messages_are_read_and_then_only_new_ones(device: Device) -> None:
    log = Log(700)
    assert run(device, log).report.documents > 100
    assert stored(device) == bodies(log)
    state = device.knowledge.file(MESSAGES.path)
    assert state
    assert state.sha256 == ""
    log.messages = [message(2), message(1), *log.messages]
    log.asked.clear()
    assert 1 <= run(device, log).report.documents <= 3
    assert len(log.asked) == 1
    assert stored(device) == bodies(log)
    assert run(device, log).report.documents == 0


def test_a_log_that_was_empty_at_first_is_read_later(device: Device) -> None:
    log = Log(0)
    run(device, log)
    log.messages = [message(0)]
    run(device, log)
    assert stored(device) == bodies(log)


def test_a_message_deleted_on_the_phone_goes_if_it_is_of_the_newest_three_days(device: Device) -> None:
    log = Log(40)
    run(device, log)
    gone = {each["body"] for each in (log.messages[3], log.messages[9])}
    log.messages = [each for each in log.messages if each["body"] not in gone]
    old = log.messages.pop()["body"]
    run(device, log)
    assert stored(device) == bodies(log) | {old}


def test_filters_find_a_person_and_days(device: Device) -> None:
    log = Log(20)
    log.messages.insert(0, message(1, type="sent", sender="You", body="I wrote this myself."))
    run(device, log)
    day = NOW.date()
    ids = device.knowledge.matching(device.people.widened(Filters(("anna",), (), ("chat",), day, day)))
    assert ids is not None
    assert {each.title for each in device.knowledge.passages(ids.tolist()).values()} == {
        "Messages with Anna Lindqvist, 2026-08-13"
    }
    ids = device.knowledge.matching(device.people.widened(Filters(("me",))))
    assert ids is not None
    (mine,) = ids.tolist()
    assert "Me: I wrote this myself." in device.knowledge.passages([mine])[mine].text


@pytest.mark.parametrize("fails_after", [2, pytest.param(4, marks=pytest.mark.long), 7])
def test_a_reading_that_failed_goes_on_where_it_stopped(fails_after: int, device: Device) -> None:
    log = Log(900)
    log.fails_after = fails_after
    with pytest.raises(PhoneSilent):
        run(device, log)
    assert [state.failure for state in commands.states(device)] == ["The phone does not answer.", "", ""]
    before = stored(device)
    assert before < bodies(log)
    log.messages = [message(1), *log.messages]
    del log.messages[50:60]
    log.asked.clear()
    log.fails_after = -1
    run(device, log)
    assert stored(device) - before >= bodies(log) - before
    assert len(log.asked) <= 900 // (PAGE - 5) + 4 - (fails_after - 3)
    assert commands.states(device)[0].failure == ""


def test_an_end_after_any_page_loses_nothing(tmp_path: Path) -> None:
    log = Log(400)
    for place in range(6):
        with fake_device(Paths.locate({HOME_VARIABLE: str(tmp_path)})) as device:
            commands.allow(device, "messages")
            log.asked.clear()
            log.fails_after = place + 1
            with suppress(PhoneSilent):
                run(device, log)
    with fake_device(Paths.locate({HOME_VARIABLE: str(tmp_path)})) as device:
        log.fails_after = -1
        run(device, log)
        assert stored(device) == bodies(log)


def test_another_embedder_reads_again(device: Device) -> None:
    log = Log(30)
    run(device, log)
    device.knowledge.database.execute(
        """UPDATE phone_sources SET progress = '{"fingerprint": "another", "whole": true}'"""
    )
    assert run(device, log).report.documents == 0  # the same documents, which need not be embedded again
    assert len(log.asked) == 2


def test_of_a_million_messages_the_newest_are_read(device: Device) -> None:
    class Endless(Log):
        def fetch(self, source: Source, skip: int, most: int) -> Sequence[object]:
            self.asked.append(skip)
            return [message(-number) for number in range(skip, min(skip + most, 1_000_000))][::-1]

    log = Endless(0)
    run(device, log, most=500)
    assert len(log.asked) < 8
    assert len(stored(device)) >= 500
    log.asked.clear()
    run(device, log, most=500)
    assert len(log.asked) == 1


def test_withdrawn_consent_stops_the_reading_and_deletes_what_was_read(device: Device) -> None:
    log = Log(1_000)
    with pytest.raises(GaveWay):
        run(device, log, on_day=lambda *_: log.asked[3:] and commands.withdraw(device, "messages"))
    assert stored(device)
    commands.forget(device, MESSAGES)
    assert not stored(device)
    assert device.knowledge.file(MESSAGES.path) is None
    assert device.people.directory.called("anna") == []
    assert run(device, log).report.documents == 0


def test_whoever_removes_a_source_like_a_file_withdraws_the_consent(device: Device) -> None:
    run(device, Log(3))
    remove(device, os.fsencode(absolute("phone:messages")))
    assert not stored(device)
    assert [state.name for state in commands.states(device) if state.allowed] == ["contacts", "calls"]


def test_contacts_name_the_numbers_of_chats(device: Device) -> None:
    log = Log(1)
    log.messages = [message(0, sender="", number="0707654321")]
    run(device, log)
    run(device, log, "contacts")
    assert [person.name for person in device.people.directory.called("0707654321")] == ["Petra Novak"]
    assert '"0707654321"' in device.people.widened(Filters(("petra",))).people
    sources = {each.source for person in device.people.directory.called("petra") for each in person.sightings}
    assert sources == {"phone:contacts", "phone:messages"}


def test_in_idle_time_each_source_is_a_step_and_one_that_fails_keeps_no_other(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = Log(3)

    def fetch(source: Source, skip: int, most: int) -> Sequence[object]:
        if source.name == "calls":
            raise PhoneSilent("Android denies it.")
        return log.fetch(source, skip, most)

    monkeypatch.setattr("device_app.knowledge.phone.sources.fetch", fetch)
    steps = list(phone_sources(device)(lambda: False))
    assert [step.subject for step in steps] == [
        "2 documents (2 passages) of your contacts",
        "2 documents (2 passages) of your messages",
    ]
    assert commands.states(device)[2].failure == "Android denies it."
    assert list(phone_sources(device)(lambda: False)) == []


@pytest.mark.long
def test_reading_gives_way_and_progresses_all_the_same(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log(2_000)
    monkeypatch.setattr("device_app.knowledge.phone.sources.fetch", log.fetch)
    calls = 0
    sizes = [0]

    for _ in range(3):
        calls = 0

        def give_way() -> bool:
            nonlocal calls
            calls += 1
            return calls > 120

        list(phone_sources(device)(give_way))
        sizes.append(len(stored(device)))
    assert sizes == sorted(set(sizes))


def test_no_name_outlives_a_removal_that_is_cut_short(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    run(device, Log(0), CONTACTS.name)
    assert device.database.execute("SELECT COUNT(*) FROM person_names") != [(0,)]

    def cut_short(_: WrongAnswers) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(WrongAnswers, "prune", cut_short)
    with pytest.raises(KeyboardInterrupt):
        remove(device, CONTACTS.path)
    assert device.knowledge.count_documents(CONTACTS.path) == 0
    for table in ("people", "person_names", "people_read"):
        assert device.database.execute(f"SELECT COUNT(*) FROM {table}") == [(0,)]
