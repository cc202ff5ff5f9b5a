"""The state machine of one side of a joint answer, event by event."""

import math

import numpy as np
import pytest

from shared.aggregation import rules
from shared.aggregation.aggregator import Aggregator, JointPhase
from shared.aggregation.distribution import Top, quantise
from shared.aggregation.messages import (
    Cancelled,
    Drafted,
    Drafts,
    Emit,
    Event,
    Fetch,
    Finish,
    GoAlone,
    HandOver,
    Lost,
    Place,
    Rest,
    RollBack,
    Rule,
    Send,
    Stop,
    Supplied,
    Supply,
    Switch,
    Targets,
    Weighed,
    Weight,
)
from shared.aggregation.terms import Terms
from shared.errors import ProtocolError
from shared.side import Side

VOCABULARY = 100


def machine(side: Side = "device", rule: Rule = "coupled", place: Place = "both", seed: int = 0) -> Aggregator:
    terms = Terms(side, rule, place, seed, VOCABULARY, max_tokens=20, ends=frozenset({0}), ahead=4)
    live = Aggregator(terms)
    assert live.receive(Weighed(0.0)) == [Send(Weight(0.0))]
    assert live.receive(Weight(0.0)) == []
    return live


def seed_with(*authors: Side) -> int:
    """Return a random seed with which the given sides contribute the first tokens."""
    return next(
        seed
        for seed in range(10_000)
        if all(rules.author(seed, position, 0.5) == side for position, side in enumerate(authors))
    )


def test_ones_own_position_is_settled_at_once_and_told() -> None:
    live = machine(seed=seed_with("device", "device"))
    assert live.next_draft == 0
    assert live.receive(Drafted(0, 0, 7)) == [Send(Drafts(0, 0, (7,))), Emit(0, 7)]
    assert not live.waits
    assert live.next_draft == 1


def test_the_others_position_waits_for_its_draft_and_drafts_on_to_a_cap() -> None:
    live = machine(seed=seed_with("server", "server", "device", "server"))
    for position in range(4):
        assert live.receive(Drafted(0, position, 7)) == [Send(Drafts(0, position, (7,)))]
    assert live.waits
    assert live.next_draft is None
    assert live.receive(Drafts(0, 0, (7, 7))) == [Emit(0, 7), Emit(1, 7), Emit(2, 7)]
    assert live.next_draft == 4
    assert live.waits


def test_a_wrong_guess_rolls_back_and_begins_an_epoch() -> None:
    live = machine(seed=seed_with("server", "device"))
    live.receive(Drafted(0, 0, 7))
    live.receive(Drafted(0, 1, 8))
    assert live.receive(Drafts(0, 0, (9,))) == [Emit(0, 9), RollBack(keep=0, tokens=(9,), epoch=1)]
    assert live.receive(Drafted(0, 2, 9)) == []  # drawn before
    assert live.receive(Drafted(1, 1, 5)) == [Send(Drafts(1, 1, (5,))), Emit(1, 5)]
    assert live.judged["device"].accepted == 1
    assert live.judged["device"].drafts == 2


def test_a_side_that_is_behind_catches_up_in_one_step() -> None:
    live = machine(seed=seed_with("server", "server", "server", "device"))
    assert live.receive(Drafts(0, 0, (4, 5, 6))) == [
        Emit(0, 4),
        Emit(1, 5),
        Emit(2, 6),
        RollBack(keep=0, tokens=(4, 5, 6), epoch=3),
    ]
    assert live.next_draft == 3


def test_nothing_is_settled_before_both_sides_are_weighed() -> None:
    live = Aggregator(Terms("device", "coupled", "both", seed_with("server"), VOCABULARY, 20))
    assert live.receive(Drafts(0, 0, (7,))) == []
    assert live.waits
    assert live.receive(Weight(0.0)) == []
    assert live.receive(Weighed(0.0)) == [Send(Weight(0.0)), Emit(0, 7), RollBack(0, (7,), 1)]


def test_a_server_without_passages_is_left_at_once() -> None:
    live = Aggregator(Terms("device", "coupled", "both", 0, VOCABULARY, 20))
    live.receive(Weighed(0.0))
    live.receive(Drafted(0, 0, 7))
    stop, alone, emit = live.receive(Weight(-math.inf))
    assert (stop, emit) == (Send(Stop()), Emit(0, 7))
    assert isinstance(alone, GoAlone)
    assert live.receive(Drafted(0, 1, 8)) == [Emit(1, 8)]


def test_a_device_without_passages_takes_all_from_the_server() -> None:
    live = Aggregator(Terms("device", "coupled", "both", 0, VOCABULARY, 20))
    live.receive(Weighed(-math.inf))
    live.receive(Weight(0.0))
    assert [command for command in live.receive(Drafts(0, 0, (7, 8))) if isinstance(command, Emit)] == [
        Emit(0, 7),
        Emit(1, 8),
    ]


def test_an_end_token_ends_it_and_nothing_is_drafted_behind_a_guessed_one() -> None:
    live = machine(seed=seed_with("server", "device"))
    live.receive(Drafted(0, 0, 0))
    assert live.next_draft is None
    assert live.receive(Drafts(0, 0, (7,))) == [Emit(0, 7), RollBack(0, (7,), 1)]
    assert live.receive(Drafted(1, 1, 0)) == [Send(Drafts(1, 1, (0,))), Emit(1, 0), Finish("end")]
    assert live.next_draft is None
    assert live.receive(Drafts(0, 2, (9,))) == []


def test_no_more_than_the_length_allowed() -> None:
    live = Aggregator(Terms("device", "coupled", "both", seed_with("device", "device"), VOCABULARY, max_tokens=2))
    live.receive(Weighed(0.0))
    live.receive(Weight(0.0))
    live.receive(Drafted(0, 0, 7))
    assert live.receive(Drafted(0, 1, 8))[1:] == [Emit(1, 8), Finish("length")]


def test_who_aggregates_tells_what_was_settled() -> None:
    seed = seed_with("server", "device")
    live, follower = machine(place="device", seed=seed), machine("server", place="device", seed=seed)
    assert not follower.aggregates
    assert follower.receive(Drafted(0, 0, 7)) == [Send(Drafts(0, 0, (7,)))]
    follower.receive(Drafted(0, 1, 3))
    live.receive(Drafted(0, 0, 7))
    live.receive(Drafted(0, 1, 8))
    assert live.receive(Drafts(0, 0, (7,))) == [Emit(0, 7), Emit(1, 8), Send(Targets(0, (7, 8)))]
    assert follower.receive(Targets(0, (7, 8))) == [Emit(0, 7), Emit(1, 8), RollBack(1, (8,), 2)]


def test_the_aggregation_is_handed_over_with_the_drafts_that_were_not_sent() -> None:
    seed = seed_with("device", "server", "server")
    live, follower = machine(place="device", seed=seed), machine("server", place="device", seed=seed)
    for position in range(3):
        live.receive(Drafted(0, position, 7))
    switch, drafts = live.receive(HandOver())
    assert switch == Send(Switch(1, mine=0, yours=0))
    assert drafts == Send(Drafts(0, 1, (7, 7)))
    assert not live.aggregates
    assert live.receive(HandOver()) == []
    assert follower.receive(Switch(1, mine=0, yours=0)) == []
    assert not follower.aggregates  # until it knows all that was settled before
    follower.receive(Targets(0, (7,)))
    assert follower.aggregates
    assert follower.receive(Switch(1, mine=0, yours=0)) == []  # a copy
    assert follower.receive(HandOver()) == []  # not before something was settled here
    assert follower.receive(Drafted(1, 1, 5)) == [Emit(1, 5), Send(Targets(1, (5,)))]


def test_algorithm_1_sends_the_distribution_and_settles_from_both() -> None:
    live = machine("server", "algorithm1", "server")
    held = quantise([3, 4], [1, 1])
    assert live.receive(Drafted(0, 0, 3, held)) == []
    assert live.waits
    emit, targets, *_ = live.receive(Drafts(0, 0, (3,), (held,)))
    assert isinstance(emit, Emit)
    assert targets == Send(Targets(0, (emit.token,)))
    follower = machine("device", "algorithm1", "server")
    assert follower.receive(Drafted(0, 0, 3, held)) == [Send(Drafts(0, 0, (3,), (held,)))]


def few(*likely: float) -> Top:
    return Top(np.arange(1, len(likely) + 1), np.array(likely, np.float32), whole=False)


def test_greedy_fetches_what_it_cannot_prove_and_only_once() -> None:
    live = machine("device", "greedy", "device")
    assert live.receive(Drafted(0, 0, 1, few(0.4, 0.3))) == []
    commands = live.receive(Drafts(0, 0, (3,), (Top(np.array([3]), np.array([0.4], np.float32), whole=False),)))
    assert commands == [Supply(0, 32), Send(Fetch(0, 16))]
    whole = np.full(VOCABULARY, 0.001, np.float32)
    whole[1:3] = 0.45, 0.3
    assert live.receive(Supplied(0, Top(np.arange(VOCABULARY), whole, whole=True))) == []
    assert live.waits
    whole = whole.copy()
    whole[1:3] = 0.3, 0.46
    rest = Rest(0, Top(np.arange(VOCABULARY), whole, whole=True))
    assert live.receive(rest) == [Emit(0, 2), Send(Targets(0, (2,))), RollBack(0, (2,), 1)]
    assert live.receive(rest) == []


def test_greedy_fetches_again_what_was_too_little_and_a_late_copy_takes_nothing_back() -> None:
    live = Aggregator(Terms("device", "greedy", "device", 0, vocabulary=1000, max_tokens=20))
    live.receive(Weighed(0.0))
    live.receive(Weight(0.0))
    flat = np.full(1000, 0.001, np.float32)
    live.receive(Drafted(0, 0, 0, Top(np.arange(1000), flat, whole=True)))
    few = Top(np.arange(500, 502), flat[:2], whole=False)
    assert live.receive(Drafts(0, 0, (500,), (few,))) == [Send(Fetch(0, 32))]
    more = Top(np.arange(500, 532), flat[:32], whole=False)
    assert live.receive(Rest(0, more)) == [Send(Fetch(0, 512))]
    assert live.receive(Rest(0, few)) == []
    assert live.receive(Rest(0, Top(np.arange(1000), flat, whole=True)))[0] == Emit(0, 0)
    assert live.receive(Drafted(0, 1, 0, Top(np.arange(1000), flat, whole=True))) == []
    assert live.receive(Drafts(1, 1, (500,), (few,))) == [Send(Fetch(1, 32))]


def test_greedy_answers_a_fetch() -> None:
    live = machine("server", "greedy", "device")
    assert live.receive(Drafted(0, 0, 1, few(0.4, 0.3))) == [Send(Drafts(0, 0, (1,), (few_sent := live_top(live),)))]
    assert len(few_sent.ids) == 2
    assert live.receive(Fetch(0, 32)) == [Supply(0, 32)]
    more = few(0.4, 0.3, 0.1)
    assert live.receive(Supplied(0, more)) == [Send(Rest(0, more))]
    assert live.receive(Supplied(9, more)) == []
    assert live.receive(Fetch(9, 32)) == []


def live_top(live: Aggregator) -> Top:
    held = live._own.at(0)
    assert held is not None
    assert isinstance(held.distribution, Top)
    return held.distribution


def test_a_device_that_lost_the_server_goes_on_alone_from_what_it_drafted() -> None:
    live = machine(seed=seed_with("server", "server"))
    live.receive(Drafted(0, 0, 7))
    live.receive(Drafted(0, 1, 8))
    assert live.receive(Lost("the connection was lost")) == [
        GoAlone(0, "the connection was lost"),
        Emit(0, 7),
        Emit(1, 8),
    ]
    assert not live.waits
    assert live.receive(Drafts(0, 2, (9,))) == []
    assert live.receive(Drafted(0, 2, 3)) == [Emit(2, 3)]
    assert live.receive(Lost("again")) == []
    assert live.receive(Drafted(0, 3, 0)) == [Emit(3, 0), Finish("end")]


def test_a_server_without_its_device_ends() -> None:
    assert machine("server").receive(Lost("the connection was lost")) == [Finish("lost")]
    assert machine("server").receive(Stop()) == [Finish("cancelled")]


def test_a_cancelled_answer_tells_the_other_side() -> None:
    live = machine()
    assert live.receive(Cancelled()) == [Send(Stop()), Finish("cancelled")]
    assert live.phase is JointPhase.OVER
    assert live.receive(Drafted(0, 0, 7)) == []


@pytest.mark.parametrize(
    ("place", "event"),
    [
        pytest.param("both", Targets(0, (1,)), id="settled by whom?"),
        pytest.param("device", Targets(0, (1,)), id="settled by the other side"),
        pytest.param("server", Targets(0, ()), id="nothing settled"),
        pytest.param("server", Targets(0, (VOCABULARY,)), id="no token"),
        pytest.param("server", Targets(19, (1, 2)), id="beyond the answer"),
        pytest.param("server", Targets(-1, (1,)), id="before it"),
        pytest.param("device", Switch(0, 0, 0), id="handed over by who does not aggregate"),
        pytest.param("server", Switch(2, 3, 0), id="a chain of the future"),
        pytest.param("server", Switch(2, 0, 7), id="an epoch that never was"),
        pytest.param("server", Switch(20, 0, 0), id="handed over at the end"),
        pytest.param("both", Fetch(0, 16), id="nobody needs a distribution"),
        pytest.param("both", Weight(1.0), id="weighed twice"),
        pytest.param("both", Weight(math.nan), id="no weight"),
        pytest.param("both", Drafts(0, 99, (1,)), id="far ahead"),
        pytest.param("both", Rest(0, Top(np.array([VOCABULARY]), np.ones(1, np.float32), whole=False)), id="no token"),
    ],
)
def test_forged_messages_are_refused_and_the_answer_goes_on_alone(place: Place, event: Event) -> None:
    live = machine(place=place)
    with pytest.raises(ProtocolError):
        live.receive(event)
    assert live.settled == []
    live.receive(Lost("it broke the rules"))
    assert live.receive(Drafted(live.epoch, 0, 7)) == [Emit(0, 7)]


def test_a_token_settled_twice_and_differently_is_refused() -> None:
    live = machine(place="server")
    live.receive(Targets(1, (5,)))
    live.receive(Targets(1, (5,)))
    with pytest.raises(ProtocolError):
        live.receive(Targets(0, (4, 6)))


@pytest.mark.parametrize(
    "wrong", [{"rule": "greedy", "place": "both"}, {"seed": -1}, {"seed": 2**64}, {"ahead": 0}, {"max_tokens": 0}]
)
def test_terms_that_nothing_can_be_written_on(wrong: dict[str, object]) -> None:
    plain: dict[str, object] = {"side": "device", "rule": "coupled", "place": "both", "seed": 0}
    with pytest.raises(ValueError, match=r"must be 'device'|64 bits"):
        Terms(**{**plain, "vocabulary": 9, "max_tokens": 9, **wrong})  # type: ignore[arg-type]
