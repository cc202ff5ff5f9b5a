"""What to do for a question while it is being typed: search, read a passage, or wait. Pure decisions, without I/O.

Times are seconds of a monotonic clock. A passage is named by its id; a search ranks passages by score, the best first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from device_app.english.following import begins_as_question

MOST_CHARACTERS = 1_000
"""A longer text is not searched: the embedder reads about so many characters of a question."""

MOST_SEARCHES = 60
"""Searches for one question at most, however long somebody types."""

MOST_PASSAGES = 6
"""Passages that are read for one question at most."""

RANKED = 3
"""Passages of a search that may be read."""

LEAST_WORDS = 2
"""A text of fewer words is not searched."""

PART_LETTERS = 4
"""Letters of an unfinished word that are searched at a time, where it is searched at all."""

PAUSE_S = 0.6
"""After so long without a key, the last word counts as whole, and the question as nearly typed."""

LIKELY = 0.13
"""The chance from which a passage is read while somebody types; half of that counts once the question seems whole."""

_BASE, _SCORE, _MARGIN, _LEAD, _WORD, _ASKS, _WORD_ASKED = -3.8, 1.6, 4.2, 0.4, 0.09, -1.0, 0.06
_MOST_LEADS, _MOST_WORDS = 4, 14
"""The log odds that a passage is the whole question's best, fitted to the prefixes of 80 questions about chats and 80
subjects of mails; of the subjects, whose words are searched by parts too, fewer passages are read by 0.4. What begins
as a question says less in its first words.
"""

KEY_S = 0.03
"""So soon after a key, no batch of the model begins: the screen goes first."""

_ENDS = (".", "?", "!")

Ranking = Sequence[tuple[int, float]]
"""Passages with their scores, the best first."""


@dataclass(frozen=True, slots=True)
class Search:
    """Find the passages nearest to this part of the question."""

    text: str


@dataclass(frozen=True, slots=True)
class Read:
    """Compute the attention states of this passage."""

    passage: int


@dataclass(frozen=True, slots=True)
class Wait:
    """Do nothing until the text changes or, where that is not None, so many seconds have passed."""

    seconds: float | None = None


Step = Search | Read | Wait


@dataclass(frozen=True, slots=True)
class Draft:
    """A question that is being typed: its `text`, when that `changed_at`, and what was done for it so far.

    `ranking` is that of the last search, which was for `searched`; `leads` counts the searches in a row that ranked the
    same passage first. `read` are the passages that were read or needed no reading; `broken_off` counts readings that
    were begun and not finished.
    """

    text: str = ""
    changed_at: float = 0.0
    searched: str = ""
    searches: int = 0
    ranking: Ranking = ()
    leads: int = 0
    read: frozenset[int] = field(default_factory=frozenset)
    broken_off: int = 0

    def typed(self, text: str, now: float) -> Draft:
        """Return the draft with another text; a text that was erased forgets its ranking, not what was spent on it."""
        draft = replace(self, text=text, changed_at=now)
        return draft if text.strip() else replace(draft, searched="", ranking=(), leads=0)

    def ranked(self, text: str, ranking: Ranking) -> Draft:
        """Return the draft after a search for the text."""
        stays = bool(ranking and self.ranking) and ranking[0][0] == self.ranking[0][0]
        leads = self.leads + 1 if stays else min(len(ranking), 1)
        return replace(self, searched=text, searches=self.searches + 1, ranking=tuple(ranking[:RANKED]), leads=leads)

    def has_read(self, passage: int, *, is_broken_off: bool = False) -> Draft:
        """Return the draft after the passage was read, turned out to need no reading, or was read in part."""
        if is_broken_off:
            return replace(self, broken_off=self.broken_off + 1)
        return replace(self, read=self.read | {passage})


def next_step(draft: Draft, now: float) -> Step:
    """Return what to do next for the draft."""
    is_whole = _is_whole(draft, now)
    text = searchable(draft.text, is_whole=is_whole)
    if text and text != draft.searched and draft.searches < MOST_SEARCHES:
        return Search(text)
    is_open = bool(text) and len(draft.read) + draft.broken_off < MOST_PASSAGES
    passage = _likeliest(draft, is_whole=is_whole) if is_open else None
    if passage is not None:
        return Read(passage)
    return Wait() if is_whole or not draft.text else Wait(draft.changed_at + PAUSE_S - now)


def searchable(text: str, *, is_whole: bool) -> str:
    """Return the part of the text that is worth a search: its whole words, and the last word too where `is_whole`.

    A text that does not begin as a question is short, and mostly names: its last word counts from its fourth letter on,
    four letters at a time. The part is empty for a command of the app, and for a text that is too long or too short.
    """
    if len(text) > MOST_CHARACTERS or text.lstrip().startswith("/"):
        return ""
    words = text.split()
    if words and not (is_whole or text[-1].isspace()):
        last = words.pop()
        part = "" if begins_as_question(text) else last[: len(last) // PART_LETTERS * PART_LETTERS]
        words += [part] if part else []
    return " ".join(words) if len(words) >= LEAST_WORDS else ""


def chance(draft: Draft, rank: int) -> float:
    """Return how likely the passage of this rank, from 0, is the one that the whole question finds first."""
    score = draft.ranking[rank][1]
    others = [other for place, (_, other) in enumerate(draft.ranking) if place != rank]
    leads = draft.leads if rank == 0 else 0
    words = min(len(draft.searched.split()), _MOST_WORDS)
    odds = _BASE + _SCORE * score + _MARGIN * (score - max(others, default=0.0))
    odds += _LEAD * min(leads, _MOST_LEADS) + _WORD * words
    if begins_as_question(draft.searched):
        odds += _ASKS + _WORD_ASKED * words
    return 1 / (1 + math.exp(-odds))


def finishes(draft: Draft, passage: int, share: float) -> bool:
    """Return whether the reading of a passage goes on when the question is sent, with this share of it done.

    What is broken off is lost: that costs the share done if the answer needs the passage, and going on costs the rest
    of it if the answer does not.
    """
    if not draft.ranking or draft.ranking[0][0] != passage:
        return False
    likely = 0.9 if draft.searched == searchable(draft.text, is_whole=True) else 0.5
    return likely * share >= (1 - likely) * (1 - share)


def fits(since_key_s: float, gap_s: float, piece_s: float) -> bool:
    """Return whether a batch of the model that begins now, and takes `piece_s`, would end before the next key.

    `gap_s` is what usually lies between two keys; after twice that, nobody is taken to be typing.
    """
    if since_key_s < KEY_S:
        return False
    return since_key_s >= 2 * gap_s or since_key_s + piece_s <= gap_s


def _is_whole(draft: Draft, now: float) -> bool:
    """Return whether the last word seems to be typed to its end."""
    return draft.text.rstrip().endswith(_ENDS) or now >= draft.changed_at + PAUSE_S


def _likeliest(draft: Draft, *, is_whole: bool) -> int | None:
    """Return the passage to read next, None where none is likely enough. A whole question's best always is."""
    unread = [
        (chance(draft, rank), -rank) for rank, (passage, _) in enumerate(draft.ranking) if passage not in draft.read
    ]
    if not unread:
        return None
    best, place = (1.0, 0) if is_whole and (unread[0][1] == 0) else max(unread)
    return draft.ranking[-place][0] if best >= (LIKELY / 2 if is_whole else LIKELY) else None
