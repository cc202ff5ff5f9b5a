"""Computed tokens, searches and new requests are charged to the access token's name, whichever message caused them."""

from shared.protocol import messages as m
from tests.companion import FACTS, Phone, Serve, Slow
from tests.faults import until

DANUBE = "Through how many countries does the Danube flow?"


def refused(phone: Phone, request: int) -> str:
    ended = phone.until_ended(request)
    return ended.code if isinstance(ended, m.Failed) else ""


def test_a_prompt_is_charged_though_its_answer_is_taken_back(serve: Serve) -> None:
    served = serve(limits={"tokens_per_minute": 100.0})
    phone = Phone(served.url, served.token()).connects()
    first = phone.asks(DANUBE, credit=1)
    while not phone.text(first):
        phone.reads()
    phone.says(m.Cancel(first))
    phone.until_ended(first)
    assert refused(phone, phone.asks(DANUBE)) == "limit"


def test_a_prompt_is_charged_while_it_is_computed(serve: Serve) -> None:
    served = serve(Slow(0.2), limits={"tokens_per_minute": 20.0})
    phone = Phone(served.url, served.token()).connects()
    first = phone.asks(DANUBE, passages=0)
    until(lambda: served.server.sessions.quota("phone").tokens_used > 20)
    phone.says(m.Cancel(first))
    assert refused(phone, phone.asks(DANUBE)) == "limit"


def test_what_is_started_is_limited_as_what_is_asked(serve: Serve) -> None:
    served = serve(limits={"tokens_per_minute": 100.0})
    phone = Phone(served.url, served.token()).connects()
    assert refused(phone, phone.asks(DANUBE)) == ""
    second = phone.asks(DANUBE, generate=False)
    while not any(isinstance(event, m.Sources) and event.request == second for event in phone.inbox):
        phone.reads()
    phone.says(m.Start(second, 100))
    assert refused(phone, second) == "limit"


def test_sources_by_name_are_searches(serve: Serve) -> None:
    served = serve(limits={"searches_per_minute": 2.0})
    phone = Phone(served.url, served.token()).connects()
    named = [phone.asks(FACTS[0][0], sources=(0,)) for _ in range(3)]
    assert [refused(phone, request) for request in named] == ["", "", "limit"]
