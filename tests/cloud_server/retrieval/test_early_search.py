"""The look-ahead for a service that cannot prefetch: one early search, while the text is written."""

from concurrent.futures import ThreadPoolExecutor
from queue import Queue
from threading import Event, current_thread

import pytest

from cloud_server.retrieval.corpus import MOST_PROVISIONAL, Ticket, Vector
from cloud_server.retrieval.early_search import EarlySearch
from models.fake import FakeEmbedder
from shared.errors import StoreError
from shared.protocol.messages import PublicPassage


def vector(text: str) -> Vector:
    embedded: Vector = FakeEmbedder().embed([text])[0]
    return embedded


def test_an_early_question_is_asked_while_the_text_is_written() -> None:
    asked: Queue[tuple[bytes, str]] = Queue()
    answered = Event()

    def search(near: Vector, most: int) -> list[PublicPassage]:
        asked.put((near.tobytes(), current_thread().name))
        assert answered.wait(30)
        return [PublicPassage(number, "", "", "", 1.0, 1.0) for number in range(most)]

    with ThreadPoolExecutor(1, thread_name_prefix="early") as threads:
        ticket: Ticket = EarlySearch(search, vector("a"), threads)
        ticket.refine(vector("b"))
        assert asked.get(timeout=30) == (vector("b").tobytes(), "early_0")  # before any passages are requested
        answered.set()
        assert [passage.id for passage in ticket.provisional(2)] == [0, 1]
        assert len(ticket.provisional(MOST_PROVISIONAL)) == MOST_PROVISIONAL
        assert asked.empty()
        assert len(ticket.search(vector("c"), 5)) == 5
        assert asked.get()[0] == vector("c").tobytes()
        ticket.close()


def test_without_a_text_the_early_question_is_the_question_itself_and_asked_once() -> None:
    asked: list[bytes] = []

    def search(near: Vector, most: int) -> list[PublicPassage]:
        asked.append(near.tobytes())
        return [PublicPassage(1, "", "", "", 1.0, 1.0)]

    with ThreadPoolExecutor(1) as threads:
        ticket: Ticket = EarlySearch(search, vector("a"), threads)
        assert asked == []
        assert ticket.provisional(3) == ticket.provisional(3) == search(vector("a"), 3)
    assert len(asked) == 2


def test_an_early_question_that_was_closed_finds_nothing_and_its_error_is_raised_once_requested() -> None:
    held = Event()

    def fails(near: Vector, most: int) -> list[PublicPassage]:
        raise StoreError("no")

    with ThreadPoolExecutor(1) as threads:
        threads.submit(held.wait, 30)
        waits: Ticket = EarlySearch(fails, vector("a"), threads)
        waits.refine(vector("b"))
        waits.close()
        assert waits.provisional(3) == []
        held.set()
        ticket: Ticket = EarlySearch(fails, vector("a"), threads)
        ticket.refine(vector("b"))
        with pytest.raises(StoreError):
            ticket.provisional(3)


def test_without_a_thread_nothing_is_searched_early_and_the_search_itself_goes_on() -> None:
    threads = ThreadPoolExecutor(1)
    threads.shutdown()
    passage = PublicPassage(1, "", "", "", 1.0, 1.0)
    ticket: Ticket = EarlySearch(lambda _near, _most: [passage], vector("a"), threads)
    ticket.refine(vector("b"))
    assert ticket.provisional(3) == []
    assert ticket.search(vector("c"), 3) == [passage]
    ticket.close()
