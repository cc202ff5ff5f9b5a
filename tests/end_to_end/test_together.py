"""An answer that device and server generate together, over a real socket: the same as that of one process, whatever
faults occur.
"""

import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

import cloud_server.sessions.joint
from device_app.companion.joint.aggregated import Aggregated
from device_app.companion.link.request import wire_bytes
from device_app.inference.local import LocalSource
from models.fake import END, FakeEngine
from models.sampling import SamplingSettings
from shared.aggregation.messages import Place, Rule
from shared.prompt import CHATML
from shared.protocol import codec
from shared.protocol import messages as m
from shared.trace import Trace
from tests.companion import Phone, Serve, Slow
from tests.faults import answers, closing, until
from tests.jointly import (
    DANUBE,
    DIARY,
    HOW,
    Endless,
    Written,
    at,
    expected,
    frames_sent,
    idle,
    public_passages,
    together,
    written,
)
from tests.limits import wait_at_most
from tests.network.proxy import Proxy
from tests.racing import linked

# The same answer.


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("temperature", [0.0, 3.0, 5.0])
def test_both_sides_write_what_one_process_would(serve: Serve, temperature: float, seed: int) -> None:
    asked = together(sampling=SamplingSettings(temperature=temperature, seed=seed))
    joint = written(serve(), asked)
    assert joint.report.alone == ""
    assert joint.settled == expected(asked)
    assert joint.report.passages == tuple(public_passages(asked))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("rule", "place"), HOW)
def test_by_every_rule_both_sides_write_what_one_process_would(
    serve: Serve, rule: Rule, place: Place, seed: int
) -> None:
    asked = together(sampling=SamplingSettings(temperature=4.0, top_k=40, seed=seed), rule=rule, place=place)
    joint = written(serve(), asked)
    assert joint.report.alone == ""
    assert joint.settled == expected(asked)


def test_of_several_private_rows_too(serve: Serve) -> None:
    asked = together(texts=(DIARY, "The boat was blue.", "It rained on the second day."))
    assert written(serve(), asked).settled == expected(asked)


@pytest.mark.parametrize(("device", "server"), [(0.0, 0.004), (0.004, 0.0), (0.002, 0.002)])
def test_whichever_side_is_slower(serve: Serve, device: float, server: float) -> None:
    asked = together()
    assert written(serve(Slow(server)), asked, Slow(device)).settled == expected(asked)


@pytest.mark.parametrize("most", [1, 2, 9])
def test_the_limit_cuts_on_both_sides(serve: Serve, most: int) -> None:
    asked, served = together(max_tokens=most), serve()
    joint = written(served, asked)
    assert (joint.settled, joint.report.alone) == (expected(asked), "")
    assert len(joint.tokens) == most
    until(lambda: idle(served))


# Cuts.


@pytest.mark.parametrize("moment", [1, 2, 7, 20, 40])
def test_a_connection_that_was_cut_is_resumed(serve: Serve, moment: int) -> None:
    asked, served = together(sampling=SamplingSettings(temperature=2.5, seed=3)), serve(Slow(0.002))
    assert len(expected(asked)) > 41
    joint = written(served, asked, Slow(0.002), acting=at(moment, served.cuts))
    assert (joint.settled, joint.report.alone) == (expected(asked), "")


@pytest.mark.parametrize("moment", [1, 7, 40])
@pytest.mark.parametrize("what", ["dies", "forgets"])
def test_without_the_server_the_device_goes_on(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, what: str, moment: int
) -> None:
    wait_at_most(monkeypatch, token_s=0.5)
    asked, served = together(sampling=SamplingSettings(temperature=2.5, seed=3)), serve(Slow(0.002))
    joint = written(served, asked, Slow(0.002), acting=at(moment, getattr(served, what)))
    count = joint.report.together
    assert joint.report.alone
    assert moment <= count < len(joint.settled)
    assert joint.settled[:count] == expected(asked)[:count]
    assert joint.settled[-1] == END


def test_a_server_that_falls_silent_is_not_waited_for(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    wait_at_most(monkeypatch, token_s=0.3)
    served = serve(Slow(0.002))
    with Proxy(served.port) as proxy, linked(f"ws://127.0.0.1:{proxy.port}/", served.token()) as link:
        assert link.wait(30).connected
        joint = Written(link, together(), Slow(0.002), at(5, proxy.swallow))
    assert joint.report.alone.endswith("failed: the server took too long")
    assert joint.settled[-1] == END


def test_who_reads_slowly_loses_nobody(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    wait_at_most(monkeypatch, token_s=1.5)  # a busy machine may stand still for a while, too
    asked = together()
    joint = written(serve(Slow(0.005)), asked, Slow(0.005), acting=at(3, lambda: time.sleep(2)))
    assert (joint.settled, joint.report.alone) == (expected(asked), "")


def test_who_stops_reading_stops_both_sides(serve: Serve) -> None:
    class Enough(Exception):
        pass

    def enough() -> None:
        raise Enough

    served = serve(Slow(0.002))
    with linked(served.url, served.token()) as link, pytest.raises(Enough):
        assert link.wait(30).connected
        Written(link, together(), Slow(0.002), at(5, enough))
    until(lambda: idle(served))
    answers(served, served.token("other"))


# One side that has nothing, or ends otherwise.


def test_where_the_server_finds_nothing_the_device_writes_alone(serve: Serve) -> None:
    joint = written(serve(), together("Toothache?"))
    assert joint.report.alone.endswith("failed: The server found no passages for the question.")
    assert (joint.report.together, joint.report.sources) == (0, ())
    assert joint.settled[-1] == END


def test_where_the_device_has_nothing_the_server_writes(serve: Serve) -> None:
    asked = together(texts=(), sampling=SamplingSettings())
    joint = written(serve(), asked)
    assert joint.text == public_passages(asked)[0].text
    assert joint.report.alone == ""


def test_an_end_that_only_the_device_knows_ends_the_answer(serve: Serve) -> None:
    asked, served = together(), serve(Endless(0.001))
    joint = written(served, asked)
    assert joint.settled == expected(asked)
    until(lambda: idle(served))


def test_an_end_that_only_the_server_knows_leaves_the_device_alone(serve: Serve) -> None:
    asked = together()
    joint = written(serve(), asked, Endless(0.001))
    count = len(expected(asked))
    assert joint.settled[: count - 1] == expected(asked)[: count - 1]
    assert joint.report.alone.endswith("failed: the server stopped writing")


# Who does not keep to it.


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (m.CloseCode.MALFORMED, m.Drafts(1, 0, 0, (258,))),
        (m.CloseCode.MALFORMED, m.Drafts(1, 0, 3, (5, 2**31 - 1))),
        (m.CloseCode.ILLEGAL, m.Weight(1, 3.0)),
        (m.CloseCode.ORDER, m.Drafts(1, 9, 8, (5,))),
        (m.CloseCode.ORDER, m.Drafts(1, 0, 198, (5, 5, 5))),
        (m.CloseCode.CREDIT, m.Drafts(1, 0, 0, (5,) * 9)),
    ],
)
def test_a_device_that_lies_breaks_its_own_session_alone(serve: Serve, code: m.CloseCode, said: m.Drafts) -> None:
    served = serve()
    phone = Phone(served.url, served.token()).connects()
    phone.asks(DANUBE, credit=0, ahead=8)
    phone.says(m.Weight(1, 11.0))
    while not any(isinstance(event, m.Drafts) for event in phone.reads()):
        pass
    phone.socket.send(codec.device_frame(said))
    assert closing(phone)[1] == code
    until(lambda: idle(served))
    answers(served, served.token("other"))


@pytest.mark.parametrize("log_h", [float("nan"), float("inf"), float("-inf"), 1e9])
def test_a_weight_that_is_no_number_is_refused(serve: Serve, log_h: float) -> None:
    served = serve()
    phone = Phone(served.url, served.token()).connects()
    phone.asks(DANUBE, credit=0, ahead=8)
    phone.socket.send(codec._binary.encode(m.Weight(1, log_h)))
    assert closing(phone)[1] == m.CloseCode.MALFORMED


@pytest.mark.parametrize(
    "said",
    [
        [m.Drafts(1, 0, 0, (5,)), m.Drafts(1, 0, 0, (5,)), m.Drafts(1, 0, 0, (6,))],
        [m.Drafts(1, 90, 90, (5, 6)), m.Drafts(1, 50, 60, (5, 6)), m.Drafts(1, 0, 40, (7,))],
        [m.Drafts(1, 3, 3, (5,)), m.Drafts(1, 2, 2, (5,)), m.Drafts(1, 0, 0, (9, 9, 9, 9))],
    ],
    ids=["twice", "of the future", "stale"],
)
def test_drafts_twice_of_the_future_and_stale_do_no_harm(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, said: list[m.Drafts]
) -> None:
    monkeypatch.setattr(cloud_server.sessions.joint, "PATIENCE_S", 0.3)
    served = serve()
    phone = Phone(served.url, served.token()).connects()
    request = phone.asks(DANUBE, credit=0, ahead=8)
    phone.says(m.Weight(1, 11.0))
    for message in said:
        phone.says(message)
    assert isinstance(phone.until_ended(request), m.Failed | m.Finished)
    until(lambda: idle(served))
    answers(served, served.token("other"))


def test_drafts_that_come_to_nothing_count_as_the_tokens_they_took(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cloud_server.sessions.joint, "PATIENCE_S", 0.3)
    served = serve(limits={"tokens_per_minute": 1.0})
    phone = Phone(served.url, served.token()).connects()
    assert isinstance(phone.until_ended(phone.asks(DANUBE, credit=0, ahead=8)), m.Failed)
    refused = phone.until_ended(phone.asks(DANUBE))
    assert isinstance(refused, m.Failed)
    assert refused.code == "limit"


def test_of_an_answer_that_was_left_at_once_only_the_question_went(serve: Serve) -> None:
    served, asked = serve(), together()
    with linked(served.url, served.token()) as link:
        assert link.wait(30).connected
        with Aggregated(link, LocalSource(FakeEngine(), CHATML), asked.together, Trace(), None) as joint:
            pass
        assert joint.report.sent == ("the question", "acknowledgements")


def test_a_device_that_says_nothing_is_not_waited_for_for_ever(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cloud_server.sessions.joint, "PATIENCE_S", 0.3)
    served = serve()
    phone = Phone(served.url, served.token()).connects()
    end = phone.until_ended(phone.asks(DANUBE, credit=0, ahead=8))
    assert isinstance(end, m.Failed)
    until(lambda: idle(served))


def test_a_device_that_is_gone_is_waited_for_less_long(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cloud_server.sessions.joint, "CUT_S", 0.1)
    served = serve()
    phone = Phone(served.url, served.token()).connects()
    phone.asks(DANUBE, credit=0, ahead=8)
    until(lambda: not idle(served))
    phone.cuts()
    until(lambda: idle(served))


@pytest.mark.parametrize("ids", [(258,), (2**31 - 1, 5)])
def test_a_server_that_lies_is_left(serve: Serve, monkeypatch: pytest.MonkeyPatch, ids: tuple[int, ...]) -> None:
    def lies(joint: cloud_server.sessions.joint.Joint) -> None:
        if joint._hands.may_send() and joint._gathering.take():
            joint._hands.say(m.Drafts(1, 0, 0, ids))

    monkeypatch.setattr(cloud_server.sessions.joint.Joint, "_send", lies)
    joint = written(serve(), together())
    assert "failed: the server broke the protocol" in joint.report.alone
    assert joint.settled[-1] == END


def test_a_server_with_a_wrong_weight_of_its_own_hangs_nobody(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    said = cloud_server.sessions.joint.JointCallbacks

    def lying(say: Callable[[m.JointFromServer], None], *rest: Any) -> cloud_server.sessions.joint.JointCallbacks:
        def other(message: m.JointFromServer) -> None:
            say(m.Weight(1, -3.0) if isinstance(message, m.Weight) else message)

        return said(other, *rest)

    wait_at_most(monkeypatch, token_s=0.5)
    monkeypatch.setattr("cloud_server.sessions.request.JointCallbacks", lying)
    joint = written(serve(), together())
    assert joint.settled[-1] == END


# What leaves.


def test_what_goes_up_is_the_question_drafts_a_weight_and_acknowledgements(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = frames_sent(monkeypatch)
    served = serve(Slow(0.005))
    asked = together(sampling=SamplingSettings(temperature=2.5, seed=3))
    with Proxy(served.port) as proxy, linked(f"ws://127.0.0.1:{proxy.port}/", served.token()) as link:
        assert link.wait(30).connected
        until(lambda: link.state.round_trip_s)
        sent.clear()
        before = proxy.sent
        joint = Written(link, asked, Slow(0.005))
        until(lambda: not link._session.alive)
        frames = [*sent]
        until(lambda: proxy.sent - before >= sum(map(wire_bytes, frames)))
        assert proxy.sent - before == sum(map(wire_bytes, sent))
        assert joint.report.sent_bytes <= proxy.sent - before
    said = [codec.from_device(frame) for frame in frames]
    assert isinstance(said[0], m.Ask)
    assert (said[0].question, said[0].accepted, said[0].accepted_text, said[0].sources) == (DANUBE, (), "", ())
    assert {type(message) for message in said[1:]} <= {m.Weight, m.Drafts, m.Acknowledge, m.Ping, m.Cancel}
    drafts = [message for message in said if isinstance(message, m.Drafts)]
    assert joint.report.drafts_sent == sum(len(draft.ids) for draft in drafts)
    assert sum(isinstance(message, m.Weight) for message in said) == 1
    assert all(before.epoch <= after.epoch for before, after in pairwise(drafts))
    assert sum(map(wire_bytes, frames[1:])) / len(joint.settled) <= 24
