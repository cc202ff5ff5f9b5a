"""Draft trees: how they are built, merged and cut, and that verifying them does not change the text."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.engine import Logits
from models.sampling import SamplingSettings, sample
from models.speculative.tree import ROOT, DraftTree, accepted, grown, merged, worthwhile
from models.token_tree import TokenTree
from shared.errors import EngineError

VOCABULARY = 6


@st.composite
def trees(draw: st.DrawFn, most: int = 12) -> DraftTree:
    nodes: dict[tuple[int, int], float] = {}
    for _ in range(draw(st.integers(0, most))):
        key = draw(st.integers(ROOT, len(nodes) - 1)), draw(st.integers(0, VOCABULARY - 1))
        nodes.setdefault(key, math.log(draw(st.floats(0.01, 1))))
    return DraftTree(tuple(token for _, token in nodes), tuple(parent for parent, _ in nodes), tuple(nodes.values()))


def paths(tree: DraftTree) -> set[tuple[int, ...]]:
    whole = tree.behind(0)
    return {tuple(whole.tokens[node] for node in whole.path(end)[1:]) for end in range(1, len(whole.tokens))}


def expected_tokens(tree: DraftTree) -> float:
    """How many tokens a pass over the tree is expected to generate, if its probabilities are right."""
    return 1 + sum(map(math.exp, tree.scores()))


def logits_after(written: Sequence[int], seed: int) -> Logits:
    """Return logits that depend on the text and the seed alone."""
    return np.random.default_rng([seed, *written, len(written)]).normal(0, 2, VOCABULARY).astype(np.float32)


rules = st.builds(
    SamplingSettings,
    temperature=st.sampled_from([0.0, 0.7, 1.5]),
    top_k=st.sampled_from([0, 3]),
    top_p=st.sampled_from([1.0, 0.8]),
    min_p=st.sampled_from([0.0, 0.1]),
    repetition_penalty=st.sampled_from([1.0, 1.3]),
    seed=st.integers(0, 99),
)


@settings(max_examples=150)
@given(rules, st.integers(0, 9), st.lists(trees(), min_size=1, max_size=8))
def test_descending_in_a_tree_writes_the_tokens_of_no_drafting(
    rule: SamplingSettings, seed: int, drafted: list[DraftTree]
) -> None:
    written: list[int] = []
    for tree in drafted:

        def draw(nodes: Sequence[int], tree: DraftTree = tree, before: Sequence[int] = tuple(written)) -> int:
            drawn = [*before, *(tree.tokens[node] for node in nodes)]
            return sample(logits_after(drawn, seed), rule, drawn)

        nodes, last = accepted(tree, draw)
        written += [*(tree.tokens[node] for node in nodes), last]
    alone: list[int] = []
    while len(alone) < len(written):
        alone.append(sample(logits_after(alone, seed), rule, alone))
    assert written == alone


def test_the_property_above_sees_deep_accepted_paths_and_rejected_nodes() -> None:
    """The property test above is strong enough: in a full binary tree of three layers, 1,000 samples accept 0, 1, 2 and
    3 nodes, each often.
    """
    tree = grown(lambda layer: [[(0, -0.7), (1, -0.7)]] * len(layer), 8, 3, 14)
    depths = [
        len(
            accepted(
                tree,
                lambda nodes, seed=seed: sample(  # type: ignore[misc]
                    np.array([1, 1, 1], np.float32), SamplingSettings(temperature=1, seed=seed), list(nodes)
                ),
            )[0]
        )
        for seed in range(1000)
    ]
    shares = np.bincount(depths, minlength=4) / 1000
    assert shares == pytest.approx([1 / 3, 2 / 9, 4 / 27, 8 / 27], abs=0.06)


@given(st.lists(trees(), max_size=4))
def test_merged_trees_keep_all_paths_and_no_others(drafted: list[DraftTree]) -> None:
    tree = merged(drafted)
    assert paths(tree) == set().union(*map(paths, drafted))
    assert len(tree) == len(paths(tree)) <= sum(map(len, drafted))


def test_merged_nodes_keep_the_higher_probability() -> None:
    tree = merged([DraftTree.chain([1, 2], [-1.0, -1.0]), DraftTree.chain([1, 3], [-0.5, -2.0]), DraftTree()])
    assert tree == DraftTree((1, 2, 3), (ROOT, 0, 0), (-0.5, -1.0, -2.0))


@given(trees(), st.integers(-1, 14))
def test_the_likeliest_nodes_stay_with_their_paths_and_the_likeliest_comes_first(tree: DraftTree, count: int) -> None:
    kept = tree.likeliest(count)
    assert len(kept) == min(max(count, 0), len(tree))
    assert paths(kept) <= paths(tree)
    scores = kept.scores()
    assert scores == sorted(scores, reverse=True)
    assert scores == pytest.approx(sorted(tree.scores(), reverse=True)[: len(kept)])


@settings(max_examples=40)
@given(st.integers(1, 4), st.integers(1, 4), st.integers(0, 12), st.integers(0, 99))
def test_a_grown_tree_keeps_its_bounds_and_holds_the_likeliest_paths(
    width: int, depth: int, candidates: int, seed: int
) -> None:
    asked: list[int] = []

    def propose(layer: Sequence[tuple[int, ...]]) -> list[list[tuple[int, float]]]:
        asked.append(len(layer))
        shares = [np.random.default_rng([seed, *path, len(path)]).dirichlet(np.ones(VOCABULARY)) for path in layer]
        return [[(int(t), float(np.log(own[t]))) for t in np.argsort(-own)] for own in shares]

    tree = grown(propose, width, depth, candidates)
    assert len(asked) == depth
    assert max(asked) <= width
    assert len(tree) <= candidates
    assert all(len(path) <= depth for path in paths(tree))
    everything = grown(propose, VOCABULARY**depth, depth, 10**6) if depth < 3 else None
    if everything and candidates <= width:  # then nothing likely was left out
        assert tree.scores() == pytest.approx(everything.likeliest(candidates).scores())


def test_growing_ends_where_nothing_is_proposed() -> None:
    assert grown(lambda layer: [[] for _ in layer], 3, 5, 7) == DraftTree()


@pytest.mark.parametrize(
    ("tokens", "parents", "log_probabilities"),
    [
        ((1, 2), (1, ROOT), (0.0, 0.0)),
        ((1,), (0,), (0.0,)),
        ((1,), (-2,), (0.0,)),
        ((1, 1), (ROOT, ROOT), (0.0, 0.0)),
        ((1,), (ROOT,), (0.1,)),
        ((1,), (ROOT,), (math.nan,)),
        ((1,), (ROOT,), ()),
        ((1,), (), (0.0,)),
    ],
)
def test_what_is_no_tree_is_refused(
    tokens: tuple[int, ...], parents: tuple[int, ...], log_probabilities: tuple[float, ...]
) -> None:
    with pytest.raises(ValueError):
        DraftTree(tokens, parents, log_probabilities)


@given(trees(), st.sampled_from([1.0, 1.1, 1.6]))
def test_as_many_nodes_stay_as_pay(tree: DraftTree, slope: float) -> None:
    def cost(tokens: int) -> float:
        return 1 + (slope - 1) * (tokens - 1)

    gains = [expected_tokens(tree.likeliest(count)) / cost(1 + count) for count in range(len(tree) + 1)]
    kept = worthwhile(tree, 1, cost, 100)
    assert expected_tokens(kept) / cost(1 + len(kept)) == pytest.approx(max(gains))


def test_a_pass_computes_the_drawn_token_before_the_nodes() -> None:
    tree = DraftTree((1, 2, 3), (ROOT, ROOT, 0), (-0.1, -1.0, -0.1))
    assert tree.behind(9) == TokenTree((9, 1, 2, 3), (-1, 0, 0, 1))
    assert tree.behind(9).chains() == [[0, 1, 3], [2]]
    assert DraftTree().behind(9) == TokenTree((9,), (-1,))


@given(trees())
def test_chains_hold_each_node_once_and_follow_parents(tree: DraftTree) -> None:
    whole = tree.behind(0)
    chains = whole.chains()
    assert sorted(node for chain in chains for node in chain) == list(range(len(tree) + 1))
    for chain in chains:
        assert [whole.parents[node] for node in chain[1:]] == chain[:-1]
        assert [whole.depths()[node] for node in chain] == list(
            range(whole.depths()[chain[0]], whole.depths()[chain[0]] + len(chain))
        )
    assert len(chains) == sum(node not in whole.parents for node in range(len(whole.tokens)))


@pytest.mark.parametrize(
    ("tokens", "parents"), [((), ()), ((1,), (0,)), ((1, 2), (-1, -1)), ((1, 2), (-1, 1)), ((1, 2), (-1,))]
)
def test_tokens_that_are_no_tree_are_refused(tokens: tuple[int, ...], parents: tuple[int, ...]) -> None:
    with pytest.raises(EngineError):
        TokenTree(tokens, parents)
