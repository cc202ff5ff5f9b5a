"""Cited files that change, are deleted or cannot be reached are noticed when a question is asked."""

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from filelock import FileLock

from device_app.device import Device
from device_app.question.answer import NOTHING_FOUND, Answer
from shared.prompt import NOT_FOUND
from tests.device_app.cache.conftest import QUESTION, ask, everything, made

PETRA, ANTON = "Petra has borrowed the blue drill.", "Anton has borrowed the blue drill."


@pytest.fixture
def device(tmp_path: Path, notes: Path) -> Device:
    """A device that has read the notes, and remembers their folder."""
    device = made(tmp_path / "home")
    device.knowledge.remember_folder(os.fsencode(notes))
    device.ingestion().run([notes])
    return device


def fresh(device: Device, question: str = QUESTION) -> Answer:
    """Return a new answer, without using a kept one."""
    *_, last = device.assistant.ask(question, device.options(fresh=True))
    assert isinstance(last, Answer)
    return last


def states(answer: Answer) -> list[tuple[str, str]]:
    """Return the names and states of the files that the answer reports as changed."""
    return [(Path(file.path).name, file.state) for file in answer.stale]


def name_anton(notes: Path) -> None:
    (notes / "drill.md").write_text(f"# Things lent\n\n{ANTON}\n")


@pytest.mark.parametrize("how", [ask, fresh])
def test_a_small_file_that_changed_is_read_again_within_the_answer(
    device: Device, notes: Path, how: Callable[[Device, str], Answer]
) -> None:
    assert ask(device, QUESTION).text == PETRA
    assert ask(device, QUESTION).origin == "qa_bank"
    name_anton(notes)
    answer = how(device, QUESTION)
    assert (answer.text, answer.origin, answer.stale) == (ANTON, "device", ())
    assert "read again" in [name for name, _ in answer.trace.steps]
    again = ask(device, QUESTION)
    assert (again.text, again.origin) == (ANTON, "qa_bank")


def test_the_time_alone_may_tell_that_a_file_changed(device: Device, notes: Path) -> None:
    ask(device, QUESTION)
    before = (notes / "drill.md").stat().st_size
    (notes / "drill.md").write_text("# Things lent\n\nPavla has borrowed the blue drill.\n")
    assert (notes / "drill.md").stat().st_size == before
    assert ask(device, QUESTION).text == "Pavla has borrowed the blue drill."


def test_a_file_that_was_only_touched_serves_as_before(device: Device, notes: Path) -> None:
    ask(device, QUESTION)
    os.utime(notes / "drill.md", (1, 1))
    answer = ask(device, QUESTION)
    assert (answer.origin, answer.stale) == ("qa_bank", ())
    assert "read again" not in [name for name, _ in ask(device, QUESTION).trace.steps]


def test_a_large_file_that_changed_is_told_with_the_command(device: Device, notes: Path) -> None:
    long = "\n\n".join(f"Paragraph {number} tells of nothing that was lent." for number in range(2_000))
    (notes / "drill.md").write_text(f"# Things lent\n\n{long}\n\n{PETRA}\n")
    device.ingestion().run([notes])
    assert ask(device, QUESTION).stale == ()
    (notes / "drill.md").write_text(f"# Things lent\n\n{long}\n\n{ANTON}\n")
    for answer, origin in ((ask(device, QUESTION), "qa_bank"), (fresh(device), "device")):
        assert (answer.text, answer.origin, states(answer)) == (PETRA, origin, [("drill.md", "changed")])
        assert f"jackdaw add {notes / 'drill.md'}" in answer.stale[0].reason
        assert answer.as_json()["stale"][0]["path"] == str(notes / "drill.md")


def test_what_takes_too_long_to_read_again_is_told_and_nothing_of_it_is_stored(
    device: Device, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("device_app.ahead.reading.READ_AGAIN_S", -1.0)
    name_anton(notes)
    answer = fresh(device)
    assert (answer.text, states(answer)) == (PETRA, [("drill.md", "changed")])
    assert "too long" in answer.stale[0].reason
    monkeypatch.undo()
    assert fresh(device).text == ANTON


def test_while_another_process_reads_files_nobody_waits(device: Device, notes: Path) -> None:
    ask(device, QUESTION)
    name_anton(notes)
    with FileLock(device.paths.add_lock):
        answer = ask(device, QUESTION)
    assert (answer.text, states(answer)) == (PETRA, [("drill.md", "changed")])
    assert "Another Jackdaw process" in answer.stale[0].reason
    assert ask(device, QUESTION).text == ANTON


def test_a_file_that_can_no_longer_be_read_is_told_with_the_reason(device: Device, notes: Path) -> None:
    ask(device, QUESTION)
    (notes / "drill.md").write_bytes(b"\0\0\0\0" * 100)
    answer = ask(device, QUESTION)
    assert (answer.text, states(answer)) == (PETRA, [("drill.md", "changed")])


@pytest.mark.parametrize("how", [ask, fresh])
def test_a_file_that_is_gone_is_not_used_and_told(
    device: Device, notes: Path, how: Callable[[Device, str], Answer]
) -> None:
    ask(device, QUESTION)
    kept = (notes / "drill.md").read_text()
    (notes / "drill.md").unlink()
    answer = how(device, QUESTION)
    assert PETRA not in answer.text
    assert ("drill.md", "gone") in states(answer)
    assert all(Path(hit.passage.path).name != "drill.md" for hit in answer.hits)
    # What decides whether it is forgotten is the look at its whole folder; until then it may come back.
    assert device.knowledge.file(os.fsencode(notes / "drill.md"))
    (notes / "drill.md").write_text(kept)
    assert fresh(device).text == PETRA


def test_where_every_file_is_gone_nothing_is_found(device: Device, notes: Path) -> None:
    for path in notes.iterdir():
        path.unlink()
    answer = fresh(device)
    assert (answer.text, answer.found, answer.hits) == (NOTHING_FOUND, False, ())
    assert "gone" in answer.stale[0].reason
    assert device.knowledge.totals().files == 3


def test_a_folder_that_is_gone_with_the_one_it_lay_in_is_taken_for_a_drive(device: Device, tmp_path: Path) -> None:
    drive = tmp_path / "media" / "stick" / "notes"
    shutil.copytree(tmp_path / "notes", drive)
    (drive / "drill.md").write_text("# Ladder\n\nThe ladder was lent to Mira in May.\n")
    device.knowledge.remember_folder(os.fsencode(drive))
    device.ingestion().run([drive])
    shutil.rmtree(tmp_path / "media" / "stick")
    answer = fresh(device, "Who was the ladder lent to?")
    assert (answer.text, states(answer)) == ("The ladder was lent to Mira in May.", [("drill.md", "away")])


def test_a_deleted_folder_is_looked_through_at_once(device: Device, notes: Path, tmp_path: Path) -> None:
    (notes / "lent").mkdir()
    for number in range(40):
        (notes / "lent" / f"{number}.md").write_text(
            f"# Things lent {number}\n\nDora has borrowed blue drill {number}.\n"
        )
    device.ingestion().run([notes])
    assert "Dora" in fresh(device, "Which blue drill has Dora borrowed?").text
    shutil.rmtree(notes / "lent")
    answer = fresh(device, "Which blue drill has Dora borrowed?")
    assert "Dora" not in answer.text
    assert all("lent/" not in hit.passage.path for hit in answer.hits)


def test_a_copy_that_is_left_answers_for_a_file_that_is_gone(device: Device, notes: Path) -> None:
    (notes / "copy.md").write_text((notes / "drill.md").read_text())
    device.ingestion().run([notes])
    (notes / "drill.md").unlink()
    answer = fresh(device)
    assert (answer.text, Path(answer.hits[0].passage.path).name) == (PETRA, "copy.md")


def test_a_mail_whose_flags_changed_is_the_same_mail(device: Device, tmp_path: Path) -> None:
    box = tmp_path / "mail"
    for name in ("cur", "new", "tmp"):
        (box / name).mkdir(parents=True)
    mail = box / "new" / "1.x"
    mail.write_text("From: a@x.example\nSubject: Kiln\nMessage-ID: <1@x>\n\nThe kiln is fired on Friday.\n")
    device.knowledge.remember_folder(os.fsencode(box))
    device.ingestion().run([box])
    mail.rename(box / "cur" / "1.x:2,RS")
    answer = fresh(device, "When is the kiln fired?")
    assert (answer.text, answer.stale) == ("The kiln is fired on Friday.", ())
    (box / "cur" / "1.x:2,RS").unlink()
    assert [state for _, state in states(fresh(device, "When is the kiln fired?"))] == ["gone"]


def test_only_what_changed_of_a_mailbox_is_read_again(device: Device, tmp_path: Path) -> None:
    def mail(number: int, text: str) -> str:
        return f"From a@x Mon Mar  2 10:00:00 2026\nSubject: Note {number}\nMessage-ID: <{number}@x>\n\n{text}\n\n"

    box = tmp_path / "all.mbox"
    box.write_text(mail(1, "The kiln is fired on Friday.") + mail(2, "The glaze is blue."))
    device.ingestion().run([box])
    first = fresh(device, "When is the kiln fired?").hits[0].passage.id
    box.write_text(mail(1, "The kiln is fired on Friday.") + mail(2, "The glaze is green now."))
    assert fresh(device, "What colour is the glaze?").text == "The glaze is green now."
    assert fresh(device, "When is the kiln fired?").hits[0].passage.id == first


def test_what_is_quoted_is_read_again_too(device: Device, notes: Path) -> None:
    name_anton(notes)
    options = device.options()
    options = replace(options, plan=replace(options.plan, summaries="quoted"))
    *_, quoted = device.assistant.ask("What was said about the blue drill?", options)
    assert isinstance(quoted, Answer)
    assert quoted.quoted
    assert "Anton" in quoted.text


def test_work_ahead_after_it_changes_nothing(device: Device, notes: Path) -> None:
    ask(device, QUESTION)
    name_anton(notes)
    ask(device, QUESTION)
    assert [step for step in everything(device) if "changed" in step.why] == []
    assert ask(device, QUESTION).text == ANTON


def test_what_is_shown_in_the_stead_of_an_answer_is_looked_at_too(device: Device, tmp_path: Path) -> None:
    folder = tmp_path / "zithers"
    folder.mkdir()
    for number in range(1, 5):
        (folder / f"{number}.md").write_text(f"# Zither {number}\n\nWhat did zither {number} cost?\n\n{NOT_FOUND}\n")
    device.ingestion().run([folder])
    shown = [Path(hit.passage.path).name for hit in fresh(device, "What did my zither cost?").hits]
    assert len(shown) == 3
    (folder / shown[2]).unlink()
    answer = fresh(device, "What did my zither cost?")
    assert shown[2] not in [Path(hit.passage.path).name for hit in answer.hits]
    assert states(answer) == [(shown[2], "gone")]


def calendar(notes: Path, title: str) -> None:
    lines = ["BEGIN:VCALENDAR", "BEGIN:VEVENT", f"UID:{title}", f"SUMMARY:{title}", "DTSTART:20200101T120000"]
    (notes / "a.ics").write_text("\r\n".join([*lines, "RRULE:FREQ=DAILY", "END:VEVENT", "END:VCALENDAR", ""]))


def test_a_calendar_that_changed_or_went_is_noticed_also_where_it_said_nothing(device: Device, notes: Path) -> None:
    calendar(notes, "Tea")
    device.ingestion().run([notes])
    asked = "What is on tomorrow?"
    assert "12:00 Tea [1]" in ask(device, asked).text
    calendar(notes, "Coffee")
    answer = ask(device, asked)
    assert "12:00 Coffee [1]" in answer.text
    assert answer.stale == ()
    with device.knowledge.database.transaction():  # as the schema's step leaves a calendar of an earlier version
        device.knowledge.database.execute("DELETE FROM events")
        device.knowledge.database.execute("UPDATE documents SET hash = '' WHERE kind = 'event'")
        device.knowledge.database.execute(
            "UPDATE files SET sha256 = NULL WHERE path = ?", (os.fsencode(notes / "a.ics"),)
        )
    assert "12:00 Coffee [1]" in ask(device, asked).text
    (notes / "a.ics").unlink()
    answer = ask(device, asked)
    assert answer.text.startswith("Nothing is planned tomorrow")
    assert states(answer) == [("a.ics", "gone")]


def test_a_large_calendar_that_changed_is_told(device: Device, notes: Path) -> None:
    calendar(notes, "Tea")
    device.ingestion().run([notes])
    calendar(notes, "x" * 100_000)
    answer = ask(device, "What is on tomorrow?")
    assert "12:00 Tea [1]" in answer.text
    assert states(answer) == [("a.ics", "changed")]
