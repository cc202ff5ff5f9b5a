"""Pictures of the knowledge screen and of the first run, on a phone's, a small and a large terminal."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from device_app.tui import messages
from device_app.tui.knowledge.reading import Phase, Reading
from storage import knowledge
from tests.device_app.tui.conftest import PHONE, SIZES

HALF = Reading(Phase.READING, "/home/runa/Documents/2026/minutes.pdf", 52_000, 120_000, 61, 140, 420, 2, 95.0)
QUESTIONS = (
    "When is the kick-off with Ferluga?",
    "What does Berit say about Mormor?",
    "What is the guest password?",
)


@pytest.fixture(autouse=True)
def still(me: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop the clock, so that the pictures are always the same."""
    monkeypatch.setattr(knowledge, "_now", lambda: "2026-11-21T10:00:00+00:00")


async def welcomed(person: Any) -> None:
    await person.until(person.chat.choices)


async def read(person: Any) -> None:
    await welcomed(person)
    await person.presses("1")
    await person.until(lambda: person.app.reading.phase is Phase.DONE and person.app.reading.questions)


async def opened(person: Any) -> None:
    await read(person)
    await person.presses("ctrl+k")
    await person.until(lambda: getattr(getattr(person.app.screen, "_listing", None), "rows", ()))


async def inside(person: Any) -> None:
    await opened(person)
    await person.presses("enter")
    await person.until(lambda: len(person.app.screen._listing.rows) == 4)


def reads(person: Any, reading: Reading) -> None:
    person.app.post_message(messages.Read(reading))


@SIZES
def test_what_to_read_first(looks: Any, size: Any) -> None:
    assert looks(size, welcomed)


@PHONE
def test_a_path_is_completed(looks: Any, size: Any) -> None:
    async def steps(person: Any) -> None:
        await welcomed(person)
        person.chat.composer.begin("/add ~/D")
        await person.until(lambda: person.chat.places.display)

    assert looks(size, steps)


@PHONE
def test_the_first_folder_is_being_read(looks: Any, size: Any) -> None:
    async def steps(person: Any) -> None:
        await welcomed(person)
        reads(person, HALF)

    assert looks(size, steps)


@PHONE
def test_three_questions(looks: Any, size: Any) -> None:
    async def steps(person: Any) -> None:
        await welcomed(person)
        done = Reading(Phase.DONE, total_files=140, passages=1830, skipped=2, questions=QUESTIONS)
        reads(person, done)

    assert looks(size, steps)


@SIZES
def test_what_is_known(looks: Any, size: Any) -> None:
    assert looks(size, opened)


@SIZES
def test_the_files_of_a_folder(looks: Any, size: Any) -> None:
    assert looks(size, inside)


@PHONE
def test_the_passages_of_a_file(looks: Any, size: Any) -> None:
    async def steps(person: Any) -> None:
        await inside(person)
        await person.presses("down", "enter")
        await person.until(lambda: "The dentist" in person.sees())

    assert looks(size, steps)


@PHONE
def test_a_path_is_typed(looks: Any, size: Any) -> None:
    async def steps(person: Any) -> None:
        await opened(person)
        await person.presses("a")
        await person.until(lambda: person.app.screen._places.display)

    assert looks(size, steps)


@PHONE
def test_nothing_is_known(looks: Any, size: Any) -> None:
    async def steps(person: Any) -> None:
        await person.presses("ctrl+k")
        await person.until(lambda: "Nothing has been read" in person.sees())

    assert looks(size, steps)


@pytest.mark.parametrize("phase", [Phase.GIVING_WAY, Phase.PAUSED, Phase.WAITING, Phase.FAILED])
def test_reading_stands_still(looks: Any, phase: Phase) -> None:
    why = {Phase.WAITING: "another Jackdaw process is reading files", Phase.FAILED: "The disk is full."}

    async def steps(person: Any) -> None:
        await opened(person)
        person.app.parts.reader.reading = replace(HALF, phase=phase, seconds_left=None, why=why.get(phase, ""))
        reads(person, person.app.parts.reader.reading)

    assert looks((80, 24), steps)


@pytest.mark.parametrize("theme", ["light", "contrast"])
def test_other_themes(looks: Any, theme: str) -> None:
    async def steps(person: Any) -> None:
        await inside(person)
        person.app.theme = theme
        reads(person, HALF)

    assert looks((80, 24), steps)


def test_a_terminal_of_20_by_8(looks: Any) -> None:
    assert looks((20, 8), opened)
