"""Pipelines over real sockets: rounds of retrieval reach the device, their tokens are charged, and nothing stays in
memory.
"""

import threading
import time

import pytest

from cloud_server.pipelines.rewriting import HYDE_TOKENS
from cloud_server.retrieval.corpus import Vector
from cloud_server.retrieval.early_search import EarlySearch
from shared.protocol import messages as m
from tests.companion import FACTS, FewPassages, Phone, Serve, Served
from tests.faults import until
from tests.scripted import Scripted

KENYA = "Which mountain of Africa is the second highest?"
MADE_UP = "Jackdaws pair for life and share food."
WRITES = {"hyde": "Write a short passage", "subquestion": "Split the question", "iterative": "Write one short question"}


def connected(served: Served, name: str = "phone") -> Phone:
    return Phone(served.url, served.token(name)).connects()


def rounds(phone: Phone, request: int) -> list[m.Round]:
    return [event for event in phone.inbox if isinstance(event, m.Round) and event.request == request]


def sources(phone: Phone, request: int) -> list[str]:
    [cited] = [event for event in phone.inbox if isinstance(event, m.Sources) and event.request == request]
    return [passage.title for passage in cited.passages]


def finished(phone: Phone, request: int) -> m.Finished:
    ended = phone.until_ended(request)
    assert isinstance(ended, m.Finished), ended
    return ended


def idle(served: Served) -> bool:
    """Return whether no answer is queued or generated, and no session has events to send."""
    load, session = served.server.generation.load, served.server.sessions
    return (load.writing, load.waiting, session.busy) == (0, 0, False)


def test_hyde_looks_up_what_it_made_up_and_the_device_sees_the_round(serve: Serve) -> None:
    phone = connected(serve(Scripted({WRITES["hyde"]: MADE_UP})))
    assert phone.session.offer
    assert set(phone.session.offer.pipelines) >= {"plain", *WRITES, "flare", "iter_retgen", "self_rag"}
    request = phone.asks(KENYA, pipeline="hyde")
    ended = finished(phone, request)
    [said] = rounds(phone, request)
    assert (said.number, said.pipeline, said.queries) == (1, "hyde", (MADE_UP,))
    assert [passage.title for passage in said.passages] == sources(phone, request) == ["Birds"]
    assert phone.text(request) == FACTS[2][1]
    assert ended.usage.generated == len(MADE_UP) + len(FACTS[2][1])


def test_flare_says_its_sentences_as_they_stand_and_looks_up_between_them(serve: Serve) -> None:
    answer = "It is in Africa. They say Jackdaws pair for lif#. It ends."
    phone = connected(serve(Scripted({KENYA: answer}, unsure="#"), retrieval={"anchored": False}))
    request = phone.asks(KENYA, pipeline="flare", passages=1)
    assert finished(phone, request).reason == "end"
    assert phone.text(request) == answer
    kinds = [type(event).__name__ for event in phone.inbox if getattr(event, "request", 0) == request]
    assert kinds.index("Sources") < kinds.index("Tokens")
    assert kinds.index("Tokens") < len(kinds) - 1 - kinds[::-1].index("Round")
    assert [said.queries for said in rounds(phone, request)] == [(KENYA,), ("They say Jackdaws pair for lif.",)]
    assert (sources(phone, request), rounds(phone, request)[1].passages[0].title) == (["Mountains"], "Birds")


@pytest.mark.parametrize("credit", [1, 20])
def test_what_flare_says_waits_for_credit(serve: Serve, credit: int) -> None:
    answer = "It is in Africa. It is high."
    phone = connected(serve(Scripted({KENYA: answer})))
    request = phone.asks(KENYA, pipeline="flare", credit=credit)
    while len(phone.text(request)) < credit:
        phone.reads()
    assert phone.text(request) == answer[:credit]
    phone.says(m.Credit(request, 200))
    assert finished(phone, request).usage.generated == len(answer) + 1  # the space that ended a sentence, twice
    assert phone.text(request) == answer


@pytest.mark.parametrize("pipeline", ["flare", "iter_retgen", "iterative", "self_rag", "subquestion", "hyde"])
@pytest.mark.parametrize("reply", ["", None, "\n".join(f"What of {number}?" for number in range(200))])
def test_whatever_a_model_writes_a_pipeline_ends_with_passages(serve: Serve, pipeline: str, reply: str | None) -> None:
    served = serve(Scripted({"assistant": reply, "Question": reply}), limits={"tokens_per_minute": 1e6})
    phone = connected(served)
    request = phone.asks(KENYA, pipeline=pipeline, max_tokens=20, generate=False)
    while not any(isinstance(event, m.Sources) for event in phone.inbox):
        phone.reads()
    if not reply:
        assert sources(phone, request) == ["Mountains"]
    assert len(rounds(phone, request)) <= 7
    until(lambda: served.server.generation.load.writing == 0)


def test_what_a_pipeline_writes_and_looks_up_is_charged_to_the_token(serve: Serve) -> None:
    questions = "Which bird?\nWhich river?\nWhich hill?"
    served = serve(Scripted({WRITES["subquestion"]: questions}))
    used = {}
    for pipeline in ("plain", "subquestion"):
        phone = connected(served, pipeline)
        finished(phone, phone.asks(KENYA, pipeline=pipeline))
        quota = served.server.sessions.quota(pipeline)
        used[pipeline] = (quota.searches_used, quota.tokens_used)
    assert used["plain"][0] == 1
    assert used["subquestion"][0] == 3
    assert used["subquestion"][1] > len(questions) + 50


def test_what_many_pipelines_write_for_a_device_delays_another_by_its_turn_alone(serve: Serve) -> None:
    endless = Scripted({WRITES["hyde"]: None}, seconds=0.005, sequences=1)
    served = serve(endless, limits={"tokens_per_minute": 1e6})
    busy, other = connected(served, "busy"), connected(served, "other")
    for _ in range(8):
        busy.asks(KENYA, pipeline="hyde", max_tokens=20)
    load = served.server.generation.load
    until(lambda: load.waiting == 7)
    finished(other, other.asks(KENYA, max_tokens=20))
    assert load.written < 5 * HYDE_TOKENS  # eight times as much, where the first to come were served first
    assert load.waiting > 2


@pytest.mark.parametrize(
    ("written", "per_minute", "counted"), [("", 60.0, 1), ("zzz yyy", 60.0, 2), ("zzz yyy", 1.0, 1)]
)
def test_the_search_that_a_pipeline_falls_back_to_is_counted_where_it_is_another(
    serve: Serve, written: str, per_minute: float, counted: int
) -> None:
    served = serve(
        Scripted({WRITES["hyde"]: written}),
        limits={"searches_per_minute": per_minute},
        retrieval={"anchored": False, "relevance": 0.3},
    )
    phone = connected(served)
    request = phone.asks(KENYA, pipeline="hyde")
    finished(phone, request)
    assert sources(phone, request) == ["Mountains"]
    assert served.server.sessions.quota("phone").searches_used == counted


def test_searches_that_are_used_up_leave_the_question_s_own_passages(serve: Serve) -> None:
    served = serve(Scripted({WRITES["subquestion"]: "Which bird?\nWhich river?"}), limits={"searches_per_minute": 1.0})
    phone = connected(served)
    request = phone.asks(KENYA, pipeline="subquestion")
    finished(phone, request)
    assert (sources(phone, request), rounds(phone, request)) == (["Mountains"], [])


@pytest.mark.parametrize("pipeline", ["hyde", "flare"])
def test_a_cancel_in_the_middle_leaves_no_job(serve: Serve, pipeline: str) -> None:
    served = serve(Scripted({"Question": None}, seconds=0.02))
    phone = connected(served)
    request = phone.asks(KENYA, pipeline=pipeline)
    until(lambda: served.server.generation.load.written > 3)
    phone.says(m.Cancel(request))
    ended = finished(phone, request)
    assert ended.reason == "cancelled"
    assert ended.usage.prompt > 50
    assert ended.usage.generated > 0
    until(lambda: idle(served))
    written = served.server.generation.load.written
    time.sleep(0.1)
    assert served.server.generation.load.written == written


def test_the_event_loop_waits_for_no_look_ahead_to_be_closed(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """Closing a look-ahead may wait long for the index's lock, so it runs in another thread: every device would wait
    otherwise.
    """
    refined: list[bool] = []
    closing: list[str] = []
    monkeypatch.setattr(EarlySearch, "refine", lambda *_: refined.append(True))
    monkeypatch.setattr(EarlySearch, "close", lambda _: closing.append(threading.current_thread().name))
    served = serve(Scripted({"Question": None}, seconds=0.02))
    phone = connected(served)
    request = phone.asks(KENYA, pipeline="hyde")
    until(lambda: bool(refined))
    phone.says(m.Cancel(request))
    assert finished(phone, request).reason == "cancelled"
    until(lambda: bool(closing))
    assert all(name.startswith("reader") for name in closing), closing


def test_a_service_that_cannot_prefetch_is_searched_while_the_text_is_written(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    searches: list[str] = []
    search = FewPassages.search

    def watched(corpus: FewPassages, vector: Vector, most: int) -> list[m.PublicPassage]:
        searches.append(threading.current_thread().name)
        return search(corpus, vector, most)

    monkeypatch.setattr(FewPassages, "search", watched)
    served = serve(Scripted({WRITES["hyde"]: MADE_UP * 9}, seconds=0.01))
    phone = connected(served)
    request = phone.asks(KENYA, pipeline="hyde")
    finished(phone, request)
    early, final = searches
    assert early.startswith("early-search")
    assert final.startswith("searcher")


def test_a_device_that_is_cut_off_finds_the_rounds_when_it_comes_back(serve: Serve) -> None:
    phone = connected(serve(Scripted({WRITES["hyde"]: MADE_UP}, seconds=0.005)))
    request = phone.asks(KENYA, pipeline="hyde")
    phone.cuts()
    time.sleep(0.3)
    phone.connects()
    finished(phone, request)
    assert [said.number for said in rounds(phone, request)] == [1]
    assert phone.text(request) == FACTS[2][1]


def test_a_device_of_version_1_gets_plain(serve: Serve) -> None:
    served = serve(Scripted({WRITES["hyde"]: MADE_UP}))
    phone = Phone(served.url, served.token())
    phone.session = type(phone.session)(m.Hello((1,), "fake", "fake", "test"))
    phone.connects()
    request = phone.asks(KENYA)
    finished(phone, request)
    assert (sources(phone, request), rounds(phone, request)) == (["Mountains"], [])


def test_a_device_of_another_vocabulary_gets_flare_s_sentences_as_text(serve: Serve) -> None:
    answer = "Das Höchste ist süß. Það er hátt. 🐦."
    served = serve(Scripted({KENYA: answer}))
    phone = Phone(served.url, served.token(), "others").connects()
    request = phone.asks(KENYA, pipeline="flare")
    ended = finished(phone, request)
    texts = [event.text or "" for event in phone.inbox if isinstance(event, m.Tokens)]
    assert "".join(texts) + ended.text == answer
