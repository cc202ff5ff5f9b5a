"""Blended KV states (CacheBlend): which states are moved and counted, and that no inexact state is stored."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from device_app.cache.states.tree import QKVTree
from device_app.inference.local import LocalSource
from models.engine import Logits
from models.fake import FakeEngine
from models.sampling import SamplingSettings
from scripts.benchmarks.blending import BlendingSource
from shared.prompt import CHATML, Prompt, build
from shared.trace import Trace
from shared.types import StoredPassage
from storage.blobs import Blobs
from storage.counters import Counters
from storage.database import Database
from storage.kv_slices import KVSlices

PASSAGES = [
    StoredPassage(number, text, 0, None, None, number, f"Note {number}", "note", None, (), "/note")
    for number, text in enumerate(["The heron stands by the river.", "Petra has the drill.", "The cat.", "A ferry."])
]
SHARE = 0.2


@pytest.fixture
def tree(tmp_path: Path) -> Iterator[QKVTree]:
    database = Database(tmp_path / "jackdaw.db")
    yield QKVTree(KVSlices(database), Blobs(tmp_path / "kv"), Counters(database), 1 << 30, "lru")
    database.close()


sets_of_passages = st.lists(st.sampled_from(PASSAGES), min_size=1, max_size=4, unique_by=lambda passage: passage.id)


EXACT = LocalSource(FakeEngine(), CHATML)


def source(recomputed: float = SHARE) -> BlendingSource:
    return BlendingSource(FakeEngine(), CHATML, recomputed=recomputed)


def prompt(*places: int) -> Prompt:
    return build("Which?", [PASSAGES[place] for place in places], CHATML).joined()


def first_logits(source: LocalSource, asked: Prompt, tree: QKVTree | None) -> tuple[list[Logits], Trace]:
    """Return every row's logits after the prompt, and the trace of the prefill."""
    trace = Trace()
    return source.prefilled(asked, trace, tree), trace


def uncached(asked: Prompt) -> list[Logits]:
    return first_logits(EXACT, asked, None)[0]


def exactly(tree: QKVTree, asked: Prompt) -> bool:
    """Return whether an exact use of the tree's states gives the same logits as a run without the tree."""
    return all(map(np.array_equal, first_logits(EXACT, asked, tree)[0], uncached(asked)))


def read_ahead(tree: QKVTree, *paths: Sequence[int]) -> None:
    for places in paths:
        source().prefill(prompt(*places), tree)


def counts(trace: Trace) -> tuple[int, int, int]:
    return trace.segments_cached, trace.segments_moved, trace.tokens_recomputed


@pytest.mark.parametrize(
    ("kept", "asked", "cached", "moved"),
    [
        ([], (0, 1), 0, 0),
        ([(0,)], (0, 1), 2, 0),
        ([(0,), (1,)], (0, 1), 2, 1),
        ([(0,), (1,), (2,)], (0, 1, 2), 2, 2),
        ([(1,), (2,)], (0, 1, 2), 1, 2),
        ([(0, 1)], (0, 1), 3, 0),
        ([(1, 0)], (0, 1), 1, 2),
        ([(0, 1), (2, 3)], (0, 1, 2, 3), 3, 2),
        ([(2, 0)], (0, 1), 1, 0),
        ([(2, 1)], (0, 1), 1, 0),
    ],
    ids=[
        *("nothing kept", "only the first", "one elsewhere", "two elsewhere", "none in its place", "all in its place"),
        *("the other way round", "two paths", "read another passage before it", "or only that one's"),
    ],
)
def test_what_is_kept_elsewhere_is_moved(
    tree: QKVTree, kept: list[tuple[int, ...]], asked: tuple[int, ...], cached: int, moved: int
) -> None:
    read_ahead(tree, *kept)
    blending = source()
    logits, trace = first_logits(blending, prompt(*asked), tree)
    assert (trace.segments_cached, trace.segments_moved) == (cached, moved)
    assert trace.tokens_cached + trace.tokens_moved + trace.tokens_prefilled == blending.count(prompt(*asked))
    assert (trace.tokens_recomputed > 0) == (moved > 0)
    assert np.array_equal(logits[0], uncached(prompt(*asked))[0]) == (moved == 0)
    assert first_logits(EXACT, prompt(*asked), tree)[1].segments_moved == 0


def test_the_share_of_a_moved_passage_is_computed_again(tree: QKVTree) -> None:
    read_ahead(tree, (0,), (1,))
    length = len(EXACT.paths(prompt(1))[0][1].tokens)
    for share, again in ((0.0, 0), (0.1, 3), (0.5, 14)):
        trace = first_logits(source(recomputed=share), prompt(0, 1), tree)[1]
        assert (trace.tokens_recomputed, trace.tokens_moved) == (again, length - again)


def test_computed_again_as_a_whole_it_is_exact(tree: QKVTree) -> None:
    read_ahead(tree, (0,), (1,))
    logits, trace = first_logits(source(recomputed=1.0), prompt(0, 1), tree)
    assert trace.segments_moved == 0
    assert np.array_equal(logits[0], uncached(prompt(0, 1))[0])


def test_where_the_context_has_no_room_to_move_a_passage_it_is_computed(tree: QKVTree) -> None:
    long = [replace(passage, text=passage.text * 20) for passage in PASSAGES[:2]]
    for passage in long:
        source().prefill(build("", [passage], CHATML), tree)
    asked = build("Which?", long, CHATML).joined()
    for context, moved in ((source().count(asked), 0), (2 * source().count(asked), 1)):
        blending = BlendingSource(FakeEngine(context=context), CHATML, recomputed=SHARE)
        assert first_logits(blending, asked, tree)[1].segments_moved == moved


def test_what_serves_elsewhere_counts_as_used(tree: QKVTree) -> None:
    read_ahead(tree, (0,), (1,))
    before = {row.passage_id: row.uses for row in tree.rows.all()}
    first_logits(source(), prompt(0, 1), tree)
    assert {row.passage_id: row.uses for row in tree.rows.all()} == {**before, 1: before[1] + 1}


def test_a_damaged_one_is_dropped_counted_and_computed(tree: QKVTree) -> None:
    read_ahead(tree, (0,), (1,))
    (row,) = (row for row in tree.rows.all() if row.passage_id == 1)
    file = tree.blobs.folder / row.name
    file.write_bytes(file.read_bytes()[:-1])
    logits, trace = first_logits(source(), prompt(0, 1), tree)
    assert counts(trace) == (2, 0, 0)
    assert trace.tokens_cached + trace.tokens_prefilled == source().count(prompt(0, 1))
    assert np.array_equal(logits[0], uncached(prompt(0, 1))[0])
    assert tree.counters.all()["kv_damaged"] == 1


def test_of_a_model_whose_states_cannot_be_moved_none_is(tree: QKVTree, monkeypatch: pytest.MonkeyPatch) -> None:
    read_ahead(tree, (0,), (1,))
    blending = source()
    monkeypatch.setattr(blending.engine, "_info", replace(blending.engine.info, movable=False))
    monkeypatch.setattr(blending.engine, "join_moved", None)
    assert counts(first_logits(blending, prompt(0, 1), tree)[1]) == (2, 0, 0)


def test_rows_are_exact_and_what_is_made_ahead_is(tree: QKVTree) -> None:
    read_ahead(tree, (0,), (1,))
    rows = build("Which?", PASSAGES[:3], CHATML)
    logits, trace = first_logits(source(), rows, tree)
    assert trace.segments_moved == 0
    assert all(map(np.array_equal, logits, uncached(rows)))
    assert source().prefill(prompt(0, 1), tree).segments_moved == 0
    assert exactly(tree, prompt(0, 1))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(asked=st.lists(st.tuples(sets_of_passages, st.sampled_from(["exact", "blended", "ahead"])), max_size=6))
def test_whatever_was_blended_before_nothing_inexact_is_kept(
    tree: QKVTree, asked: list[tuple[list[StoredPassage], str]]
) -> None:
    tree.clear()
    for passages, how in asked:
        whole = build("Which?", passages, CHATML)
        if how == "ahead":
            for passage in passages:
                source().prefill(build("", [passage], CHATML), tree)
        else:
            arm = EXACT if how == "exact" else source()
            _, trace = first_logits(arm, whole.joined(), tree)
            assert trace.tokens_cached + trace.tokens_moved + trace.tokens_prefilled == arm.count(whole.joined())
            arm.keep(whole.joined(), tree)
        assert exactly(tree, whole.joined())
        assert exactly(tree, whole.ordered(range(len(passages))[::-1]).joined())
        assert exactly(tree, whole) or len(passages) > FakeEngine().info.sequences
    assert tree.counters.all().get("kv_damaged", 0) == 0


def test_an_answer_goes_on_behind_moved_states_and_says_so(tree: QKVTree) -> None:
    read_ahead(tree, (0,), (1,))
    trace = Trace()
    pieces = source().stream(prompt(0, 1), SamplingSettings(), max_tokens=50, trace=trace, tree=tree)
    assert "".join(piece.text for piece in pieces) == "Petra has the drill."
    assert (trace.segments_cached, trace.segments_moved) == (2, 1)
