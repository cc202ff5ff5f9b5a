"""Marks an answer as wrong and undoes such marks, for the command line and the app. Prints nothing."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

from shared.errors import NothingFound
from shared.printable import counted

if TYPE_CHECKING:
    from device_app.device import Device
    from storage.conversations import Turn
    from storage.qa_entries import Entry
    from storage.wrong_answers import Mark

NO_ANSWER: Final = "There is no answer to mark as wrong: the question was not answered."


@dataclass(frozen=True, slots=True)
class Marked:
    """The result of marking an answer. `dropped` counts the deleted kept answers.

    `holds` is false if the answer's files changed before the mark was made.
    """

    question: str
    answer: str
    holds: bool
    dropped: int

    @property
    def message(self) -> str:
        """The consequences of the mark, as a message for the person."""
        went = f" {counted(self.dropped, 'saved answer')} deleted." if self.dropped else ""
        if not self.holds:
            return (
                f"Marked as wrong.{went} The answer's files have changed since: ask again to "
                "have the new versions read."
            )
        return (
            f"Marked as wrong.{went} The answer is not shown for this question again until its "
            "files or the model change."
        )


def mark_turn(device: Device, turn: Turn) -> Marked:
    """Mark the answer of a turn as wrong. Raises NothingFound if the turn gave no answer; StoreError."""
    from device_app.cache.answers.bank import scope
    from device_app.knowledge.thread import asked_in
    from device_app.question.answer import own_sources, written_by

    record = turn.record
    if not turn.complete or not record.get("found") or record.get("abstained"):
        raise NothingFound(NO_ANSWER)
    asked = asked_in(turn, datetime.fromisoformat(turn.asked_at).astimezone().date())
    written, sources = written_by(record), own_sources(record)
    return _mark(device, asked.text, scope(asked), turn.answer, written, sources, turn.id)


def mark_kept(device: Device, entry: Entry) -> Marked:
    """Mark a kept answer as wrong, even if never shown. Raises NothingFound if the entry has no answer; StoreError."""
    from device_app.question.answer import own_sources, written_by

    if entry.answer is None:
        raise NothingFound(NO_ANSWER)
    written, sources = written_by(entry.record), own_sources(entry.record)
    return _mark(device, entry.question, entry.scope, entry.answer, written, sources, None)


def mark_question(device: Device, question: str) -> Marked:
    """Mark the last answer to this question as wrong or, if the question was never asked, its kept answer.

    Raises NothingFound if neither exists; StoreError.
    """
    from device_app.english.wording import normal

    if turn := device.conversations.last_asked(question):
        return mark_turn(device, turn)
    kept = (entry for entry in device.qa_bank.entries.all() if normal(entry.question) == normal(question))
    if entry := next(kept, None):
        return mark_kept(device, entry)
    raise NothingFound("No question was asked in exactly these words. Find it with: jackdaw history search WORDS")


def undo(device: Device, question: str | None = None) -> Mark:
    """Remove the last mark, or the last mark for this question; marks in force are chosen before outdated ones.

    Raises NothingFound if there is no such mark; StoreError.
    """
    from device_app.english.wording import normal

    marks = sorted(device.qa_bank.wrong.all(), key=lambda mark: not mark.holds)
    chosen = (mark for mark in marks if question is None or normal(mark.question) == normal(question))
    if (mark := next(chosen, None)) is None:
        raise NothingFound("No such answer is marked as wrong. To list marked answers: jackdaw wrong --list")
    device.qa_bank.wrong.take_back(mark)
    return mark


def undo_turn(device: Device, turn: Turn) -> None:
    """Remove the mark from a turn's answer, if it has one. Raises StoreError."""
    for mark in device.qa_bank.wrong.all():
        if mark.turn_id == turn.id:
            device.qa_bank.wrong.take_back(mark)


def _mark(
    device: Device,
    question: str,
    scope: str,
    answer: str,
    written_by: str,
    sources: Collection[int],
    turn_id: int | None,
) -> Marked:
    from device_app.cache.answers.wrong import plain
    from device_app.english.wording import normal

    entries = device.qa_bank.entries
    drop = [
        entry.id
        for entry in entries.all()
        if entry.answer is not None
        and entry.scope == scope
        and plain(entry.answer) == plain(answer)
        # An equal answer from the same passages was most likely kept for a paraphrase of the question.
        and (normal(entry.question) == normal(question) or not set(sources).isdisjoint(entries.sources(entry.id)))
    ]
    mark = device.qa_bank.wrong.mark(question, scope, answer, written_by, sources, drop, turn_id)
    return Marked(question, answer, mark is not None, len(drop))
