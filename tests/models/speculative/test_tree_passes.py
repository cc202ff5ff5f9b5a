"""A forward pass over a tree of tokens: its logits and states equal those of each path computed token by token."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from models.engine import Logits
from models.fake import FakeEngine
from models.llama_model import LlamaModel
from models.llama_trees import LlamaTreeEngine
from models.token_tree import ComputedTree, TokenTree, TreeEngine
from shared.errors import ContextFull, EngineError

CONTEXT, SEQUENCES, BRANCHES = 256, 2, 7
TEXT = "The ferry to Bergen leaves on Friday at 9:40 from pier 4. The booking reference of the ferry is KX-2291."
PARENTS = (-1, 0, 1, 0, 3, 1, 5, 0)
"""Each node's parent in a tree of eight nodes. Its chains are 0 1 2, 3 4, 5 6, and 7."""


@pytest.fixture(scope="module", params=["fake", pytest.param("llama.cpp", marks=pytest.mark.weights)])
def loaded(request: pytest.FixtureRequest) -> Iterator[TreeEngine]:
    engine: TreeEngine = FakeEngine(context=CONTEXT, sequences=SEQUENCES)
    if request.param != "fake":
        weights: Path = request.getfixturevalue("weights")
        model = LlamaModel(weights / "smollm2-135m-instruct.q8_0.gguf")
        engine = LlamaTreeEngine(
            model, context=CONTEXT, sequences=SEQUENCES, threads=2, kv_type="q8_0", branches=BRANCHES
        )
    yield engine
    engine.close()


@pytest.fixture
def engine(loaded: TreeEngine) -> TreeEngine:
    for sequence in range(SEQUENCES):
        loaded.clear(sequence)
    loaded.prefill(0, loaded.tokenize(TEXT)[:12])
    return loaded


def tree_of(engine: TreeEngine, parents: Sequence[int] = PARENTS) -> TokenTree:
    tokens = engine.tokenize(TEXT)
    return TokenTree(tuple(tokens[-1 - place] for place in range(len(parents))), tuple(parents))


def one_by_one(engine: TreeEngine, tokens: Sequence[int]) -> list[Logits]:
    """The logits after each token, with the sequence as before."""
    logits = [engine.decode({0: token})[0] for token in tokens]
    engine.rollback(0, len(tokens))
    return logits


def accept(engine: TreeEngine, tree: TokenTree, computed: ComputedTree, node: int) -> None:
    """Make sequence 0 contain the path to the node, and no other node of the tree."""
    start = engine.length(0) - len(tree.chains()[0])
    path = tree.path(node)
    for chain in tree.chains():
        if chain[0] and chain[0] in path:
            engine.rollback(0, engine.length(0) - start - path.index(chain[0]))
            engine.join(0, [computed.states[chain[0]]])
    engine.rollback(0, engine.length(0) - start - len(path))


def equal(rows: Sequence[Logits], others: Sequence[Logits]) -> bool:
    return len(rows) == len(others) and all(map(np.array_equal, rows, others))


def test_each_node_has_the_logits_of_its_path_read_one_by_one(engine: TreeEngine) -> None:
    tree, before = tree_of(engine), engine.tokens(0)
    expected = [one_by_one(engine, [tree.tokens[at] for at in tree.path(node)])[-1] for node in range(8)]
    counted = engine.computed
    computed = engine.verify_tree(0, tree)
    assert equal(computed.logits, expected)
    assert engine.computed == counted + 8
    assert engine.tokens(0) == (*before, *tree.tokens[:3])
    assert set(computed.states) == {3, 5, 7}


def test_a_chain_is_the_tree_of_one_branch(engine: TreeEngine) -> None:
    tree = tree_of(engine, (-1, 0, 1, 2))
    chain = engine.verify({0: tree.tokens})[0]
    engine.rollback(0, 4)
    computed = engine.verify_tree(0, tree)
    assert equal(computed.logits, chain)
    assert not computed.states


@pytest.mark.parametrize("node", [1, 4, 6, 7])
def test_tokens_after_an_accepted_path_are_exact_also_in_a_side_branch(engine: TreeEngine, node: int) -> None:
    tree, rest = tree_of(engine), engine.tokenize(TEXT)[12:18]
    path = [tree.tokens[at] for at in tree.path(node)]
    expected = one_by_one(engine, [*path, *rest])[len(path) :]
    accept(engine, tree, engine.verify_tree(0, tree), node)
    assert engine.tokens(0)[12:] == tuple(path)
    assert equal(one_by_one(engine, rest), expected)


def test_passes_after_passes_stay_exact_whatever_branches_are_accepted(engine: TreeEngine) -> None:
    """The cache cells of rejected branches are reused, and each pass copies its leaves again."""
    tokens, nodes = engine.tokenize(TEXT), [4, 0, 6, 7]
    written: list[int] = []
    for number, node in enumerate(nodes):
        tree = TokenTree(tuple(tokens[(number + 3 * place) % len(tokens)] for place in range(8)), PARENTS)
        accept(engine, tree, engine.verify_tree(0, tree), node)
        written += [tree.tokens[at] for at in tree.path(node)]
    last = one_by_one(engine, tokens[:3])
    kept = engine.slice(0, 0, engine.length(0))
    engine.rollback(0, len(written))
    assert equal(one_by_one(engine, [*written, *tokens[:3]])[-3:], last)
    engine.clear(0)
    engine.join(0, [kept])
    assert equal(one_by_one(engine, tokens[:3]), last)


def test_a_tree_at_the_start_of_a_sequence_and_beside_another(engine: TreeEngine) -> None:
    tree = tree_of(engine)
    engine.fork(0, 1)
    beside = [one_by_one(engine, [tree.tokens[at] for at in tree.path(node)])[-1] for node in (4, 7)]
    computed = engine.verify_tree(0, tree)
    for node, expected in zip((4, 7), beside, strict=True):
        assert np.abs(computed.logits[node] - expected).max() < 1
    engine.clear(0)
    alone = [one_by_one(engine, [tree.tokens[at] for at in tree.path(node)])[-1] for node in (4, 7)]
    computed = engine.verify_tree(0, tree)
    for row, expected in zip((computed.logits[4], computed.logits[7]), alone, strict=True):
        assert np.abs(row - expected).max() < 1
    assert engine.length(1) == 12


def test_too_many_nodes_or_leaves_are_refused_before_the_library_aborts(engine: TreeEngine) -> None:
    before = engine.tokens(0)
    many = tree_of(engine, (-1,) + (0,) * (BRANCHES + 2))
    long = TokenTree((1,) * (engine.info.verifies + 1), tuple(range(-1, engine.info.verifies)))
    for tree in (many, long, TokenTree((-1,), (-1,)), TokenTree((engine.info.vocabulary,), (-1,))):
        with pytest.raises(EngineError):
            engine.verify_tree(0, tree)
    with pytest.raises(EngineError):
        engine.verify_tree(SEQUENCES, tree_of(engine))
    assert engine.tokens(0) == before
    as_many = tree_of(engine, (-1,) + (0,) * (BRANCHES + 1))
    assert len(engine.verify_tree(0, as_many).states) == BRANCHES


def test_rejected_nodes_need_room_too(engine: TreeEngine) -> None:
    tokens = (engine.tokenize(TEXT) * 30)[: CONTEXT - 12 - 7]
    engine.prefill(0, tokens)
    before = engine.tokens(0)
    with pytest.raises(ContextFull):
        engine.verify_tree(0, tree_of(engine))
    assert engine.tokens(0) == before
    engine.rollback(0, 1)
    assert len(engine.verify_tree(0, tree_of(engine)).logits) == 8


@pytest.mark.weights
def test_an_interrupt_leaves_neither_the_main_path_nor_leaves(
    engine: TreeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not isinstance(engine, LlamaTreeEngine):
        pytest.skip("the fake has no leaves")
    before, tree = engine.tokens(0), tree_of(engine)
    expected = engine.verify_tree(0, tree).logits
    engine.rollback(0, 3)
    with monkeypatch.context() as patch:
        patch.setattr(engine._context, "state", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            engine.verify_tree(0, tree)
    assert engine.tokens(0) == before
    assert all(engine._context.first_position(SEQUENCES + 1 + branch) == -1 for branch in range(BRANCHES))
    assert equal(engine.verify_tree(0, tree).logits, expected)
    assert all(engine._context.first_position(SEQUENCES + 1 + branch) == -1 for branch in range(BRANCHES))
