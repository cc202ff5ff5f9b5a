"""The thread that serves many devices: what it is told takes effect between steps, and nobody is left waiting."""

import queue
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import pytest

from cloud_server.batching import Batch
from cloud_server.generation import Generation, Pace
from cloud_server.jobs import Broken, Done, Draft, Event, Job, Supplied, Token
from cloud_server.prefixes import Prefixes
from cloud_server.queueing import FairQueue
from models.engine import Logits
from models.fake import FakeEngine
from models.sampling import SamplingSettings
from tests.writing import LINES, joint

FREE = 10_000
LONG = "It was a blue house with nineteen quiet windows, behind which two grey cats sat."


def job(line: str) -> Job:
    row = tuple(f"{line}\n".encode()), tuple(b"Question: q?\nassistant\n")
    return Job((row,), (0.0,), SamplingSettings(), 200)


class Heard:
    """The events that were handed over, as they come."""

    def __init__(self) -> None:
        self.events: queue.Queue[Event] = queue.Queue()

    def __call__(self, events: Sequence[Event]) -> None:
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
    heard = Heard()
    one = Generation(Batch(engine or FakeEngine(sequences=2), Prefixes(0)), FairQueue(waiting, waiting), heard)
    if start:
        one.start()
    try:
        yield one, heard
    finally:
        one.stop()
        assert not one.alive


def test_more_requests_than_sequences_are_all_served() -> None:
    with serving() as (one, heard):
        for key in range(9):
            assert one.ask("abc"[key % 3], key, job(f"Number {key}."), FREE)
        assert heard.until_ended(*range(9)) == {key: f"Number {key}." for key in range(9)}
        assert (one.load.written, one.load.joined) == (9 * len("Number 0."), 0)


def test_a_request_taken_back_leaves_the_queue_or_the_batch() -> None:
    with serving(start=False) as (one, heard):
        for key in range(4):
            one.ask("a", key, job(LONG), FREE)
        one.cancel(0)
        one.cancel(3)
        one.cancel(77)
        one.start()
        assert heard.until_ended(1, 2) == {1: LONG, 2: LONG}
        one.ask("a", 5, job("Last."), FREE)
        assert heard.until_ended(5) == {5: "Last."}
    while not heard.events.empty():
        assert heard.events.get().key not in (0, 3)


def test_an_answer_waits_for_its_reader_while_others_go_on() -> None:
    with serving() as (one, heard):
        one.ask("a", 1, job(LONG), 3)
        one.ask("b", 2, job(LONG), FREE)
        assert heard.until_ended(2) == {1: LONG[:3], 2: LONG}
        one.allow(1, FREE)
        assert heard.until_ended(1) == {1: LONG[3:]}


def test_an_answer_of_many_rows_waits_for_as_many_sequences_and_frees_them_all() -> None:
    with serving(FakeEngine(sequences=4), start=False) as (one, heard):
        one.ask("a", 1, joint(*LINES[:2]), 3)
        one.ask("b", 2, joint(*LINES[:3]), 3)
        one.ask("c", 3, job("Last."), FREE)
        one.start()
        for _ in range(3):
            assert heard.events.get(timeout=60).key == 1
        one.cancel(1)
        assert {heard.events.get(timeout=60).key for _ in range(3 + len("Last.") + 1)} == {2, 3}
        one.cancel(2)
        one.ask("a", 4, joint(*LINES), 1)
        assert heard.events.get(timeout=60).key == 4
        assert heard.events.empty()


def test_what_is_said_of_an_answer_is_carried_out_in_order_once_it_is_written() -> None:
    asked = joint(*LINES[:2], drawn_by="greedy")
    with serving(start=False) as (one, heard):
        one.ask("a", 1, asked, 3)
        one.supply(1, 0, 20)  # of a draft that is not made
        one.correct(1, 0, b"ab", 4)
        one.correct(1, 1, b"cd", 5)
        one.start()
        drafts = [heard.events.get(timeout=60) for _ in range(2)]
        assert [(made.epoch, made.position) for made in drafts if isinstance(made, Draft)] == [(3, 3), (3, 4)]
        one.supply(1, 4, 20)
        supplied = heard.events.get(timeout=60)
        assert isinstance(supplied, Supplied)
        assert (supplied.position, len(supplied.distribution.ids)) == (4, 20)
        one.cancel(1)
        one.supply(1, 4, 20)
        one.ask("a", 2, job("Last."), FREE)
        assert heard.until_ended(2) == {2: "Last."}


def test_a_full_queue_takes_no_more() -> None:
    with serving(waiting=2, start=False) as (one, _):
        assert one.ask("a", 1, job("a."), FREE)
        assert one.ask("a", 2, job("a."), FREE)
        assert one.ask("a", 3, job("a."), FREE) is None


def test_the_wait_that_is_promised_grows_with_what_stands_before() -> None:
    with serving(start=False) as (one, _):
        promises = [one.ask("a", key, job(LONG), FREE) for key in range(4)]
    waits = [promise.wait_s for promise in promises if promise]
    assert waits[0] == 0 < waits[1] < waits[2] < waits[3]
    assert [promise.position for promise in promises if promise] == [0, 1, 2, 3]


def test_nobody_is_left_waiting_where_it_stops() -> None:
    with serving(start=False) as (one, heard):
        one.ask("a", 1, job(LONG), 0)
        one.start()
        one.stop()
        assert isinstance(heard.events.get(timeout=60), Broken)
        assert one.ask("a", 2, job(LONG), FREE) is None


def test_nobody_is_left_waiting_where_the_engine_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    class Lost(FakeEngine):
        def decode(self, tokens: Mapping[int, int]) -> dict[int, Logits]:
            raise MemoryError

    told: list[type[BaseException]] = []
    monkeypatch.setattr(threading, "excepthook", lambda args: told.append(args.exc_type))
    with serving(Lost()) as (one, heard):
        one.ask("a", 1, job(LONG), FREE)
        while not isinstance(heard.events.get(timeout=60), Broken):
            pass
        one.stop()
        assert told == [MemoryError]


def test_the_pace_is_of_the_work_done_lately() -> None:
    pace = Pace()
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
    with serving() as (one, heard):
        before = one.pace.request
        one.ask("a", 1, joint(LINES[0]), 1)
        heard.events.get(timeout=60)
        one.cancel(1)
        one.ask("a", 2, joint(LINES[0]), 1)
        heard.events.get(timeout=60)
        assert one.pace.request < before


def test_an_ended_answer_says_so_once() -> None:
    with serving() as (one, heard):
        one.ask("a", 1, job("Yes."), FREE)
        heard.until_ended(1)
        one.ask("a", 2, job("Yes."), FREE)
        heard.until_ended(2)
        one.cancel(1)
        one.allow(1, 5)
    ends = [event for event in heard.events.queue if isinstance(event, Done)]
    assert not ends
