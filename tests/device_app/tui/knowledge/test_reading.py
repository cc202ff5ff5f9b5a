"""Decisions and texts about the reading of files that need no screen: speeds, status lines, paths, and suggested
questions.
"""

from pathlib import Path
from typing import Any

import pytest

from device_app.ahead.suggestions import Suggested, choose
from device_app.cli import run
from device_app.tui.edge import places
from device_app.tui.knowledge.pace import Pace
from device_app.tui.knowledge.places import path_in
from device_app.tui.knowledge.reading import Phase, Reading, in_short, left, summary
from device_app.tui.knowledge.rows import shortened
from shared.errors import UsageError
from tests.devices import fake_device


def test_the_time_left_follows_the_pace_of_the_last_half_minute() -> None:
    pace = Pace()
    assert pace.seconds_left(1000) is None
    pace.add(0, 0)
    assert pace.seconds_left(1000) is None
    pace.add(10, 100)
    assert pace.seconds_left(1000) == 90
    pace.add(50, 500)
    assert pace.seconds_left(1000) is None  # a pause: nothing is known of the pace any more
    pace.add(60, 900)
    assert pace.seconds_left(1000) == 2.5


@pytest.mark.parametrize(
    ("seconds", "said"), [(3, "under a minute left"), (130, "about 2 min left"), (9000, "about 2 h left")]
)
def test_the_time_left_is_said_roughly(seconds: float, said: str) -> None:
    assert left(seconds) == said


@pytest.mark.parametrize(
    ("reading", "line"),
    [
        (Reading(), ""),
        (Reading(Phase.READING, total_files=1200), "looking for files, 1,200 so far"),
        (Reading(Phase.READING, "/a/b.md", 50, 200, 1, 4, 7), "1 of 4 files · 7 passages\nb.md"),
        (Reading(Phase.GIVING_WAY, "", 50, 200), "waits while a question is answered"),
        (
            Reading(Phase.WAITING, why="the models are not downloaded yet"),
            "Reading waits: the models are not downloaded yet.",
        ),
        (Reading(Phase.PAUSING, "/a/b.md", 50, 200), "Reading pauses after this file."),
        (Reading(Phase.PAUSED, "", 50, 200), " 25%"),
        (Reading(Phase.DONE, total_files=3), "No changes"),
        (Reading(Phase.DONE), "The folder has no files of a readable kind.\nRead are notes, documents, tables, mails"),
        (Reading(Phase.DONE, unread=12), "The folder has no files of a readable kind. · 12 of other kinds"),
        (Reading(Phase.DONE, total_files=3, passages=9, unread=12), "9 new passages · 12 of other kinds"),
        (Reading(Phase.DONE, total_files=1, passages=1), "1 file checked, 1 new passage"),
        (Reading(Phase.FAILED, why="The disk\x1b[2J is full."), "✗ The disk[2J is full."),
    ],
)
def test_every_phase_is_put_in_words(reading: Reading, line: str) -> None:
    assert line in summary(reading, 60).plain
    assert bool(line) == bool(summary(reading, 60).plain)


@pytest.mark.parametrize(
    ("text", "path"),
    [("/add ~/D", "~/D"), ("/ADD x", "x"), ("/add ", ""), ("/add", None), ("add x", None), ("/add x\ny", None)],
)
def test_a_path_is_found_behind_its_command(text: str, path: str | None) -> None:
    assert path_in(text) == path


@pytest.mark.parametrize(
    ("name", "width", "cut"),
    [("~/a.md", 20, "~/a.md"), ("~/some/long/way/to/a.md", 14, "~/some/l…/a.md"), ("x" * 30, 10, "xxxxx…xxxx")],
)
def test_a_long_path_keeps_its_beginning_and_its_name(name: str, width: int, cut: str) -> None:
    assert len(shortened(name, width)) <= width
    assert shortened(name, width) == cut or name.startswith("xx")


def test_a_path_becomes_folders_first_and_what_can_be_read(me: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("song.mp3", "a.TXT", ".hidden.md", "two\nlines.md", "\x1b[2J.md"):
        (me / name).write_text("x")
    assert places.candidates("~") == ["~/"]
    assert places.candidates("~/") == ["~/Documents/", "~/Downloads/", "~/a.TXT"]
    assert places.candidates("~/doc") == ["~/Documents/"]
    assert places.candidates("~/.") == ["~/.hidden.md"]
    assert places.candidates(f"{me}/A") == [f"{me}/a.TXT"]
    monkeypatch.chdir(me / "Documents")
    assert places.candidates("dr") == ["drill.md"]
    assert places.candidates("../Dow") == ["../Downloads/"]
    assert places.candidates("/nowhere/at/all") == places.candidates("~nobody-of-that-name/x") == []
    assert places.candidates("a\0b/") == []


def test_likely_folders_are_there_and_hold_something(me: Path) -> None:
    (me / "Notes").mkdir()
    shared = me / "storage" / "shared"
    shared.mkdir(parents=True)
    (shared / "x.txt").write_text("x")
    assert places.likely({"HOME": str(me)}) == ["~/Documents", "~/storage/shared"]
    (me / ".config").mkdir()
    (me / ".config" / "user-dirs.dirs").write_text('XDG_DOCUMENTS_DIR="$HOME/Dokumente"\nXDG_MUSIC_DIR="$HOME/"\n')
    assert places.likely({"HOME": str(me)}) == ["~/Documents", "~/storage/shared"]
    (me / "Dokumente").mkdir()
    (me / "Dokumente" / "x.txt").write_text("x")
    assert places.likely({"HOME": str(me)}) == ["~/Dokumente", "~/Documents", "~/storage/shared"]


@pytest.mark.parametrize("typed", ["", "  ", "~/nowhere", "~nobody-of-that-name/x", "a\0b"])
def test_a_path_that_cannot_be_read_is_refused(me: Path, typed: str) -> None:
    with pytest.raises(UsageError):
        places.checked(typed)


def test_a_path_that_may_not_be_read_is_refused(me: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(UsageError, match="You may not read"):
        places.checked("~/Documents")


def test_questions_come_from_different_documents_and_kinds() -> None:
    results = [
        Suggested("near", 1, "note", 0.9),
        Suggested("nearer, of the same document", 1, "note", 0.89),
        Suggested("another note", 2, "note", 0.8),
        Suggested("a mail", 3, "mail", 0.7),
    ]
    assert choose(results, 3) == ["near", "a mail", "another note"]
    assert choose(results[:2], 3) == ["near", "nearer, of the same document"]
    assert choose([], 3) == []


@pytest.mark.parametrize(
    ("reading", "short"),
    [
        (Reading(), ""),
        (Reading(Phase.READING), "looking for files"),
        (Reading(Phase.READING, done_bytes=21, total_bytes=50), "reading 42%"),
        (Reading(Phase.GIVING_WAY, done_bytes=21, total_bytes=50), "reading 42%"),
        (Reading(Phase.WAITING, why="another Jackdaw process is reading files"), "reading waits"),
        (Reading(Phase.DONE), ""),
    ],
)
def test_in_short_it_fits_a_status_line(reading: Reading, short: str) -> None:
    assert in_short(reading) == short


@pytest.mark.parametrize("columns", [40, 80])
async def test_the_chat_tells_that_files_are_read_behind_it(person: Any, columns: int) -> None:
    async with person.at(columns, 20):
        person.app.reading = Reading(Phase.READING, done_bytes=21, total_bytes=50)
        await person.until(lambda: "reading 42%" in person.sees().split("\n")[-1])
        person.app.reading = Reading(Phase.DONE)
        await person.until(lambda: "ready" in person.sees().split("\n")[-1])


async def test_the_chat_tells_that_another_process_reads_files(person: Any, tmp_path: Path) -> None:
    async with person.at(40, 20):
        await person.chat._look_behind()
        (tmp_path / "note.md").write_text("The tiles come on Thursday.")
        assert run(["add", str(tmp_path / "note.md")], fake_device) == 0
        await person.chat._look_behind()
        await person.until(lambda: "reading · 1 passage" in person.sees().split("\n")[-1])
        await person.chat._look_behind()
        await person.until(lambda: "reading" not in person.sees().split("\n")[-1])
