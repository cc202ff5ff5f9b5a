"""Drafts by lookup: the continuation of the longest, latest earlier occurrence of the last tokens."""

from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from models.speculative.drafter import Draft
from models.speculative.lookup import LONGEST, Lookup

texts = st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=30), min_size=1, max_size=3)


def expected(texts: Sequence[Sequence[int]], answer: Sequence[int], most: int) -> Draft:
    """The same draft, found by trying every position (for comparison)."""
    held = [token for text in texts for token in (-1, *text)] + list(answer)
    best = Draft()
    for place in range(1, len(held)):
        matched = 0
        while matched < min(LONGEST, place) and held[place - 1 - matched] == held[-1 - matched] != -1:
            matched += 1
        if matched and matched >= best.matched:
            following = held[place : place + most]
            best = Draft(tuple(following[: following.index(-1)] if -1 in following else following), matched)
    return best


@given(texts, st.lists(st.integers(0, 3), max_size=12), st.integers(1, 6))
@example([[1, 2, 3], [1, 2]], [], 4)
def test_it_drafts_what_followed_the_longest_and_latest_occurrence(
    texts: list[list[int]], answer: list[int], most: int
) -> None:
    lookup = Lookup(texts)
    for token in answer:
        lookup.append(token)
    assert lookup.draft(most) == expected(texts, answer, most)


@pytest.mark.parametrize("most", [0, -3])
def test_no_room_gives_no_draft(most: int) -> None:
    assert Lookup([[1, 1, 1]]).draft(most) == Draft()


def test_a_draft_ends_with_its_text() -> None:
    lookup = Lookup([[5, 6, 7], [5]])
    assert lookup.draft(9) == Draft((6, 7), 1)


def test_nothing_is_drafted_for_what_never_occurred() -> None:
    lookup = Lookup([[1, 2, 3]])
    lookup.append(4)
    assert lookup.draft(3) == Draft()
