"""Joint answers by each of the three rules over a real socket: the same as by one process, whatever is handed over,
cut, late or forged.
"""

import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

import cloud_server.sessions.joint
from cloud_server.engine.generation import Generation
from device_app.companion.joint import aggregated
from device_app.companion.joint.aggregated import Aggregated
from device_app.inference.local import LocalSource
from models.engine import Logits
from models.fake import END, FakeEmbedder, FakeEngine
from models.sampling import SamplingSettings
from shared.aggregation import messages as a
from shared.aggregation import rules
from shared.aggregation.aggregator import Aggregator
from shared.aggregation.measured import Measured
from shared.aggregation.messages import Place, Rule
from shared.aggregation.weights import device_share, log_weight
from shared.prompt import CHATML
from shared.protocol import codec
from shared.protocol import messages as m
from shared.trace import Trace
from tests.companion import FewPassages, Serve, Slow
from tests.faults import until
from tests.jointly import (
    BOAT,
    DANUBE,
    EVEN,
    WARM,
    Asked,
    Endless,
    Flat,
    Written,
    at,
    by_each_rule,
    by_one,
    expected,
    frames_sent,
    idle,
    public_passages,
    together,
    written,
)
from tests.limits import wait_at_most
from tests.racing import linked


class Blocked(FakeEngine):
    """A fake engine that prefills nothing until the event `let` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.let = threading.Event()

    def prefill(self, sequence: int, tokens: Sequence[int]) -> Logits:
        assert self.let.wait(30)
        return super().prefill(sequence, tokens)


class Stuck(FakeEngine):
    """A fake engine that prefills a prompt, but decodes nothing until the event `let` is set."""

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

    def counted(generation: Generation, key: int, position: int, count: int) -> None:
        fetched.append(position)
        supply(generation, key, position, count)

    monkeypatch.setattr(Generation, "supply", counted)
    sampling = SamplingSettings(repetition_penalty=penalty)
    asked = together(texts=texts, similarity=EVEN, sampling=sampling, rule="greedy", max_tokens=40)
    joint = written(serve(Flat(0.0)), asked, Flat(0.0))
    assert (joint.report.alone, joint.settled) == ("", expected(asked, lambda: Flat(0.0)))
    assert len(fetched) > 5


@pytest.mark.long
@pytest.mark.parametrize("rows", [1, 2, 3])
@by_each_rule
def test_of_several_rows_on_the_server(serve: Serve, rule: Rule, place: Place, rows: int) -> None:
    asked = together(sampling=WARM, rule=rule, place=place, rows=rows, passages=3)
    joint = written(serve(retrieval={"relevance": -1.0}), asked)
    everything = FewPassages().search(FakeEmbedder().embed([DANUBE])[0], 3)
    assert (joint.report.alone, joint.report.passages) == ("", tuple(everything))
    assert joint.settled == by_one(asked, everything, FakeEngine(), FakeEngine())


@pytest.mark.long
@pytest.mark.parametrize(("device", "server"), [(0.0, 0.004), (0.004, 0.0)])
@by_each_rule
def test_whichever_side_is_slower(serve: Serve, rule: Rule, place: Place, device: float, server: float) -> None:
    asked = together(sampling=WARM, rule=rule, place=place)
    assert written(serve(Slow(server)), asked, Slow(device)).settled == expected(asked)


@pytest.mark.long
@pytest.mark.parametrize("place", ["device", "server"])
@pytest.mark.parametrize("every", [2, 3, 7])
def test_handed_to_and_fro_across_rejections_it_stays_the_same(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, place: Place, every: int
) -> None:
    given: list[tuple[str, int]] = []

    def gives(measured: Measured, machine: Aggregator) -> bool:
        due = machine.aggregates and len(machine.settled) % every == 0
        if due:
            given.append((measured.side, len(machine.settled)))
        return due

    monkeypatch.setattr(Measured, "gives", gives)
    asked = together(sampling=WARM, rule="algorithm1", place=place)
    joint = written(serve(Slow(0.001)), asked, Slow(0.001))
    assert (joint.report.alone, joint.settled) == ("", expected(asked))
    assert {side for side, _ in given} == {"device", "server"}
    assert min(drafts - accepted for drafts, accepted in joint.report.judged.values()) > 0


@pytest.mark.parametrize(("place", "device", "server"), [("device", 0.0, 0.02), ("server", 0.02, 0.0)])
def test_the_slower_side_comes_to_settle(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, place: Place, device: float, server: float
) -> None:
    switched: list[object] = []
    say = cloud_server.sessions.joint.Joint._say
    on_message = cloud_server.sessions.joint.Joint.on_message

    def said(joint: cloud_server.sessions.joint.Joint, message: Any) -> None:
        switched.extend([message] if isinstance(message, a.Switch) else [])
        say(joint, message)

    def receive(joint: cloud_server.sessions.joint.Joint, message: Any) -> None:
        switched.extend([message] if isinstance(message, m.Switch) else [])
        on_message(joint, message)

    monkeypatch.setattr(cloud_server.sessions.joint.Joint, "_say", said)
    monkeypatch.setattr(cloud_server.sessions.joint.Joint, "on_message", receive)
    for room in ("link", "heartbeat"):
        monkeypatch.setattr(f"device_app.companion.link.{room}.PING_S", 0.05)
    asked, served = together(sampling=WARM, rule="algorithm1", place=place), serve(Slow(server))
    with linked(served.url, served.token()) as link:
        until(lambda: link.state.round_trip_s)
        joint = Written(link, asked, Slow(device))
    assert (joint.report.alone, joint.settled) == ("", expected(asked))
    assert switched
    assert isinstance(switched[0], m.Switch if place == "device" else a.Switch)


def test_without_leave_the_device_hands_nothing_over(serve: Serve) -> None:
    with pytest.raises(ValueError, match="stay on the device"):
        aggregated.JointQuestion(DANUBE, WARM, 9, 1, rule="algorithm1", place="both")
    plain = together(sampling=WARM, rule="algorithm1", place="device")
    closed = aggregated.JointQuestion(DANUBE, WARM, plain.together.max_tokens, 1, rule="algorithm1")
    assert (closed.at, closed.open) == ("device", False)
    asked, served = Asked(closed, plain.prompt, plain.similarities), serve(Slow(0.02))
    with linked(served.url, served.token()) as link:
        until(lambda: link.state.round_trip_s)
        joint = Written(link, asked, Slow(0.0))
    assert joint.settled == expected(asked)
    assert (joint.report.drafts_sent, joint.report.distributions_sent) == (0, 0)


# In two steps.


def test_the_server_writes_its_first_tokens_while_the_device_still_reads(serve: Serve) -> None:
    share = device_share(log_weight([0.55]), log_weight([hit.similarity for hit in public_passages(together())]))
    seed = next(number for number in range(99) if all(rules.author(number, at, share) == "server" for at in range(3)))
    asked = together(sampling=SamplingSettings(temperature=3.0, seed=seed))
    device = Blocked()
    joint = written(serve(), asked, device, acting=at(2, device.let.set))
    assert (joint.report.alone, joint.settled) == ("", expected(asked))


def test_greedily_a_server_that_counts_most_need_not_wait_for_the_device_either(serve: Serve) -> None:
    asked, device = together(similarity=EVEN - 0.2, rule="greedy"), Blocked()
    joint = written(serve(), asked, device, acting=at(2, device.let.set))
    assert (joint.report.alone, joint.settled) == ("", expected(asked))


def test_greedily_a_device_that_counts_most_need_not_wait_for_the_server(serve: Serve) -> None:
    asked, server = together(texts=(BOAT,), similarity=EVEN + 0.2, rule="greedy"), Stuck()
    joint = written(serve(server), asked)
    server.let.set()
    assert (joint.report.alone, joint.settled) == ("", expected(asked))


@by_each_rule
def test_the_server_has_begun_before_the_device_knows_its_passages(serve: Serve, rule: Rule, place: Place) -> None:
    asked, served = together(sampling=WARM, rule=rule, place=place), serve()
    joint = written(served, asked, opening=lambda: until(lambda: not idle(served)))
    assert (joint.report.alone, joint.settled) == ("", expected(asked))


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
    assert [message.token for message in said] == expected(asked)[:5]
    assert [message.cut for message in said] == [False] * 4 + [True]


# Cuts, ends, and nothing found.


@pytest.mark.long
@pytest.mark.parametrize("moment", [1, 7, 20])
@by_each_rule
def test_a_connection_that_was_cut_is_resumed(serve: Serve, rule: Rule, place: Place, moment: int) -> None:
    asked, served = together(sampling=WARM, rule=rule, place=place), serve(Slow(0.002))
    assert len(expected(asked)) > moment
    joint = written(served, asked, Slow(0.002), acting=at(moment, served.cuts))
    assert (joint.report.alone, joint.settled) == ("", expected(asked))


@pytest.mark.parametrize("moment", [1, 9])
def test_a_cut_while_the_rest_is_fetched_is_resumed(serve: Serve, moment: int) -> None:
    asked, served = together(texts=(BOAT,), similarity=EVEN, rule="greedy", max_tokens=40), serve(Flat(0.002))
    joint = written(served, asked, Flat(0.002), acting=at(moment, served.cuts))
    assert (joint.report.alone, joint.settled) == ("", expected(asked, lambda: Flat(0.0)))


@by_each_rule
def test_without_the_server_the_device_goes_on(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, rule: Rule, place: Place
) -> None:
    wait_at_most(monkeypatch, token_s=0.5)
    asked, served = together(sampling=WARM, rule=rule, place=place), serve(Slow(0.002))
    joint = written(served, asked, Slow(0.002), acting=at(7, served.dies))
    count = joint.report.together
    assert joint.report.alone
    assert joint.settled[:count] == expected(asked)[:count]
    assert len(joint.settled) > count or joint.settled[-1] == END


@pytest.mark.long
@by_each_rule
def test_an_end_that_only_one_side_knows_hangs_nobody(serve: Serve, rule: Rule, place: Place) -> None:
    asked, served = together(sampling=WARM, rule=rule, place=place), serve(Endless(0.001))
    assert written(served, asked).settled == expected(asked)
    until(lambda: idle(served))
    joint = written(serve(), asked, Endless(0.001))
    count = len(expected(asked))
    assert joint.settled[:count] == expected(asked) or joint.report.alone


@by_each_rule
def test_with_nothing_on_one_side_the_other_writes(serve: Serve, rule: Rule, place: Place) -> None:
    asked = together(texts=(), sampling=WARM, rule=rule, place=place)
    joint = written(serve(), asked)
    assert (joint.report.alone, joint.settled) == ("", expected(asked))
    alone = written(serve(), together("Toothache?", sampling=WARM, rule=rule, place=place))
    assert alone.report.alone.endswith("failed: The server found no passages for the question.")
    assert alone.settled


@by_each_rule
def test_with_little_room_for_what_is_not_acknowledged_it_stays_the_same(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, rule: Rule, place: Place
) -> None:
    monkeypatch.setattr("shared.protocol.server.MOST_KEPT_EVENTS", 5)
    monkeypatch.setattr("shared.protocol.device.ACKNOWLEDGE_EVENTS", 3)
    asked = together(texts=(BOAT,), similarity=EVEN, sampling=WARM, rule=rule, place=place, max_tokens=40)
    served = serve(Flat(0.001))
    joint = written(served, asked, Flat(0.001))
    assert (joint.report.alone, joint.settled) == ("", expected(asked, lambda: Flat(0.0)))
    until(lambda: idle(served))


# What leaves.


@pytest.mark.parametrize("engine", [Slow, Flat])
@pytest.mark.parametrize(("rule", "place"), [("coupled", "both"), ("greedy", "device"), ("algorithm1", "device")])
def test_no_distribution_goes_up(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, rule: Rule, place: Place, engine: type[Slow]
) -> None:
    sent = frames_sent(monkeypatch)
    monkeypatch.setattr(Measured, "gives", lambda _, machine: False)
    served = serve(engine(0.002))
    asked = together(sampling=WARM, rule=rule, place=place, max_tokens=40)
    with linked(served.url, served.token()) as link:
        assert link.wait(30).connected
        time.sleep(0.05)
        sent.clear()
        joint = Written(link, asked, engine(0.002))
        until(lambda: not link._session.alive)
    said = [codec.from_device(frame) for frame in sent if isinstance(frame, bytes)]
    allowed: dict[Rule, set[type]] = {"coupled": {m.Drafts}, "greedy": {m.Targets, m.Fetch}, "algorithm1": {m.Targets}}
    kinds = {m.Ask, m.Weight, m.Acknowledge, m.Ping, m.Cancel} | allowed[rule]
    assert {type(message) for message in said} <= kinds
    assert not any(message.distributions for message in said if isinstance(message, m.Drafts))
    settled = [token for message in said if isinstance(message, m.Targets) for token in message.ids]
    assert settled == (joint.settled if rule != "coupled" else [])
    report = joint.report
    assert (report.settled_sent, report.distributions_sent) == (len(settled), 0)
    expected = "of the answer's tokens" if rule != "coupled" else "draft tokens of the answer"
    count = len(settled) or report.drafts_sent
    assert f"{count} {expected}" in report.sent
    assert len(report.sent) == 4
