"""Prefilling while a question is typed: keys have priority, Enter ends it and uses its result, and it stores nothing
but KV states.
"""

import socket
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from device_app.answering.assistant import Assistant
from device_app.cli import run
from device_app.device import Device
from device_app.settings import Settings
from device_app.system.conditions import Conditions
from device_app.tui.chat.composer import Composer
from device_app.tui.edge.typing import Typing
from models.engine import Logits
from models.fake import FakeEngine
from shared.errors import EngineError
from storage.counters import Counters
from storage.database import Database
from storage.paths import Paths
from tests.device_app.tui.conftest import DRILL, burst
from tests.devices import fake_device
from tests.faults import until

WAITS = Conditions()


@pytest.fixture(autouse=True)
def idle_device(monkeypatch: pytest.MonkeyPatch) -> Callable[[Conditions], None]:
    """Sensors that know nothing, unless a test says otherwise."""

    def says(conditions: Conditions) -> None:
        monkeypatch.setattr("device_app.system.conditions.Sensors.read", lambda _: conditions)

    says(WAITS)
    return says


class Gated(FakeEngine):
    """A fake engine that counts its prefills, and waits in each of them while its gate is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.gate, self.prefills = Event(), 0
        self.gate.set()

    def prefill(self, sequence: int, tokens: Sequence[int]) -> Logits:
        self.prefills += 1
        assert self.gate.wait(60)
        return super().prefill(sequence, tokens)


@pytest.fixture
def engine(person: Any) -> Iterator[Gated]:
    gated = Gated()
    person.make = partial(fake_device, engine=lambda: gated)
    yield gated
    gated.gate.set()


def tables(paths: Paths) -> dict[str, list[tuple[Any, ...]]]:
    """Return every row of every table except those of KV states."""
    database = Database(paths.database)
    names = database.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name != 'kv_slices'")
    rows = {name: database.execute(f'SELECT * FROM "{name}"') for (name,) in names}
    database.close()
    return rows


def slices(paths: Paths) -> list[tuple[Any, ...]]:
    database = Database(paths.database)
    rows = database.execute("SELECT passage_id FROM kv_slices WHERE passage_id IS NOT NULL")
    database.close()
    return rows


def record(person: Any) -> dict[str, Any]:
    return dict(person.chat.transcript.views[-1].turn.record)


def refuse(*_: Any) -> Iterator[Any]:
    raise EngineError("There is no engine today.")
    yield


async def types(person: Any, text: str) -> None:
    await person.pilot.press(*("space" if key == " " else key for key in text))


async def test_what_was_read_while_typing_serves_the_answer_and_is_shown(
    person: Any, notes: Path, paths: Paths, engine: Gated, capsys: pytest.CaptureFixture[str]
) -> None:
    async with person.at(100, 40):
        await types(person, DRILL)
        await person.until(lambda: slices(paths))
        await person.pilot.press("enter")
        await person.settled()
        read = record(person)["trace"]["read_while_typing"]
        assert read["passages"] >= read["served"] == 1
        assert read["tokens"] > 0
        assert record(person)["cache"]["kv"]["segments_cached"] == 2
        assert "read while you typed" in person.sees()
        await person.sends("/why")
        await person.until(lambda: "Why this answer" in person.sees())
        assert "read while you typed" in person.sees()
    assert run(["why"], fake_device) == run(["cache", "stats"], fake_device) == 0
    printed = capsys.readouterr().out
    assert "read while you typed" in printed
    assert "While you typed" in printed


async def test_the_answer_is_the_same_with_and_without(
    person: Any, notes: Path, engine: Gated, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = []
    for on in ("false", "true"):
        monkeypatch.setenv("JACKDAW_ANSWER_READ_WHILE_TYPING", on)
        monkeypatch.setenv("JACKDAW_CACHE_THRESHOLD", "1")
        async with person.at():
            await types(person, DRILL)
            await person.until(lambda: person.chat.composer.text == DRILL)
            await person.pilot.pause(0.5)
            await person.pilot.press("enter")
            await person.settled()
            records.append(record(person))
        person.make = partial(fake_device, engine=Gated)
    without, with_reading = records
    assert without["answer"] == with_reading["answer"]
    assert without["sources"] == with_reading["sources"]
    assert "read_while_typing" not in without["trace"]


async def test_no_key_waits_for_the_model_and_enter_ends_the_reading(
    person: Any, notes: Path, paths: Paths, engine: Gated
) -> None:
    async with person.at():
        await types(person, "Who has the blue ")
        await person.until(lambda: engine.prefills or slices(paths))
        engine.gate.clear()
        await types(person, "drill, the old saw or the dentist?")
        assert person.chat.composer.text == "Who has the blue drill, the old saw or the dentist?"
        await person.pilot.press("enter")
        assert not person.chat.composer.text
        engine.gate.set()
        await person.settled()
        assert record(person)["found"]


async def test_nothing_is_written_but_states_and_nobody_is_called(
    person: Any, notes: Path, paths: Paths, engine: Gated, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with person.at():
        before = tables(paths)
        calls: list[object] = []
        monkeypatch.setattr(socket.socket, "connect", lambda *arguments: calls.append(arguments))
        await types(person, DRILL)
        await person.until(lambda: slices(paths))
        await person.pilot.press("ctrl+u")
        await person.pilot.pause()
        assert tables(paths) == before
        assert not calls
        for file in paths.state.rglob("*"):
            assert b"drill" not in (file.read_bytes() if file.is_file() else b"")


@pytest.mark.parametrize("text", ["/knowledge all of it ", "from: in: ", 'from:"Anna B after:20 ', "x" * 2_000])
async def test_what_is_no_question_is_not_read_for(
    person: Any, notes: Path, paths: Paths, engine: Gated, text: str
) -> None:
    async with person.at():
        person.app.post_message(_paste(text))
        await person.until(lambda: person.chat.composer.text == text)
        await person.pilot.pause(0.3)
        assert not slices(paths)
        await person.pilot.press("ctrl+a", "delete")


async def test_a_paste_of_a_megabyte_is_refused_before_anything_is_searched(
    person: Any, notes: Path, paths: Paths, engine: Gated
) -> None:
    async with person.at():
        person.app.post_message(_paste("Who has the blue drill? " * 45_000))
        await person.until(lambda: any("are allowed" in message for message in person.messages()))
        await person.pilot.pause(0.3)
        assert not slices(paths)


@pytest.mark.long
@pytest.mark.parametrize(
    ("variable", "value", "conditions"),
    [
        ("JACKDAW_ANSWER_READ_WHILE_TYPING", "false", WAITS),
        ("JACKDAW_DAEMON_TOKENS_PER_HOUR", "0", WAITS),
        ("JACKDAW_CACHE_KV_MB", "0", WAITS),
        ("JACKDAW_DAEMON_MAINS", "true", Conditions(on_mains=False, battery_percent=90)),
        ("JACKDAW_DAEMON_MAINS", "false", Conditions(on_mains=False, battery_percent=10)),
    ],
)
async def test_settings_budgets_and_the_battery_are_obeyed(
    person: Any,
    notes: Path,
    paths: Paths,
    engine: Gated,
    monkeypatch: pytest.MonkeyPatch,
    idle_device: Callable[[Conditions], None],
    variable: str,
    value: str,
    conditions: Conditions,
) -> None:
    monkeypatch.setenv(variable, value)
    idle_device(conditions)
    async with person.at():
        await types(person, DRILL)
        await person.pilot.pause(0.3)
        assert not engine.prefills
        await person.pilot.press("enter")
        await person.settled()
        assert "read_while_typing" not in record(person)["trace"]


async def test_nothing_is_read_where_no_states_can_be_kept(person: Any, notes: Path, paths: Paths) -> None:
    class Sliding(Gated):
        def __init__(self) -> None:
            super().__init__()
            self._info = replace(self._info, sliceable=False)

    engine = Sliding()
    person.make = partial(fake_device, engine=lambda: engine)
    async with person.at():
        await types(person, DRILL)
        await person.pilot.pause(0.5)
        assert engine.computed == 0
        await person.pilot.press("enter")
        await person.settled()
        assert "read_while_typing" not in record(person)["trace"]


async def test_what_is_read_for_an_answer_that_fails_is_counted(
    person: Any, notes: Path, paths: Paths, engine: Gated, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with person.at():
        await types(person, DRILL)
        await person.until(lambda: slices(paths))
        monkeypatch.setattr(Assistant, "_answered", refuse)
        await person.pilot.press("enter")
        await person.until(lambda: "There is no engine today" in person.sees())
    database = Database(paths.database)
    counted = Counters(database).all()
    database.close()
    assert counted["typed_passages"] == counted["typed_in_vain"] >= 1


@pytest.mark.parametrize("how", ["closed", "settings"])
async def test_what_is_read_for_a_question_that_is_never_sent_is_counted(
    person: Any, notes: Path, paths: Paths, engine: Gated, how: str
) -> None:
    def counted() -> dict[str, float]:
        database = Database(paths.database)
        counters = Counters(database).all()
        database.close()
        return counters

    async with person.at():
        await types(person, DRILL)
        await person.until(lambda: slices(paths))
        if how == "settings":
            person.app.parts.answers.reopen()
            await person.until(lambda: "typed_passages" in counted())
            await person.pilot.press("ctrl+u")
    until(lambda: "typed_passages" in counted())
    assert counted()["typed_passages"] == counted()["typed_in_vain"] >= 1


async def test_a_question_from_elsewhere_is_not_the_typed_one(
    person: Any, notes: Path, paths: Paths, engine: Gated
) -> None:
    async with person.at():
        await person.asks("When is the dentist?")
        await types(person, "Who has the blue ")
        await person.until(lambda: slices(paths))
        person.chat.post_message(Composer.Sent("When is the dentist, and where?"))
        await person.settled()
        assert "read_while_typing" not in record(person)["trace"]


async def test_a_key_and_enter_at_once_are_one_question(person: Any, notes: Path, paths: Paths, engine: Gated) -> None:
    async with person.at():
        await types(person, DRILL[:-1])
        await person.until(lambda: slices(paths))
        burst(person, f"{DRILL[-1]}\n")
        await person.settled()
        assert record(person)["trace"]["read_while_typing"]["passages"] >= 1


async def test_a_follow_up_is_read_for_as_if_alone(person: Any, notes: Path, paths: Paths, engine: Gated) -> None:
    async with person.at(100, 40):
        await person.asks(DRILL)
        await types(person, "And when is the dentist?")
        await person.until(lambda: len(slices(paths)) == 2)
        await person.pilot.press("enter")
        await person.settled()
        assert record(person)["trace"]["read_while_typing"]["passages"] >= 1


async def test_where_memory_is_short_the_model_is_loaded_once_somebody_types(
    person: Any, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads = []

    def make(paths: Paths, settings: Settings) -> Device:
        def engine() -> FakeEngine:
            loads.append(1)
            return FakeEngine()

        return fake_device(paths, settings, engine)

    monkeypatch.setattr("models.forecast.is_memory_short", lambda *_: True)
    person.make = make
    async with person.at():
        await person.pilot.pause(0.2)
        assert not loads
        await types(person, "W")
        await person.until(lambda: loads)
        await types(person, "ho has the blue drill?")
        await person.pilot.press("enter")
        await person.settled()
        assert record(person)["found"]


async def test_what_was_typed_before_the_model_was_loaded_is_read_for_without_another_key(
    person: Any, notes: Path, paths: Paths, engine: Gated, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("models.forecast.is_memory_short", lambda *_: True)
    async with person.at():
        await person.pilot.pause(0.2)
        person.app.post_message(_paste(DRILL))
        await person.until(lambda: slices(paths))
        await person.pilot.press("enter")
        await person.settled()
        assert record(person)["trace"]["read_while_typing"]["served"] == 1


@pytest.mark.parametrize("text", [DRILL, "Who has the blue"])
async def test_what_was_sent_before_the_model_was_loaded_is_typed_no_more(
    person: Any, notes: Path, engine: Gated, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    read: list[str] = []
    typed = Typing.typed

    def taken(typing: Typing, text: str) -> None:
        read.append(text)
        typed(typing, text)

    monkeypatch.setattr(Typing, "typed", taken)
    monkeypatch.setattr("models.forecast.is_memory_short", lambda *_: True)
    async with person.at():
        answers = person.app.parts.answers
        await person.pilot.pause(0.2)
        answers._submit(lambda _: engine.gate.wait(60))  # so that the model is loaded after Enter
        engine.gate.clear()
        person.app.post_message(_paste(text))
        await person.until(lambda: person.chat.composer.text == text)
        await person.pilot.press("enter")
        await person.until(lambda: not person.chat.composer.text)
        engine.gate.set()
        await person.settled()
        assert read == []


def _paste(text: str) -> Any:
    from textual.events import Paste

    return Paste(text)
