"""What to do for a question while it is being typed: search, read a passage, or wait. Pure decisions, without I/O.

Times are seconds of a monotonic clock. A passage is named by its id; a search ranks passages, the best first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

MOST_CHARACTERS = 1_000
"""Nothing is searched for a longer text: the embedder reads about as many characters of a question."""

MOST_SEARCHES = 60
"""Searches for one question at most, however long somebody types."""

MOST_PASSAGES = 4
"""Passages read for one question at most."""

RANKED = 3
"""Passages of each search that may be read."""

PAUSE_S = 0.6
"""After so long without a key, the last word counts as whole."""

LEAST_WORDS = 2
"""Words that a text has before it is searched."""

_ENDS = (".", "?", "!")


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

    `ranked` are the best passages of the last search, which was for `searched`; `earlier` those of the search before.
    """

    text: str = ""
    changed_at: float = 0.0
    searched: str = ""
    searches: int = 0
    ranked: Sequence[int] = ()
    earlier: Sequence[int] = ()
    read: frozenset[int] = frozenset()

    def typed(self, text: str, now: float) -> Draft:
        """Return the draft with another text; a text that was erased forgets its searches, not what they cost."""
        draft = replace(self, text=text, changed_at=now)
        return draft if text.strip() else replace(draft, searched="", ranked=(), earlier=())

    def ranked_for(self, text: str, passages: Sequence[int]) -> Draft:
        """Return the draft after a search for the text, which ranked these passages."""
        ranked, earlier = tuple(passages[:RANKED]), self.ranked
        return replace(self, searched=text, searches=self.searches + 1, ranked=ranked, earlier=earlier)

    def has_read(self, passage: int) -> Draft:
        """Return the draft after the passage was read, or turned out not to need it."""
        return replace(self, read=self.read | {passage})


def next_step(draft: Draft, now: float) -> Step:
    """Return what to do next for the draft."""
    is_whole = _is_whole(draft, now)
    text = searchable(draft.text, is_whole=is_whole)
    if text and text != draft.searched and draft.searches < MOST_SEARCHES:
        return Search(text)
    if text and len(draft.read) < MOST_PASSAGES and (passage := _likeliest(draft, text, is_whole=is_whole)):
        return Read(passage)
    if is_whole or not searchable(draft.text, is_whole=True):
        return Wait()
    return Wait(max(0.0, draft.changed_at + PAUSE_S - now))


def searchable(text: str, *, is_whole: bool) -> str:
    """Return the part of the text that is worth a search: its whole words; "" for none.

    A command of the app, a text that is too long and a single word are not searched.
    """
    if len(text) > MOST_CHARACTERS or text.lstrip().startswith("/"):
        return ""
    words = text.split()
    if words and not (is_whole or text[-1].isspace()):
        words.pop()
    return " ".join(words) if len(words) >= LEAST_WORDS else ""


def _is_whole(draft: Draft, now: float) -> bool:
    """Whether the last word is typed to its end."""
    return draft.text.rstrip().endswith(_ENDS) or now - draft.changed_at >= PAUSE_S


def _likeliest(draft: Draft, text: str, *, is_whole: bool) -> int | None:
    """Return the passage that is read next, None where none is likely enough."""
    return next((passage for passage in draft.ranked if passage not in draft.read), None)
