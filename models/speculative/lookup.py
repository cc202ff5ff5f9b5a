"""Drafts tokens by prompt lookup: the tokens that followed the longest earlier occurrence of the last tokens.

No I/O, and no draft model: answers quote their passages and repeat their own words.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

import numpy as np

from models.speculative.drafter import DEGREES, Draft

LONGEST: Final = DEGREES
"""The most tokens of a match: a longer match hardly makes a draft more likely to be accepted."""

_EXAMINED: Final = 32
"""The most earlier occurrences that are examined to find different drafts."""

_BORDER: Final = -1
"""The separator between two texts; no token has this id."""


class Lookup:
    """A drafter that searches several texts and an answer, to which tokens are appended; see `Drafter`."""

    unread = 0

    def __init__(self, texts: Sequence[Sequence[int]]) -> None:
        """Copy the texts, which are lists of token ids; the answer continues the last text."""
        ids = [token for text in texts for token in (_BORDER, *text)]
        self._size = len(ids)
        self._ids = np.empty(2 * self._size + 64, np.int64)
        self._ids[: self._size] = ids

    def append(self, token: int) -> None:
        """Append the drawn token to the answer."""
        if self._size == self._ids.size:
            self._ids = np.concatenate([self._ids, np.empty_like(self._ids)])
        self._ids[self._size] = token
        self._size += 1

    def passed(self, sequence: int) -> None:
        """Do nothing: only tokens are searched."""

    def draft(self, most: int, least: float = 0.0) -> Draft:  # noqa: ARG002 (a lookup takes no time to stop)
        """Return at most `most` tokens that followed the longest earlier occurrence of the last tokens; of several
        occurrences of equal length, the latest.
        """
        return next(self._following(most), Draft())

    def drafts(self, most: int, count: int) -> list[Draft]:
        """Return at most `count` different drafts, each of at most `most` tokens: those that followed the longest
        earlier occurrence of the last tokens, then the next longest, and so on; of equal length, the latest comes
        first.
        """
        drafts: dict[tuple[int, ...], Draft] = {}
        for draft in islice(self._following(most), _EXAMINED):
            if draft.tokens:
                drafts.setdefault(draft.tokens, draft)
            if len(drafts) >= count:
                break
        return list(drafts.values())

    def _following(self, most: int) -> Iterator[Draft]:
        """Yield a draft of at most `most` tokens for each earlier occurrence of the last tokens: those that followed
        it. The longest occurrence comes first; of equal length, the latest.
        """
        ids = self._ids[: self._size]
        if most < 1 or self._size < 2:
            return
        ends = np.flatnonzero(ids[:-1] == ids[-1])
        lengths = np.ones_like(ends)
        longer = np.arange(ends.size)  # indices of the ends that match one more token
        for matched in range(1, LONGEST):
            longer = longer[ends[longer] >= matched]
            longer = longer[ids[ends[longer] - matched] == ids[-1 - matched]]
            if not longer.size or ids[-1 - matched] == _BORDER:
                break
            lengths[longer] = matched + 1
        for place in np.lexsort((ends, lengths))[::-1]:
            following = ids[ends[place] + 1 : ends[place] + 1 + most].tolist()
            if _BORDER in following:
                following = following[: following.index(_BORDER)]
            yield Draft(tuple(following), int(lengths[place]))
