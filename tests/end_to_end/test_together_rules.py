"""The three rules over a real socket: the answer of one process, whatever is handed over, cut, late or forged."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

import cloud_server.together
from cloud_server.generation import Generation
from device_app.link.link import Link
from device_app.sources import aggregated
from device_app.sources.aggregated import Aggregated
from device_app.sources.local import LocalSource
from models.engine import Logits
from models.fake import END, FakeEmbedder, FakeEngine
from models.sampling import SamplingSettings
from shared.aggregation import messages as a
from shared.aggregation import rules
from shared.aggregation.aggregator import Aggregator
from shared.aggregation.distribution import encode, quantise, top
from shared.aggregation.measured import Measured
from shared.aggregation.messages import Place, Rule
from shared.aggregation.weights import device_share, log_weight
from shared.prompt import CHATML
from shared.protocol import codec
from shared.protocol import messages as m
from shared.protocol.codec import Frame
from shared.trace import Trace
from tests.companion import FewPassages, Phone, Serve, Slow
from tests.faults import answers, closing, until
from tests.jointly import DANUBE, HOW, Asked, Endless, Written, at, by_one, expected, found, idle, together, written
from tests.network.proxy import Proxy
from tests.racing import linked

BOAT = "Our boat was called Jackdaw, and it was blue."
EVEN = FewPassages().search(FakeEmbedder().embed([DANUBE])[0], 1)[0].similarity
"""With that, the device's passage weighs as much as the server's."""
WARM = SamplingSettings(temperature=4.0, top_k=40, seed=3)
by_each_rule = pytest.mark.parametrize(("rule", "place"), HOW)


class Flat(Slow):
    """Hardly prefers one token to another: sixteen of them prove nothing."""

    def _append(self, sequence: int, tokens: Sequence[int]) -> Logits:
        flat: Logits = super()._append(sequence, tokens) / np.float32(200)
        return flat


class Blocked(FakeEngine):
    """Reads no prompt before it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.let = threading.Event()

    def prefill(self, sequence: int, tokens: Sequence[int]) -> Logits:
        assert self.let.wait(30)
        return super().prefill(sequence, tokens)


class Stuck(FakeEngine):
    """Draws one token, and no other before it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.let = threading.Event()

    def decode(self, tokens: Mapping[int, int]) -> dict[int, Logits]:
        assert self.let.wait(30)
        return super().decode(tokens)


# The same answer.


@pytest.mark.parametrize("penalty", [1.0, 1.3])
@pytest.mark.parametrize("texts", [(BOAT,), (BOAT, "The boat was blue.", "It rained.")])
def test_greedily_where_little_proves_nothing_the_rest_is_fetched(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, texts: tuple[str, ...], penalty: float
) -> None:
    fetched: list[int] = []
    supply = Generation.supply

    def counted(one: Generation, key: int, position: int, count: int) -> None:
        fetched.append(position)
        supply(one, key, position, count)

    monkeypatch.setattr(Generation, "supply", counted)
    sampling = SamplingSettings(repetition_penalty=penalty)
    asked = together(texts=texts, similarity=EVEN, sampling=sampling, rule="greedy", max_tokens=40)
    one = written(serve(Flat(0.0)), asked, Flat(0.0))
    assert (one.report.alone, one.settled) == ("", expected(asked, lambda: Flat(0.0)))
    assert len(fetched) > 5


@pytest.mark.parametrize("rows", [1, 2, 3])
@by_each_rule
def test_of_several_rows_on_the_server(serve: Serve, rule: Rule, place: Place, rows: int) -> None:
    asked = together(sampling=WARM, rule=rule, place=place, rows=rows, passages=3)
    one = written(serve(retrieval={"relevance": -1.0}), asked)
    everything = FewPassages().search(FakeEmbedder().embed([DANUBE])[0], 3)
    assert (one.report.alone, one.report.passages) == ("", tuple(everything))
    assert one.settled == by_one(asked, everything, FakeEngine(), FakeEngine())


@pytest.mark.parametrize(("device", "server"), [(0.0, 0.004), (0.004, 0.0)])
@by_each_rule
def test_whichever_side_is_slower(serve: Serve, rule: Rule, place: Place, device: float, server: float) -> None:
    asked = together(sampling=WARM, rule=rule, place=place)
    assert written(serve(Slow(server)), asked, Slow(device)).settled == expected(asked)


@pytest.mark.parametrize("place", ["device", "server"])
@pytest.mark.parametrize("every", [2, 3, 7])
def test_handed_to_and_fro_across_rejections_it_stays_the_same(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, place: Place, every: int
) -> None:
    given: list[tuple[str, int]] = []

    def gives(one: Measured, machine: Aggregator) -> bool:
        due = machine.aggregates and len(machine.settled) % every == 0
        if due:
            given.append((one.side, len(machine.settled)))
        return due

    monkeypatch.setattr(Measured, "gives", gives)
    asked = together(sampling=WARM, rule="algorithm1", place=place)
    one = written(serve(Slow(0.001)), asked, Slow(0.001))
    assert (one.report.alone, one.settled) == ("", expected(asked))
    assert {side for side, _ in given} == {"device", "server"}
    assert min(drafts - accepted for drafts, accepted in one.report.judged.values()) > 0


@pytest.mark.parametrize(("place", "device", "server"), [("device", 0.0, 0.02), ("server", 0.02, 0.0)])
def test_the_slower_side_comes_to_settle(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, place: Place, device: float, server: float
) -> None:
    switched: list[object] = []
    say = cloud_server.together.Joint._say
    hear = cloud_server.together.Joint.hear

    def said(one: cloud_server.together.Joint, message: Any) -> None:
        switched.extend([message] if isinstance(message, a.Switch) else [])
        say(one, message)

    def heard(one: cloud_server.together.Joint, message: Any) -> None:
        switched.extend([message] if isinstance(message, m.Switch) else [])
        hear(one, message)

    monkeypatch.setattr(cloud_server.together.Joint, "_say", said)
    monkeypatch.setattr(cloud_server.together.Joint, "hear", heard)
    monkeypatch.setattr("device_app.link.link.PING_S", 0.05)
    asked, served = together(sampling=WARM, rule="algorithm1", place=place), serve(Slow(server))
    with linked(served.url, served.token()) as link:
        until(lambda: link.state.round_trip_s)
        one = Written(link, asked, Slow(device))
    assert (one.report.alone, one.settled) == ("", expected(asked))
    assert switched
    assert isinstance(switched[0], m.Switch if place == "device" else a.Switch)


def test_without_leave_the_device_hands_nothing_over(serve: Serve) -> None:
    with pytest.raises(ValueError, match="do not leave"):
        aggregated.Together(DANUBE, WARM, 9, 1, rule="algorithm1", place="both")
    plain = together(sampling=WARM, rule="algorithm1", place="device")
    closed = aggregated.Together(DANUBE, WARM, plain.together.max_tokens, 1, rule="algorithm1")
    assert (closed.at, closed.open) == ("device", False)
    asked, served = Asked(closed, plain.prompt, plain.similarities), serve(Slow(0.02))
    with linked(served.url, served.token()) as link:
        until(lambda: link.state.round_trip_s)
        one = Written(link, asked, Slow(0.0))
    assert one.settled == expected(asked)
    assert (one.report.drafts_sent, one.report.distributions_sent) == (0, 0)


# In two steps.


def test_the_server_writes_its_first_tokens_while_the_device_still_reads(serve: Serve) -> None:
    share = device_share(log_weight([0.55]), log_weight([one.similarity for one in found(together())]))
    seed = next(one for one in range(99) if all(rules.author(one, at, share) == "server" for at in range(3)))
    asked = together(sampling=SamplingSettings(temperature=3.0, seed=seed))
    device = Blocked()
    one = written(serve(), asked, device, acting=at(2, device.let.set))
    assert (one.report.alone, one.settled) == ("", expected(asked))


def test_greedily_a_server_that_counts_most_need_not_wait_for_the_device_either(serve: Serve) -> None:
    asked, device = together(similarity=EVEN - 0.2, rule="greedy"), Blocked()
    one = written(serve(), asked, device, acting=at(2, device.let.set))
    assert (one.report.alone, one.settled) == ("", expected(asked))


def test_greedily_a_device_that_counts_most_need_not_wait_for_the_server(serve: Serve) -> None:
    asked, server = together(texts=(BOAT,), similarity=EVEN + 0.2, rule="greedy"), Stuck()
    one = written(serve(server), asked)
    server.let.set()
    assert (one.report.alone, one.settled) == ("", expected(asked))


@by_each_rule
def test_the_server_has_begun_before_the_device_knows_its_passages(serve: Serve, rule: Rule, place: Place) -> None:
    asked, served = together(sampling=WARM, rule=rule, place=place), serve()
    one = written(served, asked, begun=lambda: until(lambda: not idle(served)))
    assert (one.report.alone, one.settled) == ("", expected(asked))


def test_who_leaves_before_it_is_written_leaves_nothing_hanging(serve: Serve) -> None:
    served = serve()
    with linked(served.url, served.token()) as link:
        assert link.wait(30).connected
        with Aggregated(link, LocalSource(FakeEngine(), CHATML), together().together, Trace(), None) as joint:
            until(lambda: not idle(served))
        until(lambda: idle(served))
        assert joint.report.sent[:1] == ("the question",)
        assert joint.report.drafts_sent == 0


def test_who_leaves_while_it_reads_is_not_kept(serve: Serve) -> None:
    asked, device, served = together(), Blocked(), serve()
    with linked(served.url, served.token()) as link:
        assert link.wait(30).connected
        with Aggregated(link, LocalSource(device, CHATML), asked.together, Trace(), None) as joint:
            pieces = joint.pieces(asked.prompt, asked.similarities)
            threading.Timer(0.2, device.let.set).start()
            next(pieces)
            pieces.close()
    until(lambda: idle(served))


def test_fewer_tokens_may_fit_the_device(serve: Serve) -> None:
    asked, served = together(), serve()
    with linked(served.url, served.token()) as link:
        assert link.wait(30).connected
        with Aggregated(link, LocalSource(FakeEngine(), CHATML), asked.together, Trace(), None) as joint:
            said = list(joint.pieces(asked.prompt, asked.similarities, most=5))
    assert [one.token for one in said] == expected(asked)[:5]
    assert [one.cut for one in said] == [False] * 4 + [True]


# Cuts, ends, and nothing found.


@pytest.mark.parametrize("moment", [1, 7, 20])
@by_each_rule
def test_a_connection_that_was_cut_is_resumed(serve: Serve, rule: Rule, place: Place, moment: int) -> None:
    asked, served = together(sampling=WARM, rule=rule, place=place), serve(Slow(0.002))
    assert len(expected(asked)) > moment
    one = written(served, asked, Slow(0.002), acting=at(moment, served.cuts))
    assert (one.report.alone, one.settled) == ("", expected(asked))


@pytest.mark.parametrize("moment", [1, 9])
def test_a_cut_while_the_rest_is_fetched_is_resumed(serve: Serve, moment: int) -> None:
    asked, served = together(texts=(BOAT,), similarity=EVEN, rule="greedy", max_tokens=40), serve(Flat(0.002))
    one = written(served, asked, Flat(0.002), acting=at(moment, served.cuts))
    assert (one.report.alone, one.settled) == ("", expected(asked, lambda: Flat(0.0)))


@by_each_rule
def test_without_the_server_the_device_goes_on(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, rule: Rule, place: Place
) -> None:
    monkeypatch.setattr(aggregated, "PATIENCE_S", 0.5)
    asked, served = together(sampling=WARM, rule=rule, place=place), serve(Slow(0.002))
    one = written(served, asked, Slow(0.002), acting=at(7, served.dies))
    count = one.report.together
    assert one.report.alone
    assert one.settled[:count] == expected(asked)[:count]
    assert len(one.settled) > count or one.settled[-1] == END


@by_each_rule
def test_an_end_that_only_one_side_knows_hangs_nobody(serve: Serve, rule: Rule, place: Place) -> None:
    asked, served = together(sampling=WARM, rule=rule, place=place), serve(Endless(0.001))
    assert written(served, asked).settled == expected(asked)
    until(lambda: idle(served))
    one = written(serve(), asked, Endless(0.001))
    count = len(expected(asked))
    assert one.settled[:count] == expected(asked) or one.report.alone


@by_each_rule
def test_with_nothing_on_one_side_the_other_writes(serve: Serve, rule: Rule, place: Place) -> None:
    asked = together(texts=(), sampling=WARM, rule=rule, place=place)
    one = written(serve(), asked)
    assert (one.report.alone, one.settled) == ("", expected(asked))
    alone = written(serve(), together("Toothache?", sampling=WARM, rule=rule, place=place))
    assert alone.report.alone == "The server found nothing for it."
    assert alone.settled


@by_each_rule
def test_with_little_room_for_what_is_not_acknowledged_it_stays_the_same(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, rule: Rule, place: Place
) -> None:
    monkeypatch.setattr("shared.protocol.server.MOST_KEPT_EVENTS", 5)
    monkeypatch.setattr("shared.protocol.device.ACKNOWLEDGE_EVENTS", 3)
    asked = together(texts=(BOAT,), similarity=EVEN, sampling=WARM, rule=rule, place=place, max_tokens=40)
    served = serve(Flat(0.001))
    one = written(served, asked, Flat(0.001))
    assert (one.report.alone, one.settled) == ("", expected(asked, lambda: Flat(0.0)))
    until(lambda: idle(served))


# Who says nothing.


@by_each_rule
def test_a_server_that_falls_silent_is_not_waited_for(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, rule: Rule, place: Place
) -> None:
    monkeypatch.setattr(aggregated, "PATIENCE_S", 0.3)
    served = serve(Slow(0.002))
    asked = together(sampling=WARM, rule=rule, place=place)
    with Proxy(served.port) as proxy, linked(f"ws://127.0.0.1:{proxy.port}/", served.token()) as link:
        assert link.wait(30).connected
        one = Written(link, asked, Slow(0.002), at(5, proxy.swallow))
    assert one.report.alone == "the server was waited for too long"
    assert one.settled


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
    monkeypatch.setattr(aggregated, "PATIENCE_S", 0.3)
    hands = cloud_server.together.Hands

    def silent(say: Callable[[m.JointFromServer], None], *rest: Any) -> cloud_server.together.Hands:
        return hands(lambda one: None if isinstance(one, kind) else say(one), *rest)

    monkeypatch.setattr("cloud_server.requests.Hands", silent)
    asked = together(texts=(BOAT,), similarity=EVEN, sampling=WARM, rule=rule, place=place, max_tokens=40)
    served = serve(Flat(0.0))
    one = written(served, asked, Flat(0.0))
    # Without a weight, nothing else may be said at all.
    assert one.report.alone == "the server was waited for too long" or kind is m.Weight
    assert one.report.alone
    assert len(one.settled) == 40 or one.settled[-1] == END
    until(lambda: idle(served))


@by_each_rule
def test_a_device_that_says_nothing_is_not_waited_for(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, rule: Rule, place: Place
) -> None:
    monkeypatch.setattr(cloud_server.together, "PATIENCE_S", 0.3)
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
    monkeypatch.setattr(cloud_server.together, "CUT_S", 0.1)
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
        ("algorithm1", "device", m.CloseCode.ILLEGAL, [m.Switch(1, 3, 0, 190)]),
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
    for one in said:
        phone.socket.send(codec._binary.encode(one))
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
    monkeypatch.setattr(cloud_server.together, "PATIENCE_S", 0.3)
    served = serve()
    phone = Phone(served.url, served.token()).connects()
    request = phone.asks(DANUBE, credit=0, ahead=8, rule=rule, place=place)
    phone.says(m.Weight(1, 11.0))
    for one in said:
        phone.says(one)
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
    hands = cloud_server.together.Hands

    def lying(say: Callable[[m.JointFromServer], None], *rest: Any) -> cloud_server.together.Hands:
        return hands(lambda one: say(one if isinstance(one, m.Weight) else forged), *rest)

    monkeypatch.setattr("cloud_server.requests.Hands", lying)
    served = serve()
    one = written(served, together(sampling=WARM, rule=rule, place=place))
    assert one.report.alone.startswith("the server does not keep to the protocol")
    assert (one.report.together, one.settled != []) == (0, True)
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
            assert joint._ear.qsize() <= aggregated.MOST_WAITING + 1
            assert list(joint.pieces(asked.prompt, asked.similarities))


@pytest.mark.parametrize("forged", [(5, b"12345"), (2000, bytes(2000)), (1037, bytes(1037))])
def test_a_rest_that_is_forged_ends_the_session_with_the_server(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, forged: tuple[int, bytes]
) -> None:
    size, data = forged
    monkeypatch.setattr(
        cloud_server.together, "pieces", lambda request, position, _: [m.Rest(request, position, 0, size, data)]
    )
    one = written(serve(Flat(0.0)), together(texts=(BOAT,), similarity=EVEN, rule="greedy", max_tokens=20), Flat(0.0))
    assert one.report.alone.startswith("the server does not keep to the protocol")
    assert len(one.settled) == 20


@by_each_rule
def test_a_server_with_a_wrong_weight_hangs_nobody(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, rule: Rule, place: Place
) -> None:
    hands = cloud_server.together.Hands

    def lying(say: Callable[[m.JointFromServer], None], *rest: Any) -> cloud_server.together.Hands:
        return hands(lambda one: say(m.Weight(1, -3.0) if isinstance(one, m.Weight) else one), *rest)

    monkeypatch.setattr(aggregated, "PATIENCE_S", 0.5)
    monkeypatch.setattr("cloud_server.requests.Hands", lying)
    served = serve()
    one = written(served, together(sampling=WARM, rule=rule, place=place))
    assert one.settled[-1] == END or len(one.settled) == 120
    until(lambda: idle(served))


# What leaves.


@pytest.mark.parametrize("engine", [Slow, Flat])
@pytest.mark.parametrize(("rule", "place"), [("coupled", "both"), ("greedy", "device"), ("algorithm1", "device")])
def test_no_distribution_goes_up(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, rule: Rule, place: Place, engine: type[Slow]
) -> None:
    sent: list[Frame] = []
    raw = Link._send_raw

    def noted(link: Link, frames: list[Frame]) -> int:
        sent.extend(frames)
        return raw(link, frames)

    monkeypatch.setattr(Link, "_send_raw", noted)
    monkeypatch.setattr(Measured, "gives", lambda one, machine: False)
    served = serve(engine(0.002))
    asked = together(sampling=WARM, rule=rule, place=place, max_tokens=40)
    with linked(served.url, served.token()) as link:
        assert link.wait(30).connected
        time.sleep(0.05)
        sent.clear()
        one = Written(link, asked, engine(0.002))
        until(lambda: not link._session.alive)
    said = [codec.from_device(frame) for frame in sent if isinstance(frame, bytes)]
    allowed: dict[Rule, set[type]] = {"coupled": {m.Drafts}, "greedy": {m.Targets, m.Fetch}, "algorithm1": {m.Targets}}
    kinds = {m.Ask, m.Weight, m.Acknowledge, m.Ping, m.Cancel} | allowed[rule]
    assert {type(message) for message in said} <= kinds
    assert not any(message.distributions for message in said if isinstance(message, m.Drafts))
    settled = [token for message in said if isinstance(message, m.Targets) for token in message.ids]
    assert settled == (one.settled if rule != "coupled" else [])
    report = one.report
    assert (report.settled_sent, report.distributions_sent) == (len(settled), 0)
    told = "of the answer's tokens" if rule != "coupled" else "draft tokens of the answer"
    count = len(settled) or report.drafts_sent
    assert f"{count} {told}" in report.sent
    assert len(report.sent) == 4
