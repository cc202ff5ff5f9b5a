"""No frame of one device, and no error of the server in serving it, affects another device."""

import http.client
import logging
from typing import NoReturn

import pytest

from cloud_server.monitoring.unforeseen import UNFORESEEN
from cloud_server.sessions.client import Client
from cloud_server.sessions.joint import Joint
from cloud_server.sessions.requests import Requests
from models.fake import VOCABULARY
from shared.errors import ProtocolError
from shared.protocol import codec
from shared.protocol import messages as m
from shared.protocol.server import Received, ServerSession
from tests.companion import Cursed, Phone, Serve, Served, Slow
from tests.faults import DANUBE, answers, closing, free_port, until
from tests.racing import TEXT

BEYOND = [(VOCABULARY,), (2**31 - 1,), (5, 5, VOCABULARY + 1, 5)]


def health(served: Served, path: str) -> int:
    probe = http.client.HTTPConnection("127.0.0.1", served.metrics_port, timeout=30)
    try:
        probe.request("GET", path)
        return probe.getresponse().status
    finally:
        probe.close()


@pytest.mark.parametrize("accepted", BEYOND)
def test_an_answer_to_go_on_with_that_holds_no_token_is_refused_alone(serve: Serve, accepted: tuple[int, ...]) -> None:
    served = serve(serve={"metrics_port": free_port()})
    phone = Phone(served.url, served.token()).connects()
    beside = phone.asks(DANUBE, credit=3)
    failed = phone.until_ended(phone.asks(DANUBE, accepted=accepted))
    assert isinstance(failed, m.Failed)
    assert failed.code == "invalid"
    phone.says(m.Credit(beside, 200))
    assert isinstance(phone.until_ended(beside), m.Finished)
    assert phone.text(beside) == TEXT
    assert health(served, "/readyz") == 200
    answers(served, served.token("other"))


@pytest.mark.parametrize("accepted", BEYOND)
def test_a_start_that_holds_no_token_is_refused_alone(serve: Serve, accepted: tuple[int, ...]) -> None:
    served = serve()
    phone = Phone(served.url, served.token()).connects()
    request = phone.asks(DANUBE, generate=False, credit=0)
    until(lambda: phone.reads() and any(isinstance(event, m.Sources) for event in phone.inbox))
    phone.says(m.Start(request, 200, accepted))
    failed = phone.until_ended(request)
    assert isinstance(failed, m.Failed)
    assert failed.code == "invalid"
    assert isinstance(phone.until_ended(phone.asks(DANUBE)), m.Finished)
    answers(served, served.token("other"))


@pytest.mark.parametrize("numbers", [(1, 1), (7, 3), (2**31 - 1, 2**31 - 1)])
def test_pings_whose_numbers_do_not_rise(serve: Serve, numbers: tuple[int, int]) -> None:
    served = serve()
    phone = Phone(served.url, served.token()).connects()
    phone.says(m.Ping(numbers[0]))
    until(lambda: any(isinstance(event, m.Pong) for event in phone.reads()))
    phone.socket.send(codec.device_frame(m.Ping(numbers[1])))
    assert closing(phone)[1] == m.CloseCode.ORDER


def test_an_engine_that_fails_with_one_question_answers_the_others_beside_it(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    served = serve(Cursed(0.005), serve={"metrics_port": free_port()})
    phones = [Phone(served.url, served.token(f"phone {number}")).connects() for number in range(3)]
    asked = [phone.asks(DANUBE) for phone in phones]
    until(lambda: phones[0].reads() and phones[0].text(asked[0]))
    attacker = Phone(served.url, served.token("attacker")).connects()
    question = f"Is the Danube {Cursed.BREAKS.decode()}?"
    with caplog.at_level(logging.ERROR):
        failed = attacker.until_ended(attacker.asks(question))
    assert isinstance(failed, m.Failed)
    assert (failed.code, failed.message) == ("internal", UNFORESEEN)
    for phone, request in zip(phones, asked, strict=True):
        assert isinstance(phone.until_ended(request), m.Finished)
        assert phone.text(request) == TEXT
    assert [record.getMessage() for record in caplog.records] == ["an answer failed with an error"]
    assert not any(question in str(vars(record)) for record in caplog.records)
    assert isinstance(attacker.until_ended(attacker.asks(DANUBE)), m.Finished)
    assert served.server.sessions.quota("attacker").tokens_wait_s(0.0) == 0
    until(lambda: served.server.generation.load.writing == 0)
    assert health(served, "/readyz") == 200


def test_an_error_in_one_answers_joint_writing_is_that_answers_alone(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    def written(_self: object, _event: object) -> NoReturn:
        raise ZeroDivisionError

    monkeypatch.setattr(Joint, "written", written)
    served = serve(Slow(0.005))
    other = Phone(served.url, served.token("other")).connects()
    request = other.asks(DANUBE)
    until(lambda: other.reads() and other.text(request))
    phone = Phone(served.url, served.token()).connects()
    joint = phone.asks(DANUBE, credit=0, ahead=8)
    failed = phone.until_ended(joint)
    assert isinstance(failed, m.Failed)
    assert (failed.code, failed.message) == ("internal", UNFORESEEN)
    assert isinstance(other.until_ended(request), m.Finished)
    assert other.text(request) == TEXT
    assert isinstance(phone.until_ended(phone.asks(DANUBE)), m.Finished)


def test_an_error_in_taking_what_a_device_says_fails_that_request_alone(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = serve()
    phone = Phone(served.url, served.token()).connects()
    beside = phone.asks(DANUBE, credit=3)

    def on_message(_self: object, _message: object) -> NoReturn:
        raise ZeroDivisionError

    monkeypatch.setattr(Joint, "on_message", on_message)
    joint = phone.asks(DANUBE, credit=0, ahead=8)
    phone.says(m.Weight(joint, 1.0))
    failed = phone.until_ended(joint)
    assert isinstance(failed, m.Failed)
    assert failed.code == "internal"
    phone.says(m.Credit(beside, 200))
    assert isinstance(phone.until_ended(beside), m.Finished)


@pytest.mark.parametrize("error", [ZeroDivisionError, ProtocolError(m.CloseCode.ILLEGAL, "It is refused.")])
def test_a_session_that_breaks_and_cannot_be_ended_is_cut(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    served = serve()
    real_receive, real_end = ServerSession.receive, Requests.end
    broken: list[ServerSession] = []

    def receive(self: ServerSession, frame: codec.Frame) -> Received:
        if frame == codec.device_frame(m.Ping(77)):
            broken.append(self)
            raise error
        return real_receive(self, frame)

    def end(self: Requests) -> None:
        if self._device.session in broken:
            raise ZeroDivisionError
        real_end(self)

    monkeypatch.setattr(ServerSession, "receive", receive)
    monkeypatch.setattr(Requests, "end", end)
    other = Phone(served.url, served.token("other")).connects()
    phone = Phone(served.url, served.token()).connects()
    phone.says(m.Ping(77))
    assert closing(phone)[1] == (m.CloseCode.ILLEGAL if isinstance(error, ProtocolError) else None)
    until(lambda: [client.name for client in served.server.sessions.all()] == ["other"])
    assert isinstance(other.until_ended(other.asks(DANUBE)), m.Finished)


def test_a_session_that_cannot_be_looked_after_is_forgotten_and_the_others_are_looked_after(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = serve()
    real, looked = Client.cut_if_slow, []

    def cut_if_slow(self: Client, now: float) -> None:
        if self.name == "broken":
            raise ZeroDivisionError
        looked.append(self.name)
        real(self, now)

    monkeypatch.setattr(Client, "cut_if_slow", cut_if_slow)
    broken = Phone(served.url, served.token("broken")).connects()
    Phone(served.url, served.token("other")).connects()
    assert closing(broken) == (None, None)
    looked.clear()
    until(lambda: looked.count("other") > 1)
    assert [client.name for client in served.server.sessions.all()] == ["other"]
