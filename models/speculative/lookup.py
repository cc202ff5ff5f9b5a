"""Drafts tokens by prompt lookup: those that followed the longest earlier occurrence of the last tokens.

Pure, and needs no draft model, as answers quote their passages and repeat their own words.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from models.speculative.drafter import DEGREES, Draft

LONGEST: Final = DEGREES
"""The most tokens of a match: a longer match hardly makes a draft more likely to be accepted."""

_BORDER: Final = -1
"""The separator between two texts; no token has this id."""


class Lookup:
    """Finds drafts in several texts and an answer, to which tokens are appended; see `Drafter`."""

    unread = 0

    def __init__(self, texts: Sequence[Sequence[int]]) -> None:
        """Copy the texts, which are token ids; the answer continues the last text."""
        ids = [token for text in texts for token in (_BORDER, *text)]
        self._size = len(ids)
        self._ids = np.empty(2 * self._size + 64, np.int64)
        self._ids[: self._size] = ids

    def append(self, tokens: Sequence[int]) -> None:
        """Append drawn tokens to the answer."""
        stop = self._size + len(tokens)
        if stop > self._ids.size:
            self._ids = np.concatenate([self._ids, np.empty(stop, np.int64)])
        self._ids[self._size : stop] = tokens
        self._size = stop

    def draft(self, most: int, least: float = 0.0) -> Draft:  # noqa: ARG002 (a lookup takes no time to stop)
        """Return at most `most` tokens that followed the longest earlier occurrence of the last tokens; of occurrences
        of equal length, the latest counts.
        """
        ids = self._ids[: self._size]
        if most < 1 or self._size < 2:
            return Draft()
        ends, matched = np.flatnonzero(ids[:-1] == ids[-1]), 1
        while ends.size and matched < LONGEST and ids[-1 - matched] != _BORDER:
            further = ends[ends >= matched]
            further = further[ids[further - matched] == ids[-1 - matched]]
            if not further.size:
                break
            ends, matched = further, matched + 1
        if not ends.size:
            return Draft()
        following = ids[ends[-1] + 1 : ends[-1] + 1 + most].tolist()
        if _BORDER in following:
            following = following[: following.index(_BORDER)]
        return Draft(tuple(following), matched)
