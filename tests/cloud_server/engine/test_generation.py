"""The generation thread, which serves many devices: calls take effect between two steps, and every request
gets an end.
"""

import queue
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from cloud_server.engine import generation
from cloud_server.engine.answer import Answer
from cloud_server.engine.batch import Batch
from cloud_server.engine.generation import Generation
from cloud_server.engine.jobs import Broken, Displaced, Done, Draft, EngineEvent, Job, Supplied, Token
from cloud_server.engine.prefix_cache import PrefixCache
from cloud_server.engine.queue import FairQueue
from cloud_server.engine.throughput import EngineLoad, Throughput
from models.fake import VOCABULARY, FakeEngine
from models.sampling import SamplingSettings
from shared.errors import EngineLost
from tests.companion import Cursed
from tests.writing import LINES, joint

FREE = 10_000
LONG = "It was a blue house with nineteen quiet windows, behind which two grey cats sat."


def job(line: str) -> Job:
    row = tuple(f"{line}\n".encode()), tuple(b"Question: q?\nassistant\n")
    return Job((row,), (0.0,), SamplingSettings(), 200)


class Heard:
    """Records the events that the generation delivers, in order, and the tokens charged to each owner."""

    def __init__(self) -> None:
        self.events: queue.Queue[EngineEvent] = queue.Queue()
        self.lost: list[BaseException] = []
        self.spent: Counter[str] = Counter()

    def __call__(self, events: Sequence[EngineEvent], spent: Mapping[str, int]) -> None:
        self.spent.update(spent)
        for event in events:
            self.events.put(event)

    def until_ended(self, *keys: int) -> dict[int, str]:
        said = dict.fromkeys(keys, "")
        left = set(keys)
        while left:
            event = self.events.get(timeout=60)
            if isinstance(event, Token):
                said[event.key] = said.get(event.key, "") + event.text
            else:
                left.discard(event.key)
        return said


@contextmanager
def serving(
    engine: FakeEngine | None = None, waiting: int = 100, *, start: bool = True
) -> Iterator[tuple[Generation, Heard]]:
    events_seen = Heard()
    batch = Batch(engine or FakeEngine(sequences=2), PrefixCache(0))
    generation = Generation(batch, FairQueue(waiting, waiting), events_seen, events_seen.lost.append)
    if start:
        generation.start()
    try:
        yield generation, events_seen
    finally:
        generation.stop()
        assert not generation.alive


def test_more_requests_than_sequences_are_all_served() -> None:
    with serving() as (generation, events_seen):
        for key in range(9):
            assert generation.ask("abc"[key % 3], key, job(f"Number {key}."), FREE)
        assert events_seen.until_ended(*range(9)) == {key: f"Number {key}." for key in range(9)}
        assert (generation.load.written, generation.load.joined) == (9 * len("Number 0."), 0)


def test_a_request_taken_back_leaves_the_queue_or_the_batch() -> None:
    with serving(start=False) as (generation, events_seen):
        for key in range(4):
            generation.ask("a", key, job(LONG), FREE)
        generation.cancel(0)
        generation.cancel(3)
        generation.cancel(77)
        generation.start()
        assert events_seen.until_ended(1, 2) == {1: LONG, 2: LONG}
        generation.ask("a", 5, job("Last."), FREE)
        assert events_seen.until_ended(5) == {5: "Last."}
    while not events_seen.events.empty():
        assert events_seen.events.get().key not in (0, 3)


def test_an_answer_waits_for_its_reader_while_others_go_on() -> None:
    with serving() as (generation, events_seen):
        generation.ask("a", 1, job(LONG), 3)
        generation.ask("b", 2, job(LONG), FREE)
        assert events_seen.until_ended(2) == {1: LONG[:3], 2: LONG}
        generation.allow(1, FREE)
        assert events_seen.until_ended(1) == {1: LONG[3:]}


def test_whoever_waits_gets_a_place_of_who_holds_most_and_no_answer_is_another_for_it() -> None:
    with serving() as (generation, events_seen):
        for key in range(6):
            generation.ask("many", key, job(LONG), FREE)
        said = dict.fromkeys(range(6), "")
        while not all(said[key] for key in range(2)):
            event = events_seen.events.get(timeout=60)
            said[event.key] += event.text if isinstance(event, Token) else ""
        generation.ask("one", 9, job("First of all."), FREE)
        rest = events_seen.until_ended(*range(6), 9)
        assert rest.pop(9) == "First of all."
        assert {key: said[key] + rest[key] for key in said} == dict.fromkeys(range(6), LONG)


def test_an_answer_gives_its_place_away_and_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two paused answers hold all places of the engine.

    A third answer takes one of these places; then both continue with the same text.
    """
    monkeypatch.setattr(generation, "RESTS_S", 0.1)
    with serving() as (server, events_seen):
        server.ask("rests", 1, job(LONG), 3)
        server.ask("rests", 2, job(LONG), 0)
        server.ask("rests", 3, job("Last of the same."), FREE)
        said = events_seen.until_ended(3)
        server.allow(1, FREE)
        server.allow(2, FREE)
        rest = events_seen.until_ended(1, 2)
        assert {key: said.get(key, "") + rest.get(key, "") for key in (1, 2)} == {1: LONG, 2: LONG}


def test_an_answer_that_a_device_writes_too_ends_where_its_place_is_taken() -> None:
    with serving(FakeEngine(sequences=4)) as (generation, events_seen):
        generation.ask("many", 1, joint(*LINES[:4]), 3)
        for _ in range(3):
            assert isinstance(events_seen.events.get(timeout=60), Draft)
        generation.ask("one", 2, job("Last."), FREE)
        assert events_seen.events.get(timeout=60) == Displaced(1)
        assert events_seen.until_ended(2) == {2: "Last."}


def test_every_token_that_is_computed_is_charged_whatever_becomes_of_it() -> None:
    asked = job(LONG)
    with serving() as (generation, events_seen):
        generation.ask("a", 1, asked, 3)
        for _ in range(3):
            events_seen.events.get(timeout=60)
        generation.cancel(1)
        generation.ask("b", 2, job("Last."), FREE)
        events_seen.until_ended(2)
    assert events_seen.spent == {"a": asked.prompt_tokens + 3, "b": job("Last.").prompt_tokens + len("Last.")}


def test_prompts_of_two_take_turns_however_long_one_is() -> None:
    with serving(start=False) as (generation, events_seen):
        generation.ask("long", 1, replace(job(LONG), accepted=tuple(b"x" * 3000), max_tokens=3010), FREE)
        promise = generation.ask("short", 2, job("First."), FREE)
        generation.start()
        assert events_seen.events.get(timeout=60).key == 2
        assert promise


def test_the_wait_that_is_told_counts_the_prompts_that_take_turns_with_it() -> None:
    before = EngineLoad({"long": 2000.0, "mine": 30.0}, rows=4).before("mine", 50.0)
    assert before == 30 + 80 + 4 * (80 + 80) / 16
    assert EngineLoad().before("mine", 50.0) == 0


def test_an_answer_of_many_rows_waits_for_as_many_sequences_and_frees_them_all() -> None:
    with serving(FakeEngine(sequences=4), start=False) as (generation, events_seen):
        generation.ask("a", 1, joint(*LINES[:2]), 3)
        generation.ask("b", 2, joint(*LINES[:3]), 3)
        generation.ask("c", 3, job("Last."), FREE)
        generation.start()
        assert {events_seen.events.get(timeout=60).key for _ in range(3 + len("Last.") + 1)} == {
            1,
            3,
        }  # 2 delays nobody
        generation.cancel(1)
        for _ in range(3):
            assert events_seen.events.get(timeout=60).key == 2
        generation.cancel(2)
        generation.ask("a", 4, joint(*LINES), 1)
        assert events_seen.events.get(timeout=60).key == 4
        assert events_seen.events.empty()


def test_what_is_said_of_an_answer_is_carried_out_in_order_once_it_is_written() -> None:
    asked = joint(*LINES[:2], drawn_by="greedy")
    with serving(start=False) as (generation, events_seen):
        generation.ask("a", 1, asked, 3)
        generation.supply(1, 0, 20)  # of a draft that is not made
        generation.correct(1, 0, b"ab", 4)
        generation.correct(1, 1, b"cd", 5)
        generation.start()
        drafts = [events_seen.events.get(timeout=60) for _ in range(2)]
        assert [(made.epoch, made.position) for made in drafts if isinstance(made, Draft)] == [(3, 3), (3, 4)]
        generation.supply(1, 4, 20)
        supplied = events_seen.events.get(timeout=60)
        assert isinstance(supplied, Supplied)
        assert (supplied.position, len(supplied.distribution.ids)) == (4, 20)
        generation.cancel(1)
        generation.supply(1, 4, 20)
        generation.ask("a", 2, job("Last."), FREE)
        assert events_seen.until_ended(2) == {2: "Last."}


def test_a_full_queue_takes_no_more() -> None:
    with serving(waiting=2, start=False) as (generation, _):
        assert generation.ask("a", 1, job("a."), FREE)
        assert generation.ask("a", 2, job("a."), FREE)
        assert generation.ask("a", 3, job("a."), FREE) is None


def test_the_wait_that_is_promised_grows_with_what_stands_before() -> None:
    with serving(start=False) as (generation, _):
        promises = [generation.ask("a", key, job(LONG), FREE) for key in range(4)]
    waits = [promise.wait_s for promise in promises if promise]
    assert waits[0] == 0 < waits[1] < waits[2] < waits[3]
    assert [promise.position for promise in promises if promise] == [0, 1, 2, 3]


def test_nobody_is_left_waiting_where_it_stops() -> None:
    with serving(start=False) as (generation, events_seen):
        generation.ask("a", 1, job(LONG), 0)
        generation.start()
        generation.stop()
        assert isinstance(events_seen.events.get(timeout=60), Broken)
        assert generation.ask("a", 2, job(LONG), FREE) is None


@pytest.mark.parametrize(("word", "error"), [(Cursed.DIES, EngineLost), (Cursed.ENDS, SystemExit)])
def test_nobody_is_left_waiting_where_the_engine_is_lost(word: bytes, error: type[BaseException]) -> None:
    with serving(Cursed()) as (generation, events_seen):
        generation.ask("a", 1, job(LONG), 1)
        generation.ask("a", 2, job(f"It is {word.decode()}."), FREE)
        ended = events_seen.until_ended(1, 2)
        assert ended[1] == LONG[:1]
        generation.stop()
        assert [type(generation) for generation in events_seen.lost] == [error]
        assert generation.ask("a", 3, job(LONG), FREE) is None


@pytest.mark.parametrize("beside", range(4))
def test_what_breaks_one_answer_in_a_batch_breaks_no_other(beside: int, caplog: pytest.LogCaptureFixture) -> None:
    secret = f"It is {Cursed.BREAKS.decode()}."
    with serving(Cursed()) as (generation, events_seen):
        for key in range(1, beside + 1):
            generation.ask("a", key, job(f"{LONG} {key}"), FREE)
        generation.ask("b", 9, job(secret), FREE)
        said = events_seen.until_ended(*range(1, beside + 1), 9)
        assert all(said[key] == f"{LONG} {key}" for key in range(1, beside + 1))
        assert len(said[9]) < len(secret)
        generation.ask("a", 10, job(LONG), FREE)
        assert events_seen.until_ended(10) == {10: LONG}
        assert not events_seen.lost
    places = [record.__dict__["detail"] for record in caplog.records]
    assert len(places) == 1
    assert "in decode" in places[0]
    assert not any(secret in str(vars(record)) for record in caplog.records)


@pytest.mark.parametrize("where", ["__init__", "prefill", "next_token", "draw", "read"])
def test_whatever_goes_wrong_with_an_answer_its_place_is_free_again(
    where: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    real: Callable[..., object] = getattr(Answer, where)

    def fails(self: Answer, *given: Any) -> object:
        asked = given[3] if where == "__init__" else self.job
        if b"fails" in bytes(asked.rows[0][0]):
            raise ZeroDivisionError
        return real(self, *given)

    monkeypatch.setattr(Answer, where, fails)
    with serving() as (generation, events_seen):
        for key in range(0, 12, 2):  # more than there are sequences
            generation.ask("a", key, job("It fails."), FREE)
            generation.ask("b", key + 1, job(LONG), FREE)
        said = events_seen.until_ended(*range(12))
        assert all(said[key] == LONG for key in range(1, 12, 2))
        assert not events_seen.lost
    assert len([record for record in caplog.records if record.getMessage() == "an answer failed with an error"]) == 6


def test_a_token_that_is_none_breaks_the_answer_that_was_to_go_on_with_it() -> None:
    with serving() as (generation, events_seen):
        generation.ask("a", 1, replace(job(LONG), accepted=(VOCABULARY,)), FREE)
        generation.ask("b", 2, job(LONG), FREE)
        assert events_seen.until_ended(1, 2) == {1: "", 2: LONG}


def test_the_pace_is_of_the_work_done_lately() -> None:
    pace = Throughput()
    for _ in range(1000):
        pace.did(10, 0.1)
    assert round(pace.done / pace.seconds) == 100
    for _ in range(1000):
        pace.did(1, 0.1)
    assert round(pace.done / pace.seconds) == 10
    for _ in range(500):
        pace.served(400, 20)
    assert (round(pace.answer), round(pace.request)) == (20, 120)
    assert round(pace.wait_s(120)) == 24
    for _ in range(500):
        pace.served(400, 20, rows=4)
    assert (round(pace.answer), round(pace.request)) == (20, 180)


def test_an_answer_written_together_counts_as_served_when_it_leaves() -> None:
    with serving() as (generation, events_seen):
        before = generation.pace.request
        generation.ask("a", 1, joint(LINES[0]), 1)
        events_seen.events.get(timeout=60)
        generation.cancel(1)
        generation.ask("a", 2, joint(LINES[0]), 1)
        events_seen.events.get(timeout=60)
        assert generation.pace.request < before


def test_an_ended_answer_says_so_once() -> None:
    with serving() as (generation, events_seen):
        generation.ask("a", 1, job("Yes."), FREE)
        events_seen.until_ended(1)
        generation.ask("a", 2, job("Yes."), FREE)
        events_seen.until_ended(2)
        generation.cancel(1)
        generation.allow(1, 5)
    ends = [event for event in events_seen.events.queue if isinstance(event, Done)]
    assert not ends
