"""Estimates the remaining background work, and selects likely next questions that can be answered at once. Read-only.

device_app/ahead/daemon.py decides when the work is done, device_app/ahead/population.py how.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from device_app.ahead import predictor
from device_app.ahead.prediction import HISTORY, HISTORY_MARK, KNOWLEDGE_MARK
from device_app.cache.answers.bank import scope
from device_app.english import query
from device_app.english.wording import adds, moves
from device_app.everyday.examples import examples
from storage.cache_records import CacheRecords
from storage.qa_entries import Entry, QAEntries

if TYPE_CHECKING:
    from device_app.device import Device
    from shared.types import StoredPassage

_PROVEN = ("proven", "word for word")

CANDIDATES = 200
"""The maximum number of predicted questions that are considered, latest first."""


@dataclass(frozen=True, slots=True)
class Ahead:
    """The amount of background work left; parts whose cache has the limit 0 are 0.

    `answers` are questions to answer, `questions_since` those asked since questions were last predicted from the
    history. `passages_unpredicted` were not used for predictions, `passages_unread` have no attention states; `room` is
    the rest of the limit on attention states, in bytes.
    """

    answers: int
    questions_since: int
    passages_unpredicted: int
    passages_unread: int
    room: int


def ahead(device: Device) -> Ahead:
    """Estimate the background work left, changing nothing. Raises StoreError, UsageError.

    Counts the queued and stale answers under the current settings, the passages read and questions asked since the last
    run, and the passages without attention states.
    """
    cache, records = device.settings.cache, CacheRecords(device.database)
    marks = device.counters.all()
    return Ahead(
        answers=records.unanswered(device.options().fingerprint) if cache.qa_mb else 0,
        questions_since=records.turns_after(int(marks.get(HISTORY_MARK, 0))) if cache.qa_mb else 0,
        passages_unpredicted=records.passages_after(int(marks.get(KNOWLEDGE_MARK, 0))) if cache.qa_mb else 0,
        passages_unread=records.passages_without_states() if cache.kv_mb else 0,
        room=max(0, device.qkv_tree.limit - records.states_totals().bytes),
    )


def suggested(device: Device, count: int, now: datetime) -> list[str]:
    """Return at most `count` questions that can be answered at once: predicted ones, then questions that rules answer.

    `now` has the person's time zone. Raises StoreError.
    """
    chosen = likely(device, count, now.date())
    if len(chosen) < count:
        by_rule = examples(device.knowledge, device.people, device.everyday, now)
        chosen += islice(by_rule, count - len(chosen))
    return chosen


def likely(device: Device, count: int, today: date) -> list[str]:
    """Return at most `count` predicted questions that can be answered at once, likeliest first, one per document.

    The likeliest questions are those near the latest questions, or from the files that answered them
    (`predictor.expected_use`); before the first question, the newest come first.
    """
    if device.settings.cache.threshold >= 1:
        return []
    records, entries = CacheRecords(device.database), QAEntries(device.database)
    ids = records.predicted(device.options().fingerprint, CANDIDATES)
    kept = entries.get(ids)
    fresh = [kept[identity] for identity in ids if identity in kept and _serves(kept[identity], today)]
    vectors, sources = _vectors(records, fresh), _sources(device, fresh)
    fresh = [entry for entry in fresh if entry.id in vectors and entry.id in sources]
    if not fresh:
        return []
    rows = np.array([vectors[entry.id] for entry in fresh])
    asked, answered_by = _asked(device, records, entries, today)
    history = np.array(asked) if asked else np.empty((0, rows.shape[1]), np.float32)
    scores = predictor.expected_use([sources[entry.id] for entry in fresh], rows, history, answered_by)
    documents: set[int] = set()
    chosen = []
    for place in np.argsort(-scores, kind="stable").tolist():
        document = sources[fresh[place].id].document_id
        if document not in documents:
            documents.add(document)
            chosen.append(place)
    return predictor.choose([fresh[place].question for place in chosen], rows[chosen], count)


def _serves(entry: Entry, today: date) -> bool:
    """Return whether a predicted question is worth suggesting today.

    Its kept answer must be proven and contain words that the question lacks, and the question must mean the same today
    as when it was answered.
    """
    if entry.record.get("support") not in _PROVEN:
        return False
    if not adds(entry.question, entry.answer or ""):
        return False
    if moves(entry.question) and datetime.fromisoformat(entry.answered_at).astimezone().date() != today:
        return False
    asked = query.parse(entry.question, today)
    return asked.text == entry.question and scope(asked) == entry.scope


def _asked(
    device: Device, records: CacheRecords, entries: QAEntries, today: date
) -> tuple[list[predictor.Vectors], list[StoredPassage]]:
    """Return the vectors of the latest questions, latest last, and in the same order the first passage that each answer
    cites.

    Questions without a kept answer, and those whose passage is gone, are left out.
    """
    latest = [query.parse(text, today).text for _, text in device.conversations.questions(HISTORY)]
    known = records.asked(latest)
    by_id = entries.get(list(known.values()))
    kept = [by_id[known[text]] for text in latest if known.get(text) in by_id]
    vectors, sources = _vectors(records, kept), _sources(device, kept)
    both = [entry for entry in kept if entry.id in vectors and entry.id in sources]
    return [vectors[entry.id] for entry in both], [sources[entry.id] for entry in both]


def _vectors(records: CacheRecords, entries: Sequence[Entry]) -> dict[int, predictor.Vectors]:
    """Map the id of each kept answer (an entry) to its question's vector, shape (dimensions,)."""
    packed = records.vectors([entry.id for entry in entries])
    return {entry: np.frombuffer(vector, "<f4") for entry, vector in packed.items()}


def _sources(device: Device, entries: Sequence[Entry]) -> dict[int, StoredPassage]:
    """Map the id of each kept answer (an entry) to the first passage that the answer was drawn from.

    Answers from a server's passages, and those whose passage is gone, are left out.
    """
    own = [entry for entry in entries if not entry.is_public]
    first = {entry.id: sources[0]["id"] for entry in own if (sources := entry.record.get("sources"))}
    passages = device.knowledge.passages(set(first.values()))
    return {entry: passages[passage] for entry, passage in first.items() if passage in passages}
