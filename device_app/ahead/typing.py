"""Decides the next step for a question that is being typed: search, read a passage or the question, or wait. Pure.

Times are seconds of a monotonic clock. Passages are named by their ids; a ranking lists the best passage first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from device_app.english.following import begins_as_question
from device_app.english.intents import needs_no_file

MOST_CHARACTERS = 1_000
"""The maximum length of a question that is searched for, in characters; the embedder reads about that many."""

MOST_SEARCHES = 60
"""The most searches for one question."""

MOST_PASSAGES = 6
"""The most passages read for one question."""

MOST_QUESTION_READS = 40
"""The most times that attention states are computed for the typed question itself, or for more of it."""

QUESTION_WORDS = 6
"""Attention states for more of an unfinished question are computed once it has this many new words."""

RANKED = 3
"""The number of top-ranked passages of a search that may be read."""

LEAST_WORDS = 2
"""The minimum number of words in a text that is searched for, unless it is one long word."""

LONG_WORD = 8
"""The number of letters from which a single word is searched for, as it may be an address or a name."""

PART_LETTERS = 4
"""An unfinished last word is searched for, if at all, each time it has grown by this many letters."""

ENTER_S = 0.12
"""Seconds after a key press from which a text that does not begin as a question counts as complete for computing the
attention states of the question itself: such texts are short, and Enter may follow any key.
"""

PAUSE_S = 0.6
"""Seconds without a key press after which the last word counts as finished and the question as nearly complete."""

LIKELY = 0.11
"""The probability from which a passage is read while the user types; half of it once the question seems complete."""

_BASE, _SCORE, _MARGIN, _LEAD, _WORD, _ASKS, _WORD_ASKED = -3.8, 1.6, 4.2, 0.4, 0.09, -1.0, 0.06
_MOST_LEADS, _MOST_WORDS = 4, 14
"""Upper bounds in the estimate of whether a passage will be the complete question's best passage: no more consecutive
searches that ranked the passage first, and no more searched words, are counted. The coefficients of the estimate were
fitted to the beginnings of 80 questions about chats and of 80 mail subjects.
"""

KEY_S = 0.03
"""Seconds after a key press in which no model batch starts, so that the screen is drawn first."""

_ENDS = (".", "?", "!")

Ranking = Sequence[tuple[int, float]]
"""Ids of passages with their scores, the best first."""


@dataclass(frozen=True, slots=True)
class Search:
    """The next step: retrieve the passages nearest to this part of the question."""

    text: str


@dataclass(frozen=True, slots=True)
class Read:
    """The next step: compute the attention states of this passage."""

    passage: int


@dataclass(frozen=True, slots=True)
class ReadQuestion:
    """The step of computing the attention states of this part of the question, as it follows on this passage.

    `is_whole`: it is probably all of the question.
    """

    passage: int
    text: str
    is_whole: bool = False


@dataclass(frozen=True, slots=True)
class Wait:
    """The next step: wait until the text changes or `seconds` have passed; None means without a time limit."""

    seconds: float | None = None


Step = Search | Read | ReadQuestion | Wait


@dataclass(frozen=True, slots=True)
class Draft:
    """A question that is being typed: its `text`, the time it `changed_at`, and the work done for it so far.

    `ranking` is the result of the last search, whose text is `searched`; `leads` counts the consecutive searches that
    ranked the same passage first. Passages of the first `ranks` ranks may be read. `read` holds the passages that were
    read or needed no reading; `broken_off` counts the readings that were aborted. The question itself may be read if
    `is_readable`: it follows on one passage. `question` is what was read of it last, `question_reads` counts how often.
    """

    text: str = ""
    changed_at: float = 0.0
    searched: str = ""
    searches: int = 0
    ranking: Ranking = ()
    leads: int = 0
    ranks: int = RANKED
    read: frozenset[int] = field(default_factory=frozenset)
    broken_off: int = 0
    is_readable: bool = True
    question: ReadQuestion | None = None
    question_reads: int = 0

    def typed(self, text: str, now: float) -> Draft:
        """Return the draft with a changed text. An empty text also drops the last search's result, but not the counts
        of searches and readings.
        """
        draft = replace(self, text=text, changed_at=now)
        return draft if text.strip() else replace(draft, searched="", ranking=(), leads=0)

    def ranked(self, text: str, ranking: Ranking) -> Draft:
        """Return the draft with the result of a search for the text: ranked passages."""
        stays = bool(ranking and self.ranking) and ranking[0][0] == self.ranking[0][0]
        leads = self.leads + 1 if stays else min(len(ranking), 1)
        return replace(self, searched=text, searches=self.searches + 1, ranking=tuple(ranking[:RANKED]), leads=leads)

    def has_read(self, passage: int, *, is_broken_off: bool = False) -> Draft:
        """Return the draft with the passage marked as read, or with one more aborted reading if `is_broken_off`.

        What was read of the question is lost.
        """
        if is_broken_off:
            return replace(self, broken_off=self.broken_off + 1, question=None)
        return replace(self, read=self.read | {passage}, question=None)

    def has_read_question(self, step: ReadQuestion, *, is_broken_off: bool = False) -> Draft:
        """Return the draft with that part of the question marked as read, or as not yet read if `is_broken_off`."""
        return replace(self, question=None if is_broken_off else step, question_reads=self.question_reads + 1)


def next_step(draft: Draft, now: float) -> Step:
    """Return the next step for the draft at the time `now`."""
    is_whole = _is_whole(draft, now)
    text = searchable(draft.text, is_whole=is_whole)
    if text and text != draft.searched and draft.searches < MOST_SEARCHES:
        return Search(text)
    question = _question(draft, is_whole=is_whole) if text else None
    pause_s = draft.changed_at + PAUSE_S - now
    if question and is_whole and question != draft.question:
        return question
    if question and is_whole and pause_s > 0:
        return Wait(pause_s)  # Enter is near, and another passage would take the place of the question
    is_open = bool(text) and len(draft.read) + draft.broken_off < MOST_PASSAGES
    passage = _likeliest(draft, is_whole=is_whole) if is_open else None
    if passage is not None:
        return Read(passage)
    if question and not begins_as_question(draft.text):
        question = replace(question, text=" ".join(draft.text.split()), is_whole=True)
        wait_s = pause_s if question == draft.question else draft.changed_at + ENTER_S - now
        is_due = question != draft.question and wait_s <= 0
    else:
        wait_s = pause_s
        is_due = draft.question is None or len(text.split()) >= _words(draft.question) + QUESTION_WORDS
    if question and is_due:
        return question
    return Wait() if is_whole or not draft.text else Wait(wait_s)


def searchable(text: str, *, is_whole: bool) -> str:
    """Return the part of the text to search for: its finished words, and the last word too if `is_whole`.

    If the text does not begin as a question, it is probably short and mostly names: its unfinished last word is then
    searched from its fourth letter on, in steps of four letters. Return "" for an app command, for a request that needs
    no file, for a text that is too long, and for one with fewer than LEAST_WORDS words, none of which is long.
    """
    if len(text) > MOST_CHARACTERS or text.lstrip().startswith("/") or needs_no_file(text):
        return ""
    words = text.split()
    if words and not (is_whole or text[-1].isspace()):
        last = words.pop()
        part = "" if begins_as_question(text) else last[: len(last) // PART_LETTERS * PART_LETTERS]
        words += [part] if part else []
    is_enough = len(words) >= LEAST_WORDS or any(len(word) >= LONG_WORD for word in words)
    return " ".join(words) if is_enough else ""


def chance(draft: Draft, rank: int) -> float:
    """Return the probability that the passage at this rank (0 is the best) is the complete question's best passage."""
    score = draft.ranking[rank][1]
    others = [other for place, (_, other) in enumerate(draft.ranking) if place != rank]
    leads = draft.leads if rank == 0 else 0
    words = min(len(draft.searched.split()), _MOST_WORDS)
    odds = _BASE + _SCORE * score + _MARGIN * (score - max(others, default=0.0))
    odds += _LEAD * min(leads, _MOST_LEADS) + _WORD * words
    if begins_as_question(draft.searched):
        odds += _ASKS + _WORD_ASKED * words
    return 1 / (1 + math.exp(-odds))


def fits(since_key_s: float, gap_s: float, piece_s: float) -> bool:
    """Return whether a model batch that starts now and takes `piece_s` seconds would end before the next key press.

    `since_key_s` is the time since the last key press, `gap_s` the usual time between two; after twice that time, the
    user counts as not typing.
    """
    if since_key_s < KEY_S:
        return False
    return since_key_s >= 2 * gap_s or since_key_s + piece_s <= gap_s


def _is_whole(draft: Draft, now: float) -> bool:
    """Return whether the last word seems to be finished."""
    return draft.text.rstrip().endswith(_ENDS) or now >= draft.changed_at + PAUSE_S


def _question(draft: Draft, *, is_whole: bool) -> ReadQuestion | None:
    """Return the step that computes attention states of the part of the question searched last.

    Return None if the passage before it in the prompt is not read yet.
    """
    if not (draft.is_readable and draft.ranking and draft.question_reads < MOST_QUESTION_READS):
        return None
    step = ReadQuestion(draft.ranking[0][0], draft.searched, is_whole)
    return step if step.passage in draft.read else None


def _words(question: ReadQuestion) -> int:
    return len(question.text.split())


def _likeliest(draft: Draft, *, is_whole: bool) -> int | None:
    """Return the passage to read next; None if no passage is likely enough to be needed.

    The best passage of a complete question is always likely enough.
    """
    unread = [
        (chance(draft, rank), -rank)
        for rank, (passage, _) in enumerate(draft.ranking[: draft.ranks])
        if passage not in draft.read
    ]
    if not unread:
        return None
    best, place = (1.0, 0) if is_whole and (unread[0][1] == 0) else max(unread)
    return draft.ranking[-place][0] if best >= (LIKELY / 2 if is_whole else LIKELY) else None
