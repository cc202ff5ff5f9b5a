"""`link.aggregation` over a real socket: whichever side makes the tokens final, and whenever that changes, the text is
the same.
"""

import re
from collections.abc import Iterable
from contextlib import closing
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cloud_server.sessions.joint
from device_app.companion.dispatch.memory import PRIOR_RATES, Memory
from device_app.companion.dispatch.public import PublicQuestions
from device_app.companion.joint.aggregated import Aggregated
from device_app.companion.joint.scheduling import Scheduling
from device_app.companion.link.credentials import Credentials
from device_app.companion.link.link import Link
from device_app.question.answer import Answer
from device_app.question.options import Aggregation
from models.sampling import SamplingSettings
from shared.aggregation.aggregator import Aggregator
from shared.aggregation.measured import Measured
from shared.aggregation.messages import Place
from shared.protocol import codec
from shared.protocol import messages as m
from tests.companion import Serve, Slow
from tests.faults import until
from tests.household import DEVICE_FREE, Home, home
from tests.jointly import WARM, Written, expected, frames_sent, together
from tests.lying import Said, lying
from tests.racing import linked

__all__ = ["home"]

ROWED = "We rowed on the Danube through Vienna in May."
BOTH = "Through which European countries does the Danube flow, where we rowed?"
SETTINGS: tuple[Aggregation, ...] = ("auto", "both", "device", "server", "scheduled")
OPEN: dict[str, Any] = {
    "together": True,
    "open": True,
    "fresh": True,
    "sampling": SamplingSettings(temperature=2.0, seed=4, min_p=0.05),
}


def asked(home: Home, aggregation: Aggregation, **options: Any) -> Answer:
    return home.ask(BOTH, **{**OPEN, "aggregation": aggregation, **options})


def ready(home: Home) -> None:
    """Wait until the round-trip time to the server is known; the files contain a part of the answer."""
    home.add("rowed.md", ROWED)
    assert home.public.link.wait(30).connected
    until(lambda: home.public.link.state.round_trip_s)


def written(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """Record the tokens of each joint answer from now on."""
    every: list[tuple[int, ...]] = []
    leave = Aggregated.__exit__

    def noted(joint: Aggregated, *how: object) -> None:
        every.append(tuple(joint._machine.settled))
        leave(joint, *how)

    monkeypatch.setattr(Aggregated, "__exit__", noted)
    return every


def test_the_answer_is_the_same_under_every_setting_and_each_says_who_settled_it(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready(home)
    tokens = written(monkeypatch)
    answers = {setting: asked(home, setting) for setting in SETTINGS}
    assert {answer.origin for answer in answers.values()} == {"aggregated"}
    assert (len(tokens), len(set(tokens))) == (len(SETTINGS), 1)
    for setting, answer in answers.items():
        assert any(f"link.aggregation = {setting}" in reason for reason in answer.decided), answer.decided
    settled = {
        setting: any("of the answer's tokens" in item for item in answer.egress.items)
        for setting, answer in answers.items()
    }
    assert (settled["device"], settled["server"], settled["both"]) == (True, False, False)
    revealed = {setting for setting, answer in answers.items() if "distributions" in str(answer.egress.items)}
    assert revealed >= {"both", "server"}
    assert "device" not in revealed
    learned = home.public.memory.held.profile
    assert set(learned.ratios) >= {"both", "device", "server", "scheduled"}
    assert learned.offered == frozenset({"device", "server", "scheduled"})


def test_weights_follow_the_text_by_the_setting_and_the_ledger_says_so(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever settles, the answer is the same; only a server that may settle is told the weights."""
    ready(home)
    tokens = written(monkeypatch)
    answers = {setting: asked(home, setting, weights_every=4) for setting in SETTINGS}
    assert (len(tokens), len(set(tokens))) == (len(SETTINGS), 1)
    asked(home, "both")
    assert tokens[-1] != tokens[0]
    revealed = {setting: "the answer so far" in str(answer.egress.items) for setting, answer in answers.items()}
    assert (revealed["both"], revealed["server"], revealed["device"]) == (True, True, False)
    assert "the answer so far" not in str(asked(home, "both", weights_every=4, open=False).egress.items)


@pytest.mark.parametrize(
    ("options", "rule"),
    [({"open": False}, "coupled"), ({"sampling": SamplingSettings(temperature=0.0)}, "greedy")],
)
def test_where_privacy_or_temperature_leaves_one_place_the_setting_changes_nothing(
    home: Home, options: dict[str, Any], rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pace is learned all the same, for later forecasts: that of the rule, and the server's own."""
    ready(home)
    tokens = written(monkeypatch)
    answers = [asked(home, setting, **options) for setting in ("auto", "server", "scheduled")]
    assert (len(tokens), len(set(tokens))) == (3, 1)
    assert len({re.sub(r"\d+", "", str(answer.egress.items)) for answer in answers}) == 1
    assert not any("link.aggregation" in reason for answer in answers for reason in answer.decided)
    learned = home.public.memory.held
    assert set(learned.profile.ratios) == {rule}
    assert learned.rates["server"] != PRIOR_RATES["server"]


def as_before(said: Said) -> Iterable[Said | str]:
    """Return a server's message without the fields of `link.aggregation`, as an older server sends it."""
    if not isinstance(said, m.Welcome):
        return (said,)
    welcome = msgspec.to_builtins(said)
    del welcome["offer"]["aggregation"]
    return (msgspec.json.encode(welcome).decode(),)


def test_with_an_older_server_both_sides_settle_and_the_answer_says_so(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready(home)
    tokens = written(monkeypatch)
    asked(home, "both")
    sent = frames_sent(monkeypatch)
    with lying(home.served, home.served.token("old"), lambda: as_before) as url:
        old = PublicQuestions(
            lambda: Link(Credentials(url, "anything"), m.Hello(m.VERSIONS, "fake", "fake", "test")),
            home.public.source,
            DEVICE_FREE,
            Memory(home.folder / "old.json"),
        )
        with closing(old):
            home.public.close()
            home.public = old
            answer = asked(home, "scheduled")
            sent_before, kept_here = len(sent), asked(home, "device")
    assert kept_here.origin == "aggregated"
    assert [said.place for said in map(codec.from_device, sent[sent_before:]) if isinstance(said, m.Ask)] == ["device"]
    assert not any("distributions" in item for item in kept_here.egress.items)
    del sent[sent_before:]
    assert (answer.origin, len(tokens), len(set(tokens))) == ("aggregated", 3, 1)
    assert any("the server's version offers no other way" in reason for reason in answer.decided)
    asks = [said for said in map(codec.from_device, sent) if isinstance(said, m.Ask)]
    assert [(ask.place, ask.round_trip_ms) for ask in asks] == [("both", 0)]
    assert old.memory.held.profile.offered == frozenset()


def switches(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Record the messages with which a server hands the aggregation over to the device, from now on."""
    sent: list[object] = []
    say = cloud_server.sessions.joint.Joint._say

    def noted(joint: cloud_server.sessions.joint.Joint, message: Any) -> None:
        if type(message).__name__ == "Switch":
            sent.append(message)
        say(joint, message)

    monkeypatch.setattr(cloud_server.sessions.joint.Joint, "_say", noted)
    return sent


@pytest.mark.parametrize("scheduled", [True, False])
def test_a_server_that_settles_hands_over_once_it_is_told_how_far_the_device_is(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, scheduled: bool
) -> None:
    """The device drafts more slowly than the server, and the server was asked before the round-trip time was known."""
    handed, served = switches(monkeypatch), serve(Slow(0.0))
    for room in ("link", "heartbeat"):
        monkeypatch.setattr(f"device_app.companion.link.{room}.PING_S", 0.05)
    asked_ = together(sampling=WARM, rule="algorithm1", place="server")
    asked_ = replace(asked_, together=replace(asked_.together, scheduled=scheduled))
    sent = frames_sent(monkeypatch)
    with linked(served.url, served.token()) as link:
        assert link.wait(30).connected
        monkeypatch.setattr(asked_.together.__class__, "ask", without_round_trip(asked_.together.__class__.ask))
        joint = Written(link, asked_, Slow(0.02))
    assert (joint.report.alone, joint.settled) == ("", expected(asked_))
    distances = [said for said in map(codec.from_device, sent) if isinstance(said, m.RoundTrip)]
    assert (bool(distances), bool(handed), bool(joint.report.changes)) == (scheduled, scheduled, scheduled)


def without_round_trip(ask: Any) -> Any:
    """Return a version of `ask` that does not know the round-trip time, as before the first pong."""
    return lambda question, terms, _: ask(question, terms, None)


@pytest.mark.parametrize("place", ["device", "server"])
def test_a_fixed_side_settles_to_the_end_although_the_other_would_be_better(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, place: Place
) -> None:
    handed, slow, quick = switches(monkeypatch), Slow(0.01), Slow(0.0)
    served = serve(slow if place == "device" else quick)
    asked_ = together(sampling=WARM, rule="algorithm1", place=place)
    asked_ = replace(asked_, together=replace(asked_.together, scheduled=False))
    sent = frames_sent(monkeypatch)
    with linked(served.url, served.token()) as link:
        until(lambda: link.state.round_trip_s)
        joint = Written(link, asked_, quick if place == "device" else slow)
    assert (joint.report.alone, joint.settled, joint.report.changes) == ("", expected(asked_), 0)
    assert not handed
    assert not [said for said in map(codec.from_device, sent) if isinstance(said, m.Switch | m.RoundTrip)]


@pytest.mark.long
@pytest.mark.parametrize("cut", [False, True])
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    moments=st.lists(st.integers(0, 60), min_size=1, max_size=30, unique=True),
    place=st.sampled_from(["device", "server"]),
    seed=st.integers(0, 50),
)
def test_at_whatever_moments_the_side_changes_the_answer_is_that_of_one_process(
    serve: Serve, cut: bool, moments: list[int], place: Place, seed: int
) -> None:
    """`moments` are numbers of final tokens after which the aggregating side changes; at a third of them the connection
    is cut, too.
    """
    given_at: set[int] = set()

    def gives(measured: Measured, machine: Aggregator) -> bool:
        count = len(machine.settled)
        due = machine.aggregates and count in moments and count not in given_at
        given_at.update({count} if due else ())
        return due

    served, sampling = serve(Slow(0.001)), replace(WARM, seed=seed)
    asked_ = together(sampling=sampling, rule="algorithm1", place=place, max_tokens=60)
    cuts = set(sorted(moments)[::3][:2]) if cut else set()

    def acting(joint: Written) -> None:
        if len(joint.tokens) in cuts:
            served.cuts()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Measured, "gives", gives)
        patch.setattr(Scheduling, "gives", lambda watched, _: gives(watched._measured, watched._machine))
        with linked(served.url, served.token()) as link:
            assert link.wait(30).connected
            joint = Written(link, asked_, Slow(0.001), acting)
    assert (joint.report.alone, joint.settled) == ("", expected(asked_))
    assert joint.report.changes <= len(given_at)
