"""The thread that drafts a joint answer on the device: it prefills the prompt, drafts up to its limit, and applies
corrections.
"""

import threading
from collections.abc import Mapping, Sequence
from queue import SimpleQueue
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_app.cache.states.tree import QKVTree
from device_app.companion.joint import drafting
from device_app.companion.joint.drafting import Broke, DraftEvent, Drafting, Errand, Own, _one_of
from device_app.inference.local import LocalSource
from models.engine import Logits
from models.fake import FakeEngine
from models.sampling import SamplingSettings
from shared.aggregation.distribution import Top
from shared.aggregation.messages import Drafted, RollBack, Rule
from shared.aggregation.terms import Terms
from shared.aggregation.weights import row_weights
from shared.errors import ContextFull, StoreError
from shared.prompt import CHATML, build
from shared.trace import Trace
from tests.jointly import DANUBE, DIARY, passage

PROMPT = build(DANUBE, [passage(DIARY)])
COLD = SamplingSettings()


class Drafter:
    """A drafting thread with its inbox of events."""

    def __init__(self, engine: FakeEngine | None = None, tree: Any = None, rule: Rule = "coupled") -> None:
        self.engine = engine or FakeEngine()
        self.ear: SimpleQueue[DraftEvent] = SimpleQueue()
        place = "device" if rule == "greedy" else "both"
        terms = Terms("device", rule, place, 0, self.engine.info.vocabulary, 60, frozenset({256}))  # type: ignore[arg-type]
        self.one = Drafting(
            LocalSource(self.engine, CHATML),
            Own(PROMPT, row_weights((1.0,))),
            terms,
            COLD,
            Trace(),
            cast(QKVTree | None, tree),
            self.ear.put,
        )

    def hears(self) -> DraftEvent:
        """Return the thread's next event, after running the calls that it asks for (`Errand`)."""
        while isinstance(said := self.ear.get(timeout=30), Errand):
            self.one.ran(said)
        return said

    def drafts(self, count: int) -> list[tuple[int, int, int]]:
        """Return the next drafts: epoch, position and token of each."""
        said = [self.hears() for _ in range(count)]
        return [(message.epoch, message.position, message.token) for message in said if isinstance(message, Drafted)]


def test_it_drafts_as_far_as_it_may_and_from_where_it_is_set_right() -> None:
    drafter = Drafter()
    drafter.one.allow(3, 0)
    assert drafter.drafts(3) == [(0, at, DIARY.encode()[at]) for at in range(3)]
    drafter.one.correct(RollBack(1, tuple(b"xy"), 3))
    drafter.one.allow(5, 0)
    assert drafter.drafts(2) == [(3, 3, DIARY.encode()[3]), (3, 4, DIARY.encode()[4])]
    assert drafter.one.ready
    assert drafter.one.latency.weight > 0
    drafter.one.close()
    assert drafter.ear.empty()


def test_what_was_settled_before_the_prompt_is_read_is_read_at_once_behind_it() -> None:
    class Late(FakeEngine):
        let = threading.Event()
        read: list[int]

        def prefill(self, sequence: int, tokens: Sequence[int]) -> Logits:
            assert self.let.wait(30)
            self.read = [*tokens]
            return super().prefill(sequence, tokens)

    engine = Late()
    drafter = Drafter(engine)
    for at in range(5):
        drafter.one.correct(RollBack(at, (120 + at,), at + 1))
    drafter.one.allow(7, 0)
    engine.let.set()
    assert [(epoch, at) for epoch, at, _ in drafter.drafts(2)] == [(5, 5), (5, 6)]
    assert engine.read == [120, 121, 122, 123, 124]
    drafter.one.close()


def test_a_draft_that_is_wrong_as_soon_as_it_is_heard_is_never_read(monkeypatch: pytest.MonkeyPatch) -> None:
    class Reader(FakeEngine):
        def __init__(self) -> None:
            super().__init__()
            self.read: list[int] = []

        def decode(self, tokens: Mapping[int, int]) -> dict[int, Logits]:
            self.read += tokens.values()
            return super().decode(tokens)

        def prefill(self, sequence: int, tokens: Sequence[int]) -> Logits:
            self.read += tokens
            return super().prefill(sequence, tokens)

    monkeypatch.setattr(drafting, "VERDICT_S", 30.0)
    engine = Reader()
    drafter = Drafter(engine)
    drafter.one.allow(2, 0)
    ((_, _, wrong),) = drafter.drafts(1)
    read = len(engine.read)
    drafter.one.correct(RollBack(0, (120,), 1))
    drafter.one.allow(2, 1)
    assert drafter.drafts(1)[0][:2] == (1, 1)
    assert wrong != 120
    assert engine.read[read:] == [120]
    drafter.one.close()


def test_greedily_it_says_all_that_it_knows() -> None:
    drafter = Drafter(rule="greedy")
    drafter.one.allow(1, 0)
    said = drafter.hears()
    assert isinstance(said, Drafted)
    assert isinstance(said.distribution, Top)
    assert said.distribution.whole
    drafter.one.close()


class Tree:
    """A fake tree of cached states that records the threads on which it is called."""

    def __init__(self, error: Exception | None = None) -> None:
        self.asked: list[threading.Thread] = []
        self._error = error

    def extend(self, engine: object, row: int, path: object, held: int) -> int:
        """Reuse nothing: return how many nodes the row already holds."""
        self.asked.append(threading.current_thread())
        if self._error:
            raise self._error
        return held

    def missing(self, kv_key: str, path: Sequence[object]) -> list[object]:
        """Report that no state is missing."""
        return []

    def not_computed(self, kv_key: str, path: Sequence[object], start: int) -> list[object]:
        """Report that no state was computed before."""
        return list(path[start:])


def test_the_tree_is_asked_on_the_thread_that_it_belongs_to() -> None:
    tree = Tree()
    drafter = Drafter(tree=tree)
    drafter.one.allow(1, 0)
    assert len(drafter.drafts(1)) == 1
    assert tree.asked == [threading.current_thread()]
    drafter.one.close()


def test_what_goes_wrong_there_or_in_the_engine_is_told() -> None:
    drafter = Drafter(tree=Tree(StoreError("gone")))
    said = drafter.hears()
    assert isinstance(said, Broke)
    assert str(said.error) == "gone"
    drafter.one.close()
    drafter = Drafter(FakeEngine(context=20))
    said = drafter.hears()
    assert isinstance(said, Broke)
    assert isinstance(said.error, ContextFull)
    drafter.one.close()


def test_who_leaves_while_it_waits_for_the_tree_is_not_kept() -> None:
    tree = Tree()
    drafter = Drafter(tree=tree)
    assert isinstance(drafter.ear.get(timeout=30), Errand)
    drafter.one.close()
    assert tree.asked == []


some = st.lists(st.integers(0, 9), min_size=1, max_size=4)
corrections = st.lists(st.tuples(st.integers(0, 9), some), min_size=2, max_size=5)


@given(st.lists(st.integers(0, 9), min_size=9, max_size=9), corrections)
def test_several_corrections_as_one_leave_the_same(drawn: list[int], steps: list[tuple[int, list[int]]]) -> None:
    one_by_one, merged = [*drawn], None
    for upto, tokens in steps:
        keep = min(upto, len(one_by_one))
        one_by_one[keep:] = tokens
        correction = RollBack(keep, tuple(tokens), len(one_by_one))
        merged = _one_of(merged, correction) if merged else correction
    assert merged
    assert [*drawn[: merged.keep], *merged.tokens] == one_by_one
    assert merged.epoch == len(one_by_one)


def test_behind_the_end_it_drafts_nothing() -> None:
    drafter = Drafter()
    drafter.one.allow(60, 0)
    most = min(len(DIARY.encode()) + 1, 60)
    assert len(drafter.drafts(most)) == most
    drafter.one.close()
    assert drafter.ear.empty()
