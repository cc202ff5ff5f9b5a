"""The probable passages of a search are prefilled while it runs: an answer begins sooner if they are right, and is
unchanged if not.
"""

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from cloud_server.pipelines import provisional
from cloud_server.retrieval.corpus import Vector
from cloud_server.retrieval.early_search import EarlySearch
from models.fake import FakeEmbedder, FakeEngine
from shared.errors import StoreError
from shared.protocol import messages as m
from tests.companion import FACTS, FewPassages, Phone, Serve, Served
from tests.faults import until
from tests.scripted import Scripted

KENYA = "Which mountain of Africa is the second highest?"
MADE_UP = "Jackdaws pair for life and share food."


class SlowDisk:
    """A corpus whose searches wait until `opened` is set; until then it reports the passages `near` as probable."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, near: Sequence[int] | Callable[[], Sequence[int]]) -> None:
        self.opened = threading.Event()
        self.looks: list[str] = []
        search = FewPassages.search

        def slowly(corpus: FewPassages, vector: Vector, most: int) -> list[m.PublicPassage]:
            assert self.opened.wait(30)
            return search(corpus, vector, most)

        def known(_: object, *given: object) -> list[m.PublicPassage]:
            self.looks.append(threading.current_thread().name)
            most = given[-1]
            assert isinstance(most, int)
            return FewPassages().passages(near() if callable(near) else near)[:most]

        monkeypatch.setattr(FewPassages, "search", slowly)
        monkeypatch.setattr(FewPassages, "provisional", known)
        monkeypatch.setattr(EarlySearch, "provisional", known)
        monkeypatch.setattr(provisional, "LOOK_S", 0.01)


def asked(served: Served, name: str = "phone", **how: Any) -> tuple[Phone, int]:
    phone = Phone(served.url, served.token(name)).connects()
    return phone, phone.asks(KENYA, **how)


def answer(served: Served, phone: Phone, request: int) -> tuple[str, int]:
    """Return the answer's text, and how many tokens of its prompt were prefilled already."""
    ended = phone.until_ended(request)
    assert isinstance(ended, m.Finished), ended
    until(lambda: not served.server.generation.load.writing)
    return phone.text(request), ended.usage.cached


def prefilled(served: Served) -> int:
    """Return how many tokens are prefilled ahead, once nothing is left to prefill."""
    load, ahead = served.server.generation.load, served.server.generation._batch.provisional
    until(lambda: load.provisional and not any(prompts.left for prompts in list(ahead._beginnings.values())))
    until(lambda: load.provisional == ahead.computed)
    return ahead.computed


ALL = {"relevance": -1.0}


@pytest.fixture
def plainly(serve: Serve) -> str:
    """Return the answer of a server whose search is too fast for prefilling, for comparison."""
    served = serve(retrieval=ALL)
    text, cached = answer(served, *asked(served, passages=2))
    assert cached == 0
    return text


def test_right_passages_are_there_when_the_search_ends(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, plainly: str
) -> None:
    nearest = [passage.id for passage in FewPassages().search(FakeEmbedder().embed([KENYA])[0], 2)]
    disk, served = SlowDisk(monkeypatch, nearest), serve(retrieval=ALL)
    phone, request = asked(served, passages=2)
    computed = prefilled(served)
    disk.opened.set()
    assert answer(served, phone, request) == (plainly, computed)
    assert computed > sum(len(FACTS[place][1]) for place in nearest)
    assert served.server.generation.load.dropped == 0
    assert all(name.startswith("searcher") for name in disk.looks)


def test_it_is_so_for_a_pipeline_too(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    disk, served = SlowDisk(monkeypatch, [2]), serve(Scripted({"Write a short passage": MADE_UP}))
    phone, request = asked(served, pipeline="hyde")
    computed = prefilled(served)
    disk.opened.set()
    assert answer(served, phone, request) == (FACTS[2][1], computed)


def test_wrong_passages_change_nothing_and_are_dropped_and_counted(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, plainly: str
) -> None:
    disk, served = SlowDisk(monkeypatch, [2, 2, 2, 2]), serve(retrieval=ALL)
    phone, request = asked(served, passages=2)
    generation = served.server.generation
    assert prefilled(served) > 2 * len(FACTS[2][1])
    disk.opened.set()
    assert answer(served, phone, request)[0] == plainly
    until(lambda: generation.load.dropped > 0)
    head = generation.load.provisional - generation.load.dropped
    assert 0 < head < generation.load.provisional
    assert not generation._batch._prefixes._unused
    assert f"jackdaw_dropped_tokens_total {generation.load.dropped}.0" in served.server.metrics.text().decode()


def test_no_more_than_three_are_prefilled_and_once(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    disk, served = SlowDisk(monkeypatch, [0, 1, 2, 0, 1, 2]), serve()
    phone, request = asked(served, passages=6)
    texts = sum(len(text) for _, text in FACTS)
    assert texts < prefilled(served) < 2 * texts
    assert len(disk.looks) == 1
    disk.opened.set()
    answer(served, phone, request)


def test_too_little_known_is_asked_again(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[int] = []

    def near() -> list[int]:
        looks.append(0)
        if len(looks) == 1:
            return []
        return [1]

    disk, served = SlowDisk(monkeypatch, near), serve()
    phone, request = asked(served)
    prefilled(served)
    disk.opened.set()
    assert answer(served, phone, request)[1] > 0
    assert len(looks) == 2


@pytest.mark.parametrize("how", [{"generate": False}, {"sources": (1,)}, {"passages": 0}])
def test_nothing_is_prefilled_without_a_search_or_an_answer(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, how: dict[str, Any]
) -> None:
    disk, served = SlowDisk(monkeypatch, [1]), serve()
    asked(served, **how)
    time.sleep(0.1)
    disk.opened.set()
    assert disk.looks == []


def test_nothing_is_looked_at_while_the_search_is_fast_or_answers_are_written(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk, served = SlowDisk(monkeypatch, [1]), serve(Scripted({"birds": None}, seconds=0.005))
    disk.opened.set()
    writing, _ = asked(served)
    other = writing.asks("What of birds?")
    until(lambda: served.server.generation.load.written > 3)
    disk.opened.clear()
    disk.looks.clear()
    phone, request = asked(served, "other")
    time.sleep(0.1)
    assert disk.looks == []
    writing.says(m.Cancel(other))
    until(lambda: bool(disk.looks))
    disk.opened.set()
    answer(served, phone, request)


def test_a_disk_that_fails_meanwhile_fails_nothing(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[int] = []

    def near() -> list[int]:
        looks.append(0)
        raise StoreError("no")

    disk, served = SlowDisk(monkeypatch, near), serve()
    phone, request = asked(served)
    until(lambda: bool(looks))
    disk.opened.set()
    assert answer(served, phone, request) == (FACTS[1][1], 0)
    assert len(looks) == 1


def test_a_cancel_leaves_nothing_behind(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = FakeEngine(sequences=4)
    disk, served = SlowDisk(monkeypatch, [1, 0, 2]), serve(engine)
    phone, request = asked(served, passages=3)
    generation = served.server.generation
    until(lambda: generation.load.provisional > 50)
    phone.says(m.Cancel(request))
    phone.until_ended(request)
    until(lambda: generation.load.dropped == generation.load.provisional)
    disk.opened.set()
    cache = generation._batch._prefixes
    assert (len(cache), cache.bytes, len(cache._unused)) == (0, 0, 0)
    assert not any(engine.length(sequence) for sequence in range(4))
    assert not generation._batch.provisional._beginnings
    assert not served.server.sessions.busy
