"""Predicts, before heavy imports, who will answer a question: the model may load meanwhile, or need not load."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from device_app.english import intents, query
from device_app.english.following import is_follow_up
from device_app.everyday.rule import Asked, local_now
from device_app.question.request import quotable_subject
from shared.errors import UsageError
from storage.qa_entries import QAEntries
from storage.wrong_answers import WrongAnswers

if TYPE_CHECKING:
    from device_app.device import Device


def is_for_rule(device: Device, question: str, conversation: int | None = None) -> bool:
    """Return whether a rule will answer the question, so that it needs no model at all. Raises StoreError.

    The decision is the same as when the question is answered later: the question may follow up on the previous one of
    the conversation, deleted files are ignored, and an answer that is marked as wrong does not count.
    """
    try:
        asked = query.parse(question, date.today())
    except UsageError:
        return False
    from device_app.knowledge.freshness import deleted

    before = "" if conversation is None else _before(device, asked, conversation)
    gone = frozenset[str]()
    while ruled := device.everyday.answer(Asked(asked, local_now(), gone, before)):
        files = (*ruled.files, *device.knowledge.files_of([source.id for source in ruled.sources]))
        if (more := deleted(device.knowledge, files)) <= gone:
            break
        gone |= more
    if ruled is None:
        return False
    from device_app.answering.facts import is_marked  # its imports take long, and few questions are for a rule

    return not is_marked(ruled, asked, WrongAnswers(device.database))


def _before(device: Device, asked: query.Query, conversation: int) -> str:
    """Return the question that a follow-up question continues; "" for any other question, or if filters apply."""
    from device_app.knowledge.thread import thread

    if not is_follow_up(asked):
        return ""
    earlier, search_query = thread(asked, device.conversations.turns(conversation), date.today())
    return earlier[0].question if earlier and not search_query.is_limited else ""


def needs_model(device: Device, question: str, *, fresh: bool) -> bool:
    """Return whether the model will most likely write the answer, as there is neither a quote nor a kept answer.

    With `fresh`, a kept answer does not count. Raises StoreError.
    """
    if intents.needs_no_file(question):
        return device.public is not None or not device.options().unsuited
    if quotable_subject(query.Query(question)) and device.options().plan.summaries == "quoted":
        return False
    return fresh or not QAEntries(device.database).answers(" ".join(question.split()))
