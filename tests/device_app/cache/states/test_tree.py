"""The tree of cached KV states with the fake engine: it reuses the longest cached path, keeps its limit, and reuses no
wrong state.
"""

import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from device_app.cache.states.tree import Node, QKVTree
from models.engine import Engine
from models.fake import FakeEngine
from shared.errors import StoreFull
from shared.prompt import Segment
from storage.kv_slices import SliceRow

TEXTS = ["The heron. ", "The drill. ", "The cat. ", "The ferry. "]
ROOT = "Be short. "
KEY = FakeEngine().info.kv_key


class OtherEngine(FakeEngine):
    """A fake engine whose states have another key, as with other weights or another KV type."""

    def __init__(self) -> None:
        super().__init__()
        self._info = replace(self._info, kv_key="other")


@pytest.fixture
def engine() -> FakeEngine:
    return FakeEngine()


def path(engine: Engine, *texts: str, passages: Sequence[int] = ()) -> list[Node]:
    """Return a path of the tree: the root, then a node for each text; `passages` are the nodes' passage ids."""
    ids: list[int | None] = [None, *passages] if passages else [None] * (len(texts) + 1)
    return [
        Node((Segment(text, passage=passage),), engine.tokenize(text))
        for text, passage in zip((ROOT, *texts), ids, strict=True)
    ]


def compute(engine: Engine, nodes: Sequence[Node], row: int = 0) -> None:
    """Make the engine's row hold exactly the tokens of these nodes, by computing them."""
    engine.clear(row)
    engine.prefill(row, [token for node in nodes for token in node.tokens])


def segments(texts: Sequence[str]) -> list[tuple[Segment, ...]]:
    return [node.segments for node in path(FakeEngine(), *texts)]


def keep(tree: QKVTree, *texts: str, passages: Sequence[int] = ()) -> int:
    """Compute the states of a path and store them in the tree; return how many nodes are new."""
    engine = FakeEngine()
    nodes = path(engine, *texts, passages=passages)
    compute(engine, nodes)
    return tree.keep(engine, 0, nodes)


def reached(tree: QKVTree, *texts: str) -> int:
    """Return how many nodes of the path come from the tree, after checking that the logits equal those of a computed
    row.
    """
    engine, plain = FakeEngine(), FakeEngine()
    nodes = path(engine, *texts)
    held = tree.extend(engine, 0, nodes)
    rest = [token for node in nodes[held:] for token in node.tokens] + [1]
    compute(plain, nodes)
    assert np.array_equal(engine.prefill(0, rest), plain.prefill(0, [1]))
    return held


def test_what_was_read_alone_changes_no_order_where_it_is_left_out(tree: QKVTree) -> None:
    root, passages = (Segment(ROOT),), segments(TEXTS)[1:]
    keep(tree, TEXTS[3], TEXTS[1])
    before = tree.order(KEY, root, passages)
    assert before == [3, 1, 0, 2]
    keep(tree, TEXTS[2])
    for typed in ([], [0], [2], [0, 2]):
        aside = tree.without(KEY, root, [passages[place] for place in typed])
        assert aside.order(KEY, root, passages) == before
    keep(tree, TEXTS[0], TEXTS[1], TEXTS[2])
    assert tree.order(KEY, root, passages) == [0, 1, 2, 3]
    aside = tree.without(KEY, root, [passages[0]])
    assert aside.order(KEY, root, passages) == before
    nodes = path(FakeEngine(), TEXTS[0])
    assert [node for _, node in aside.missing(KEY, nodes)] == nodes[1:]
    assert tree.missing(KEY, nodes) == []


def row_of(tree: QKVTree, text: str) -> SliceRow:
    """Return the only row of the table whose node has as many tokens as the text."""
    (row,) = (row for row in tree.rows.all() if row.tokens == len(text))
    return row


def consistent(tree: QKVTree) -> None:
    """Check that each table row has its file and its parent, that each file has its row, and that the limit is kept."""
    rows = {row.name: row for row in tree.rows.all()}
    assert {name: row.bytes for name, row in rows.items()} == tree.blobs.sizes()
    assert all(row.parent is None or row.parent in rows for row in rows.values())
    assert tree.rows.bytes() <= tree.limit


def test_an_empty_tree_joins_nothing(tree: QKVTree) -> None:
    assert reached(tree, *TEXTS) == 0
    assert not tree.blobs.folder.exists()


def test_the_longest_kept_path_is_joined(tree: QKVTree) -> None:
    assert keep(tree, *TEXTS[:3]) == 4
    for count, expected in ((0, 1), (1, 2), (2, 3), (3, 4)):
        assert reached(tree, *TEXTS[:count]) == expected
    assert reached(tree, *TEXTS) == 4
    assert reached(tree, TEXTS[1]) == 1
    assert reached(tree, TEXTS[0], TEXTS[2], TEXTS[1]) == 2


def test_a_path_kept_twice_is_stored_once_and_its_uses_count(tree: QKVTree) -> None:
    assert (keep(tree, TEXTS[0]), keep(tree, TEXTS[0]), keep(tree, TEXTS[1])) == (2, 0, 1)
    assert [row.uses for row in tree.rows.all()] == [3, 2, 1]
    consistent(tree)


def test_a_row_that_holds_the_beginning_is_joined_from_there(tree: QKVTree, engine: FakeEngine) -> None:
    keep(tree, *TEXTS[:2])
    nodes = path(engine, *TEXTS[:3])
    compute(engine, nodes[:1], row=1)
    assert tree.extend(engine, 1, nodes, held=1) == 3
    assert engine.tokens(1) == tuple(token for node in nodes[:3] for token in node.tokens)


def test_the_border_between_segments_matters(tree: QKVTree) -> None:
    keep(tree, "ab", "c")
    assert reached(tree, "a", "bc") == 1
    assert reached(tree, "abc") == 1
    assert reached(tree, "ab", "c") == 3


def test_text_is_told_from_template(tree: QKVTree, engine: FakeEngine) -> None:
    keep(tree, "plain")
    root, plain = path(engine, "plain")
    assert tree.extend(engine, 0, [root, Node((Segment("plain", special=True),), plain.tokens)]) == 1
    assert tree.extend(engine, 1, [root, plain]) == 2


@pytest.mark.parametrize(
    ("kept", "asked", "order"),
    [
        ([], [0, 1, 2], [0, 1, 2]),
        ([[0, 1, 2]], [2, 1, 0], [2, 1, 0]),
        ([[0, 1, 2]], [2, 0, 1], [1, 2, 0]),
        ([[0, 1]], [1, 0], [1, 0]),
        ([[0], [1, 2]], [0, 2, 1], [2, 1, 0]),
        ([[3, 1]], [0, 1, 2, 3], [3, 1, 0, 2]),
        ([[0]], [3, 2, 1], [0, 1, 2]),
        ([[1, 2]], [2, 0], [0, 1]),
    ],
    ids=["nothing kept", "backwards", "turned", "pair", "the longer of two", "half of it", "no overlap", "not a root"],
)
def test_passages_come_in_the_order_of_the_longest_kept_path(
    tree: QKVTree, kept: list[list[int]], asked: list[int], order: list[int]
) -> None:
    for numbers in kept:
        keep(tree, *(TEXTS[number] for number in numbers))
    root, *passages = segments([TEXTS[number] for number in asked])
    assert tree.order(KEY, root, passages) == order


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(
    kept=st.lists(st.lists(st.sampled_from(TEXTS), unique=True, max_size=3), max_size=3),
    asked=st.lists(st.sampled_from(TEXTS), max_size=4),
)
def test_the_order_is_a_permutation_and_no_other_reaches_further(
    tree: QKVTree, kept: list[list[str]], asked: list[str]
) -> None:
    tree.clear()
    for texts in kept:
        keep(tree, *texts)
    root, *passages = segments(asked)
    order = tree.order(KEY, root, passages)
    assert sorted(order) == list(range(len(asked)))
    left = [asked[place] for place in order]
    longest = max((_common(texts, asked) for texts in kept), default=0)
    assert reached(tree, *left) == (longest + 1 if kept else 0)


def _common(kept: Sequence[str], asked: Sequence[str]) -> int:
    """Return how many passages at the beginning of the stored path also belong to the question's prompt."""
    left = list(asked)
    for count, text in enumerate(kept):
        if text not in left:
            return count
        left.remove(text)
    return len(kept)


def test_without_room_nothing_is_kept(make_tree: Callable[..., QKVTree]) -> None:
    assert keep(make_tree(limit=0), *TEXTS) == 0
    assert make_tree().rows.all() == []


def test_of_a_model_whose_states_cannot_be_cut_nothing_is_kept(
    tree: QKVTree, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "_info", replace(engine.info, sliceable=False))
    monkeypatch.setattr(engine, "slice", None)
    nodes = path(engine, *TEXTS)
    compute(engine, nodes)
    assert tree.keep(engine, 0, nodes) == 0
    assert tree.rows.all() == []


def test_the_limit_is_lowered_and_raised_on_the_living_tree(make_tree: Callable[..., QKVTree]) -> None:
    tree = make_tree()
    for text in TEXTS:
        keep(tree, text)
    keep(tree, TEXTS[2])
    whole = tree.rows.bytes()
    assert tree.trim() == 0
    lower = make_tree(limit=whole - 1)
    assert lower.trim() == 1
    assert lower.counters.all() == {"kv_evictions": 1}
    assert [reached(lower, text) for text in TEXTS] == [1, 2, 2, 2]
    lowest = make_tree(limit=row_of(lower, ROOT).bytes)
    assert lowest.trim() == 3
    assert [reached(lowest, text) for text in TEXTS] == [1, 1, 1, 1]
    assert make_tree(limit=0).trim() == 1
    for text in TEXTS:
        keep(make_tree(limit=whole), text)
    assert make_tree().rows.bytes() == whole


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(
    paths=st.lists(st.lists(st.sampled_from(TEXTS), max_size=4), min_size=1, max_size=6),
    limits=st.lists(st.integers(0, 3000), min_size=1, max_size=3),
    policy=st.sampled_from(["lfu", "lru", "cost"]),
)
def test_whatever_is_kept_the_limit_holds_and_parents_outlive_their_children(
    make_tree: Callable[..., QKVTree], paths: list[list[str]], limits: list[int], policy: str
) -> None:
    make_tree().clear()
    for number, texts in enumerate(paths):
        tree = make_tree(limit=limits[number % len(limits)], policy=policy)
        tree.trim()
        keep(tree, *texts)
        consistent(tree)
        reached(tree, *texts)


def test_a_slice_of_another_model_is_never_joined(tree: QKVTree) -> None:
    keep(tree, *TEXTS)
    other = OtherEngine()
    nodes = path(other, *TEXTS)
    assert tree.extend(other, 0, nodes) == 0
    assert tree.order("other", nodes[0].segments, [nodes[2].segments, nodes[1].segments]) == [0, 1]
    assert len(tree.missing("other", nodes)) == 5
    assert tree.counters.all() == {}
    # Nor where its file lies under the other's name.
    (name, _), *_ = tree.missing("other", nodes)
    root = row_of(tree, ROOT)
    shutil.copy(tree.blobs.folder / root.name, tree.blobs.folder / name)
    tree.rows.put(name, None, "other", None, root.tokens, root.bytes)
    assert tree.extend(other, 0, nodes) == 0
    assert tree.counters.all() == {"kv_damaged": 1}


def _truncate(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1])


def _empty(file: Path) -> None:
    file.write_bytes(b"")


def _flip(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[-3] ^= 4
    file.write_bytes(data)


def _replace_by_a_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


DAMAGE = pytest.mark.parametrize("damage", [Path.unlink, _truncate, _empty, _flip])


@DAMAGE
def test_a_damaged_file_is_dropped_counted_computed_and_kept_again(
    tree: QKVTree, damage: Callable[[Path], None]
) -> None:
    keep(tree, "one", "three", "fourth")
    damage(tree.blobs.folder / row_of(tree, "three").name)
    assert reached(tree, "one", "three", "fourth") == 2
    assert tree.counters.all() == {"kv_damaged": 1}
    assert len(tree.rows.all()) == 3
    assert len(tree.blobs.sizes()) == 3
    assert keep(tree, "one", "three", "fourth") == 1
    assert reached(tree, "one", "three", "fourth") == 4
    consistent(tree)


@DAMAGE
def test_what_hangs_from_a_damaged_slice_is_mended_away(tree: QKVTree, damage: Callable[[Path], None]) -> None:
    keep(tree, "one", "three", "fourth")
    damage(tree.blobs.folder / row_of(tree, "three").name)
    reached(tree, "one", "three", "fourth")
    assert tree.prune() == 1
    assert len(tree.rows.all()) == 2
    consistent(tree)


def test_a_file_that_cannot_be_deleted_stops_no_question(tree: QKVTree) -> None:
    keep(tree, "one")
    _replace_by_a_folder(tree.blobs.folder / row_of(tree, "one").name)
    assert reached(tree, "one") == 1
    assert tree.counters.all() == {"kv_damaged": 1}


def test_a_file_in_the_place_of_its_sibling_is_not_joined(tree: QKVTree) -> None:
    keep(tree, "one")
    keep(tree, "three")
    shutil.copy(tree.blobs.folder / row_of(tree, "one").name, tree.blobs.folder / row_of(tree, "three").name)
    assert reached(tree, "three") == 1
    assert tree.counters.all() == {"kv_damaged": 1}


def test_mending_drops_what_can_never_be_joined_again(tree: QKVTree) -> None:
    keep(tree, "one", "three", passages=[1, 2])  # passages that the store does not know
    keep(tree, "fourth")
    assert tree.prune() == 2
    assert {row.tokens for row in tree.rows.all()} == {len(ROOT), len("fourth")}
    assert tree.prune() == 0
    consistent(tree)


def test_mending_drops_what_belongs_to_another_model(tree: QKVTree) -> None:
    keep(tree, "one")
    other = OtherEngine()
    compute(other, path(other, "one"))
    tree.keep(other, 0, path(other, "one"))
    assert tree.prune() == 0
    assert tree.prune(KEY) == 2
    assert {row.kv_key for row in tree.rows.all()} == {KEY}
    consistent(tree)


def test_mending_drops_rows_without_a_file_with_all_behind_them(tree: QKVTree) -> None:
    keep(tree, "one", "three", "fourth")
    keep(tree, "second")
    (tree.blobs.folder / row_of(tree, "one").name).unlink()
    assert tree.prune() == 3
    assert reached(tree, "second") == 2
    consistent(tree)


def test_mending_drops_files_without_a_row_once_they_are_old(tree: QKVTree, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(tree, "one")
    for name in ("a" * 40, ".unfinished-x"):
        (tree.blobs.folder / name).write_bytes(b"half")
    assert tree.prune() == 0
    assert len(list(tree.blobs.folder.iterdir())) == 4
    later = time.time() + 7200
    monkeypatch.setattr(time, "time", lambda: later)
    assert tree.prune() == 0
    assert len(list(tree.blobs.folder.iterdir())) == 2
    consistent(tree)


def test_clearing_leaves_no_file(tree: QKVTree) -> None:
    keep(tree, *TEXTS)
    (tree.blobs.folder / ("a" * 40)).write_bytes(b"without a row")
    assert tree.clear() == 5
    assert list(tree.blobs.folder.iterdir()) == []
    assert tree.rows.all() == []


def test_what_is_lacking_is_named(tree: QKVTree, engine: FakeEngine) -> None:
    keep(tree, *TEXTS[:2])
    missing = tree.missing(KEY, path(engine, *TEXTS[:2], "new"))
    assert [node.segments[0].text for _, node in missing] == ["new"]


def test_a_full_disk_is_told_and_what_was_kept_before_is_whole(tree: QKVTree, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(tree, "one")

    def full(*_: object) -> int:
        raise StoreFull("The disk is full.")

    monkeypatch.setattr("storage.blobs.Blobs.write", full)
    with pytest.raises(StoreFull):
        keep(tree, "one", "three")
    monkeypatch.undo()
    assert reached(tree, "one", "three") == 2
    consistent(tree)
