"""Prefilling for questions that are not yet asked: only while the engine is idle, used if it was right,
dropped if not.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloud_server.engine.batch import Batch
from cloud_server.engine.jobs import Done, EngineEvent, Token
from cloud_server.engine.prefix_cache import PrefixCache
from models.fake import FakeEngine
from shared.errors import EngineLost
from tests.writing import FREE, job

PARTS = ("Head.\n", "One passage.\n", "Two passages.\n")
ROWS = job(*PARTS).rows
WHOLE = len("".join(PARTS))


class Kept:
    """A batch with the engine and the prefix cache that it uses."""

    def __init__(self, engine: FakeEngine | None = None, kept: int = 100_000) -> None:
        self.engine, self.cache = engine or FakeEngine(sequences=2), PrefixCache(kept)
        self.batch = Batch(self.engine, self.cache, 32)

    def rest(self) -> list[EngineEvent]:
        events: list[EngineEvent] = []
        while not self.batch.idle:
            events += self.batch.step()
        return events

    def answer(self, *parts: str) -> tuple[str, Done]:
        self.batch.join(1, job(*parts), FREE)
        *tokens, done = self.rest()
        assert isinstance(done, Done)
        return "".join(token.text for token in tokens if isinstance(token, Token)), done

    def is_empty(self) -> bool:
        lengths = [self.engine.length(sequence) for sequence in range(self.engine.info.sequences)]
        return (len(self.cache), self.cache.bytes, *lengths) == (0,) * (2 + len(lengths))


def test_the_right_passages_are_joined_and_the_answer_is_the_same() -> None:
    text, done = Kept().answer(*PARTS)
    assert done.joined == 0
    ready = Kept()
    ready.batch.provisional.begin(7, "anna", ROWS)
    ready.rest()
    assert ready.batch.take_spent() == {"anna": WHOLE}
    ready.batch.provisional.end(7)
    again = ready.answer(*PARTS)
    assert (again[0], again[1].joined) == (text, WHOLE)
    ready.batch.provisional.release(7)
    assert (ready.batch.provisional.computed, ready.batch.provisional.dropped) == (WHOLE, 0)
    assert len(ready.cache) == len(PARTS)


def test_of_wrong_passages_only_what_is_shared_stays() -> None:
    text, _ = Kept().answer("Head.\n", "Another.\n")
    wrong = Kept()
    wrong.batch.provisional.begin(7, "anna", ROWS)
    wrong.rest()
    said, done = wrong.answer("Head.\n", "Another.\n")
    assert (said, done.joined) == (text, len("Head.\n"))
    wrong.batch.provisional.release(7)
    assert wrong.batch.provisional.dropped == WHOLE - len("Head.\n")
    assert len(wrong.cache) == 2


def test_an_answer_goes_first() -> None:
    kept = Kept()
    kept.batch.provisional.begin(7, "anna", ROWS)
    kept.batch.step()  # a piece
    kept.batch.join(1, job("Other.\n"), FREE)
    computed = kept.batch.provisional.computed
    while len(kept.batch):
        kept.batch.step()
        assert kept.batch.provisional.computed == computed
    assert not kept.batch.idle
    kept.rest()
    assert kept.answer(*PARTS)[1].joined == WHOLE


def test_all_sequences_may_be_taken_in_the_middle() -> None:
    kept = Kept()
    kept.batch.provisional.begin(7, "anna", ROWS)
    for _ in range(3):
        kept.batch.step()
    for key in (1, 2):
        kept.batch.join(key, job("Other.\n"), 2)  # they rest soon, and keep their places
    kept.rest()
    assert len(kept.batch) == 2
    for key in (1, 2):
        kept.batch.leave(key)
    kept.rest()
    assert kept.answer(*PARTS)[1].joined == WHOLE


@pytest.mark.parametrize("steps", range(6))
def test_whenever_it_is_dropped_nothing_stays(steps: int) -> None:
    kept = Kept()
    kept.batch.provisional.begin(7, "anna", ROWS)
    for _ in range(steps):
        kept.batch.step()
    kept.batch.provisional.release(7)
    assert kept.batch.idle
    assert kept.is_empty()
    assert kept.batch.provisional.dropped == kept.batch.provisional.computed


@pytest.mark.parametrize("kept", [Kept(kept=0), Kept(FakeEngine(context=20))])
def test_without_a_cache_or_room_nothing_is_computed(kept: Kept) -> None:
    kept.batch.provisional.begin(7, "anna", ROWS)
    assert kept.batch.idle
    assert kept.batch.step() == []
    assert kept.batch.take_spent() == {}


@pytest.mark.parametrize("owner", ["anna", "bert"])
def test_a_prompt_that_has_no_room_now_or_ever_keeps_no_other_waiting(owner: str) -> None:
    kept = Kept(FakeEngine(sequences=2, context=400))
    kept.batch.join(1, job("Other.\n", max_tokens=150), 2)
    kept.rest()  # the answer rests, and keeps its cells
    room = kept.batch.room().cells
    kept.batch.provisional.begin(6, "anna", (*job("x" * 500).rows, *job("Head.\n" * 50).rows))
    kept.batch.provisional.begin(7, owner, ROWS)
    assert WHOLE <= room < len("Head.\n" * 50) <= kept.engine.info.prompt_room
    kept.rest()
    assert kept.batch.take_spent()[owner] >= WHOLE
    kept.batch.leave(1)
    kept.rest()
    assert kept.batch.provisional.computed == WHOLE + len("Head.\n" * 50)


def test_owners_take_turns_prompt_by_prompt() -> None:
    kept = Kept()
    provisional, order = kept.batch.provisional, list[str]()
    for key in range(3):
        provisional.begin(key, "anna", [row for line in LINES for row in job(f"{key}\n" * 40, line).rows])
    provisional.begin(3, "bert", job("Head.\n" * 40).rows)
    while not kept.batch.idle:
        kept.batch.step()
        order += kept.batch.take_spent()
    assert "bert" in order[: len(order) // 3]


def test_a_failure_ends_it_alone() -> None:
    class Failing(FakeEngine):
        fails = True

        def prefill(self, sequence, tokens):  # type: ignore[no-untyped-def]
            if self.fails:
                raise RuntimeError("no memory")
            return super().prefill(sequence, tokens)

    engine = Failing()
    kept = Kept(engine)
    kept.batch.provisional.begin(7, "anna", ROWS)
    kept.rest()
    engine.fails = False
    assert kept.answer("Blue.\n")[0] == "Blue."


def test_a_sequence_that_cannot_be_emptied_ends_all() -> None:
    class Stuck(FakeEngine):
        def clear(self, sequence: int) -> None:
            raise RuntimeError("no")

    kept = Kept(Stuck())
    kept.batch.provisional.begin(7, "anna", ROWS)
    kept.batch.step()
    with pytest.raises(EngineLost):
        kept.batch.join(1, job("Blue.\n"), FREE)


LINES = ["Blue.\n", "Green.\n", "Red.\n"]


@given(
    st.lists(
        st.tuples(st.sampled_from(["begin", "end", "release", "join", "step"]), st.integers(0, 2), st.integers(0, 2)),
        max_size=60,
    ),
    st.sampled_from([0, 400, 100_000]),
)
def test_whatever_is_prefilled_answers_are_the_same_and_nothing_stays(
    calls: list[tuple[str, int, int]], most: int
) -> None:
    kept = Kept(kept=most)
    provisional, events, asked = kept.batch.provisional, list[EngineEvent](), dict[int, str]()
    for what, number, other in calls:
        prompt = job("Head.\n", LINES[number], LINES[other])
        if what == "begin":
            provisional.release(number)
            provisional.begin(number, ("anna", "bert")[other % 2], prompt.rows)
        elif what == "join" and kept.batch.room().takes(prompt):
            key = len(asked)
            asked[key] = LINES[other].strip()
            kept.batch.join(key, prompt, FREE)
        elif what == "step":
            events += kept.batch.step()
        elif what in {"end", "release"}:
            getattr(provisional, what)(number)
    for number in range(3):
        provisional.release(number)
    events += kept.rest()
    said = dict.fromkeys(asked, "")
    for event in events:
        if isinstance(event, Token):
            said[event.key] += event.text
    assert said == asked
    assert not kept.cache._unused
    assert kept.batch.room() == kept.batch.whole
    assert not any(kept.engine.length(sequence) for sequence in range(2))
    assert 0 <= provisional.dropped <= provisional.computed
