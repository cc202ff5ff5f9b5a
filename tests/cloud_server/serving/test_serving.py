"""Questions over a real socket: answered, resumed after a lost connection, cancelled, and refused with a reason."""

import logging
from typing import NoReturn

import pytest
from websockets.exceptions import InvalidStatus

from shared.protocol import messages as m
from tests.companion import FACTS, FewPassages, Phone, Serve

DANUBE = "Which countries does the Danube flow through, and where?"


def test_a_question_is_answered_from_public_passages(serve: Serve) -> None:
    served = serve()
    phone = Phone(served.url, served.token()).connects()
    request = phone.asks(DANUBE)
    ended = phone.until_ended(request)
    assert isinstance(ended, m.Finished)
    assert ended.reason == "end"
    assert phone.text(request) == FACTS[0][1]
    sources = next(event for event in phone.inbox if isinstance(event, m.Sources))
    assert [passage.title for passage in sources.passages] == ["Rivers"]
    assert ended.usage.generated == len(FACTS[0][1])
    assert ended.usage.prompt > ended.usage.cached == 0
    again = phone.asks(DANUBE)
    ended = phone.until_ended(again)
    assert isinstance(ended, m.Finished)
    assert 0 < ended.usage.cached < ended.usage.prompt
    assert phone.text(again) == FACTS[0][1]


def test_a_search_alone_writes_nothing_until_it_is_started(serve: Serve) -> None:
    served = serve()
    phone = Phone(served.url, served.token()).connects()
    request = phone.asks(DANUBE, generate=False, credit=0)
    while not any(isinstance(event, m.Sources) for event in phone.inbox):
        phone.reads()
    phone.says(m.Start(request, 200, tuple(b"The Danube")))
    phone.until_ended(request)
    assert "The Danube" + phone.text(request) == FACTS[0][1]


def test_after_a_cut_nothing_is_lost_and_nothing_comes_twice(serve: Serve) -> None:
    served = serve()
    phone = Phone(served.url, served.token()).connects()
    request = phone.asks(DANUBE)
    for _ in range(12):
        while len(phone.reads()) == 0:
            pass
        phone.cuts()
        phone.connects()
        assert phone.session.alive in ((request,), ())
    phone.until_ended(request)
    assert phone.text(request) == FACTS[0][1]


def test_tokens_wait_for_credit(serve: Serve) -> None:
    served = serve()
    phone = Phone(served.url, served.token()).connects()
    request = phone.asks(DANUBE, credit=5)
    other = phone.asks("How do jackdaws share their food?")
    phone.until_ended(other)
    assert phone.text(request) == FACTS[0][1][:5]
    phone.says(m.Credit(request, 200))
    phone.until_ended(request)
    assert phone.text(request) == FACTS[0][1]


def test_answers_that_rest_make_room_for_whoever_waits_and_go_on_later(serve: Serve) -> None:
    served = serve()
    hoards = Phone(served.url, served.token("hoards")).connects()
    paused = [hoards.asks(DANUBE, credit=1) for _ in range(4)]  # as many as are written at once
    while len({event.request for event in hoards.inbox if isinstance(event, m.Tokens)}) < 4:
        hoards.reads()
    other = Phone(served.url, served.token("other")).connects()
    ended = other.until_ended(other.asks(DANUBE))
    assert isinstance(ended, m.Finished)
    assert other.text(1) == FACTS[0][1]
    for request in paused:
        hoards.says(m.Credit(request, 200))
    for request in paused:
        assert isinstance(hoards.until_ended(request), m.Finished)
        assert hoards.text(request) == FACTS[0][1]


def test_another_vocabulary_gets_text(serve: Serve) -> None:
    served = serve()
    phone = Phone(served.url, served.token(), vocabulary="another").connects()
    request = phone.asks(DANUBE, accepted_text="The Danube flows")
    phone.until_ended(request)
    text = "".join(event.text or "" for event in phone.inbox if isinstance(event, m.Tokens | m.Finished))
    assert "The Danube flows" + text == FACTS[0][1]


def test_a_request_taken_back_ends_at_once(serve: Serve) -> None:
    served = serve()
    phone = Phone(served.url, served.token()).connects()
    request = phone.asks(DANUBE, credit=3)
    phone.says(m.Cancel(request))
    ended = phone.until_ended(request)
    assert isinstance(ended, m.Finished)
    assert ended.reason == "cancelled"


def test_what_nobody_foresaw_fails_that_question_alone_and_shows_no_text(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    served = serve()
    phone = Phone(served.url, served.token()).connects()

    def search(_self: object, _vector: object, _most: int) -> NoReturn:
        raise RuntimeError(DANUBE)

    with monkeypatch.context() as patched, caplog.at_level(logging.ERROR):
        patched.setattr(FewPassages, "search", search)
        failed = phone.until_ended(phone.asks(DANUBE))
    assert isinstance(failed, m.Failed)
    assert failed.code == "internal"
    (record,) = caplog.records
    assert (record.__dict__["error"], "in search" in record.__dict__["detail"]) == ("RuntimeError", True)
    assert DANUBE not in str(vars(record))
    assert isinstance(phone.until_ended(phone.asks(DANUBE)), m.Finished)


@pytest.mark.parametrize("token", ["", "jackdaw_0_0", "x" * 500])
def test_without_a_valid_token_there_is_no_connection(serve: Serve, token: str) -> None:
    served = serve()
    with pytest.raises(InvalidStatus) as refused:
        Phone(served.url, token).connects()
    assert refused.value.response.status_code == 401
