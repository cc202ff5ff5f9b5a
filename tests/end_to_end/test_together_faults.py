"""A joint answer by each rule, in which one side falls silent or sends wrong messages: the other side goes on."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cloud_server.sessions.joint
from device_app.companion.joint import aggregated
from device_app.companion.joint.aggregated import Aggregated
from device_app.inference.local import LocalSource
from models.fake import END, FakeEngine
from shared.aggregation.distribution import encode, quantise, top
from shared.aggregation.messages import Place, Rule
from shared.prompt import CHATML
from shared.protocol import codec
from shared.protocol import messages as m
from shared.trace import Trace
from tests.companion import Phone, Serve, Slow
from tests.faults import answers, closing, until
from tests.jointly import (
    BOAT,
    DANUBE,
    EVEN,
    WARM,
    Flat,
    Written,
    at,
    by_each_rule,
    idle,
    together,
    written,
)
from tests.limits import wait_at_most
from tests.network.proxy import Proxy
from tests.racing import linked

# Who says nothing.


@by_each_rule
def test_a_server_that_falls_silent_is_not_waited_for(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, rule: Rule, place: Place
) -> None:
    wait_at_most(monkeypatch, token_s=0.3)
    served = serve(Slow(0.002))
    asked = together(sampling=WARM, rule=rule, place=place)
    with Proxy(served.port) as proxy, linked(f"ws://127.0.0.1:{proxy.port}/", served.token()) as link:
        assert link.wait(30).connected
        joint = Written(link, asked, Slow(0.002), at(5, proxy.swallow))
    assert joint.report.alone.endswith("failed: the server took too long")
    assert joint.settled


@pytest.mark.parametrize(
    ("rule", "place", "kind"),
    [
        ("greedy", "device", m.Rest),
        ("greedy", "device", m.Weight),
        ("greedy", "device", m.Drafts),
        ("algorithm1", "server", m.Targets),
        ("algorithm1", "device", m.Drafts),
        ("coupled", "both", m.Drafts),
    ],
)
def test_a_server_that_never_says_one_thing_is_not_waited_for(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, rule: Rule, place: Place, kind: type
) -> None:
    wait_at_most(monkeypatch, token_s=0.3)
    hands = cloud_server.sessions.joint.JointCallbacks

    def silent(say: Callable[[m.JointFromServer], None], *rest: Any) -> cloud_server.sessions.joint.JointCallbacks:
        return hands(lambda message: None if isinstance(message, kind) else say(message), *rest)

    monkeypatch.setattr("cloud_server.sessions.request.JointCallbacks", silent)
    asked = together(texts=(BOAT,), similarity=EVEN, sampling=WARM, rule=rule, place=place, max_tokens=40)
    served = serve(Flat(0.0))
    joint = written(served, asked, Flat(0.0))
    # Without a weight, nothing else may be said at all.
    assert joint.report.alone.endswith("failed: the server took too long") or kind is m.Weight
    assert joint.report.alone
    assert len(joint.settled) == 40 or joint.settled[-1] == END
    until(lambda: idle(served))


@by_each_rule
def test_a_device_that_says_nothing_is_not_waited_for(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, rule: Rule, place: Place
) -> None:
    monkeypatch.setattr(cloud_server.sessions.joint, "PATIENCE_S", 0.3)
    served = serve()
    phone = Phone(served.url, served.token()).connects()
    request = phone.asks(DANUBE, credit=0, ahead=8, rule=rule, place=place)
    phone.says(m.Weight(request, 11.0))
    assert isinstance(phone.until_ended(request), m.Failed)
    until(lambda: idle(served))


@by_each_rule
def test_a_device_that_is_gone_is_waited_for_less_long(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, rule: Rule, place: Place
) -> None:
    monkeypatch.setattr(cloud_server.sessions.joint, "CUT_S", 0.1)
    served = serve()
    phone = Phone(served.url, served.token()).connects()
    phone.asks(DANUBE, credit=0, ahead=8, rule=rule, place=place)
    until(lambda: not idle(served))
    phone.cuts()
    until(lambda: idle(served))


# Who lies.

LIKELY = encode(top(np.full(258, 1 / 258, np.float32), 16))
NAN = LIKELY[:-4] + np.float32("nan").tobytes()
SURE = encode(quantise([5], [1.0]))
SIX = encode(quantise([6], [1.0]))
BEYOND = encode(quantise([258], [1.0]))
HALF = SURE[:-2] + (30_000).to_bytes(2, "little")


@pytest.mark.parametrize(
    ("rule", "place", "code", "said"),
    [
        ("greedy", "device", m.CloseCode.ILLEGAL, [m.Drafts(1, 0, 0, (5,), (LIKELY,))]),
        ("greedy", "device", m.CloseCode.ILLEGAL, [m.Fetch(1, 0, 259)]),
        ("greedy", "device", m.CloseCode.ILLEGAL, [m.Fetch(1, 200, 16)]),
        ("greedy", "device", m.CloseCode.ILLEGAL, [m.Switch(1, 1, 0, 0)]),
        ("greedy", "device", m.CloseCode.MALFORMED, [m.Targets(1, 0, (5, 258))]),
        ("greedy", "device", m.CloseCode.ORDER, [m.Targets(1, 199, (5, 5))]),
        ("greedy", "device", m.CloseCode.ILLEGAL, [m.Targets(1, 0, (5, 6)), m.Targets(1, 1, (7,))]),
        ("algorithm1", "both", m.CloseCode.ILLEGAL, [m.Drafts(1, 0, 0, (5,))]),
        ("algorithm1", "both", m.CloseCode.MALFORMED, [m.Drafts(1, 0, 0, (5,), (LIKELY,))]),
        ("algorithm1", "both", m.CloseCode.MALFORMED, [m.Drafts(1, 0, 0, (5,), (HALF,))]),
        ("algorithm1", "both", m.CloseCode.MALFORMED, [m.Drafts(1, 0, 0, (5,), (b"",))]),
        ("algorithm1", "both", m.CloseCode.MALFORMED, [m.Drafts(1, 0, 0, (6,), (SURE,))]),
        ("algorithm1", "both", m.CloseCode.MALFORMED, [m.Drafts(1, 0, 0, (258,), (BEYOND,))]),
        ("algorithm1", "both", m.CloseCode.ORDER, [m.Drafts(1, 0, 90, (5,), (SURE,))]),
        ("algorithm1", "both", m.CloseCode.ILLEGAL, [m.Targets(1, 0, (5,))]),
        ("algorithm1", "server", m.CloseCode.ILLEGAL, [m.Targets(1, 0, (5,))]),
        ("algorithm1", "server", m.CloseCode.ILLEGAL, [m.Switch(1, 1, 0, 0)]),
        ("algorithm1", "both", m.CloseCode.ILLEGAL, [m.RoundTrip(1, 50_000)]),
        ("greedy", "device", m.CloseCode.ILLEGAL, [m.RoundTrip(1, 50_000)]),
        ("algorithm1", "device", m.CloseCode.ILLEGAL, [m.Switch(1, 3, 0, 190)]),
        ("algorithm1", "both", m.CloseCode.ILLEGAL, [m.FollowingWeight(1, 11.0, 8)]),
        ("algorithm1", "both", m.CloseCode.ORDER, [m.Reweight(1, 16, 0.5)]),
        ("algorithm1", "both", m.CloseCode.MALFORMED, [m.Reweight(1, 16, float("nan"))]),
        ("algorithm1", "both", m.CloseCode.MALFORMED, [m.FollowingWeight(1, 11.0, 0)]),
        ("greedy", "device", m.CloseCode.ILLEGAL, [m.FollowingWeight(1, 11.0, 8)]),
    ],
)
def test_a_device_that_lies_breaks_its_own_session_alone(
    serve: Serve, rule: Rule, place: Place, code: m.CloseCode, said: list[m.JointFromDevice]
) -> None:
    served = serve()
    phone = Phone(served.url, served.token()).connects()
    phone.asks(DANUBE, credit=0, ahead=8, rule=rule, place=place)
    phone.says(m.Weight(1, 11.0))
    until(lambda: not idle(served))
    for message in said:
        phone.socket.send(codec._binary.encode(message))
    assert closing(phone)[1] == code
    until(lambda: idle(served))
    answers(served, served.token("other"))


@pytest.mark.parametrize(
    ("rule", "place", "said"),
    [
        ("algorithm1", "both", [m.Drafts(1, 0, 0, (5,), (SURE,)), m.Drafts(1, 0, 0, (6,), (SIX,))]),
        ("algorithm1", "both", [m.Drafts(1, 3, 3, (5,), (SURE,)), m.Drafts(1, 2, 2, (5,), (SURE,))]),
        ("algorithm1", "server", [m.Drafts(1, 0, 4, (5, 5), (SURE, SURE)), m.Drafts(1, 9, 9, (5,), (SURE,))]),
        ("algorithm1", "device", [m.Targets(1, 3, (5,)), m.Targets(1, 0, (5,)), m.Targets(1, 0, (5,))]),
        ("algorithm1", "device", [m.Switch(1, 9, 9, 0), m.Switch(1, 9, 9, 0)]),
        ("greedy", "device", [m.Targets(1, 90, (5,)), m.Fetch(1, 0, 256), m.Fetch(1, 0, 16), m.Fetch(1, 199, 258)]),
    ],
)
def test_what_comes_twice_of_the_future_and_stale_does_no_harm(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, rule: Rule, place: Place, said: list[m.JointFromDevice]
) -> None:
    monkeypatch.setattr(cloud_server.sessions.joint, "PATIENCE_S", 0.3)
    served = serve()
    phone = Phone(served.url, served.token()).connects()
    request = phone.asks(DANUBE, credit=0, ahead=8, rule=rule, place=place)
    phone.says(m.Weight(1, 11.0))
    for message in said:
        phone.says(message)
    assert isinstance(phone.until_ended(request), m.Failed | m.Finished)
    until(lambda: idle(served))
    answers(served, served.token("other"))


@pytest.mark.parametrize(
    ("rule", "place", "forged"),
    [
        ("greedy", "device", m.Drafts(1, 0, 0, (5,), (NAN,))),
        ("greedy", "device", m.Drafts(1, 0, 0, (5,), (SURE,))),
        ("greedy", "device", m.Drafts(1, 0, 0, (258,), (LIKELY,))),
        ("greedy", "device", m.Drafts(1, 0, 40, (5,), (LIKELY,))),
        ("greedy", "device", m.Targets(1, 0, (5,))),
        ("algorithm1", "device", m.Drafts(1, 0, 0, (5,), (HALF,))),
        ("algorithm1", "device", m.Drafts(1, 0, 0, (5,), (BEYOND,))),
        ("algorithm1", "device", m.Switch(1, 9, 0, 0)),
        ("algorithm1", "server", m.Targets(1, 0, (258,))),
    ],
)
def test_a_server_that_lies_is_left(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, rule: Rule, place: Place, forged: m.JointFromServer
) -> None:
    hands = cloud_server.sessions.joint.JointCallbacks

    def lying(say: Callable[[m.JointFromServer], None], *rest: Any) -> cloud_server.sessions.joint.JointCallbacks:
        return hands(lambda message: say(message if isinstance(message, m.Weight) else forged), *rest)

    monkeypatch.setattr("cloud_server.sessions.request.JointCallbacks", lying)
    monkeypatch.setattr("cloud_server.sessions.joint.CUT_S", 0.2)  # the device it cuts off does not come back
    served = serve()
    joint = written(served, together(sampling=WARM, rule=rule, place=place))
    assert "failed: the server broke the protocol" in joint.report.alone
    assert (joint.report.together, joint.settled != []) == (0, True)
    until(lambda: idle(served))


@by_each_rule
def test_what_a_server_floods_a_device_with_is_dropped(serve: Serve, rule: Rule, place: Place) -> None:
    asked = together(sampling=WARM, rule=rule, place=place)
    served = serve()
    with linked(served.url, served.token()) as link:
        assert link.wait(30).connected
        with Aggregated(link, LocalSource(FakeEngine(), CHATML), asked.together, Trace(), None) as joint:
            for _ in range(2000):
                joint._listen(m.Drafts(1, 0, 0, (5,)))
            assert joint._inbox.qsize() <= aggregated.MOST_WAITING + 1
            assert list(joint.pieces(asked.prompt, asked.similarities))


@pytest.mark.parametrize("forged", [(5, b"12345"), (2000, bytes(2000)), (1037, bytes(1037))])
def test_a_rest_that_is_forged_ends_the_session_with_the_server(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, forged: tuple[int, bytes]
) -> None:
    size, data = forged
    monkeypatch.setattr(
        cloud_server.sessions.joint, "pieces", lambda request, position, _: [m.Rest(request, position, 0, size, data)]
    )
    joint = written(serve(Flat(0.0)), together(texts=(BOAT,), similarity=EVEN, rule="greedy", max_tokens=20), Flat(0.0))
    assert "failed: the server broke the protocol" in joint.report.alone
    assert len(joint.settled) == 20


@by_each_rule
def test_a_server_with_a_wrong_weight_hangs_nobody(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, rule: Rule, place: Place
) -> None:
    hands = cloud_server.sessions.joint.JointCallbacks

    def lying(say: Callable[[m.JointFromServer], None], *rest: Any) -> cloud_server.sessions.joint.JointCallbacks:
        return hands(lambda message: say(m.Weight(1, -3.0) if isinstance(message, m.Weight) else message), *rest)

    wait_at_most(monkeypatch, token_s=0.5)
    monkeypatch.setattr("cloud_server.sessions.request.JointCallbacks", lying)
    served = serve()
    joint = written(served, together(sampling=WARM, rule=rule, place=place))
    assert joint.settled[-1] == END or len(joint.settled) == 120
    until(lambda: idle(served))
