"""Draft trees by lookup: several continuations of the last tokens, each with its probability if those before it are
wrong.
"""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.speculative.choice import Acceptance
from models.speculative.lookup import Lookup
from models.speculative.lookup_tree import LookupTree, later_siblings
from models.speculative.tree import ROOT, DraftTree

TEXT = [1, 2, 3, 9, 1, 2, 4, 9, 5, 2, 6, 9, 8, 1, 2]
"""A text that ends in 1 2. Before, 1 2 was followed by 3 and later by 4; a 2 without 1 was followed by 6."""


def lookup_tree(text: list[int]) -> LookupTree:
    return LookupTree([text], Acceptance(), later_siblings())


def test_the_longest_and_latest_continuations_come_first() -> None:
    drafts = Lookup([TEXT]).drafts(2, 9)
    assert [(draft.tokens, draft.matched) for draft in drafts] == [((4, 9), 2), ((3, 9), 2), ((6, 9), 1)]
    assert Lookup([TEXT]).drafts(2, 2) == drafts[:2]
    assert Lookup([TEXT]).drafts(0, 2) == Lookup([[1]]).drafts(3, 2) == []


def test_equal_prefixes_share_nodes_and_siblings_share_what_is_left() -> None:
    tree = lookup_tree([7, 1, 2, 7, 1, 3, 7]).tree(2)
    assert tree.tokens == (1, 3, 2)
    assert tree.parents == (ROOT, 0, 0)
    first, later = Acceptance(), later_siblings()
    expected = first.chance(1), first.chance(2), (1 - first.chance(2)) * later.chance(2)
    assert tree.log_probabilities == pytest.approx([math.log(chance) for chance in expected])


@given(st.lists(st.integers(0, 3), max_size=40), st.integers(0, 6), st.integers(1, 5))
def test_the_first_continuation_is_the_chain_and_probabilities_add_up(text: list[int], depth: int, count: int) -> None:
    tree = LookupTree([text], Acceptance(), later_siblings(), count).tree(depth)
    chain = Lookup([text]).draft(depth).tokens
    if chain:
        assert tree.tokens[: len(chain)] == chain
    else:
        assert len(tree) <= depth * (count - 1)
    assert len(tree) <= depth * count
    for parent in {ROOT, *tree.parents}:
        own = [value for at, value in zip(tree.parents, tree.log_probabilities, strict=True) if at == parent]
        assert sum(map(math.exp, own)) < 1


def test_nodes_are_counted_up_to_the_one_that_is_right() -> None:
    first, later = Acceptance(), later_siblings()
    before = first.chance(2), later.chance(2), later.chance(1)
    drafts = LookupTree([TEXT], first, later)
    assert drafts.tree(2).tokens[::2] == (4, 3, 6)
    drafts.append(3)
    assert first.chance(2) < before[0]
    assert later.chance(2) > before[1]
    assert later.chance(1) == before[2]
    followed = first.chance(3)
    drafts.append(9)
    assert first.chance(3) > followed
    drafts.append(0)  # below no node
    drafts.append(0)
    assert drafts.tree(2) == DraftTree((0,), (ROOT,), (math.log(first.chance(1)),))
