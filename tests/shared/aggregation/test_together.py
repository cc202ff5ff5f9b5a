"""Both sides of a joint answer and a network that delays and reorders: the text is that of one process, and they always
end.
"""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.aggregation import drafts, rules
from shared.aggregation.messages import Place, Rule
from shared.aggregation.noise import Stream, uniforms
from shared.aggregation.terms import Terms
from shared.side import Side
from tests.shared.aggregation.goodness import excess, power
from tests.shared.aggregation.world import SIDES, Models, World, at_random, reference, share, terms

MODELS = [Models(seed) for seed in range(20)]

HOW: list[tuple[Rule, Place]] = [
    ("coupled", "both"),
    ("coupled", "device"),
    ("coupled", "server"),
    ("algorithm1", "both"),
    ("algorithm1", "device"),
    ("algorithm1", "server"),
    ("greedy", "device"),
]

distances = st.sampled_from([0, 0, 1, 3, 8])
"""After how many tokens the device's weight changes; 0 for never."""

log_hs = st.sampled_from([0.0, 0.3, -1.0, float("-inf")])


def played(
    rule: Rule, place: Place, seed: int, log_h: tuple[float, float] = (0.0, 0.0), switching: float = 0.0, every: int = 0
) -> World:
    """Simulate one answer with random delays, and return its world.

    `switching` is the probability with which the aggregation is handed over; the device's weight changes after every
    `every` tokens.
    """
    draw = np.random.Generator(np.random.Philox(seed))
    world = World(
        terms(rule, place, seed=seed, ahead=int(draw.integers(1, 8))),
        MODELS[seed % 20],
        at_random(draw),
        log_h,
        scheduler=(lambda world, side: bool(draw.random() < switching)) if switching else None,
        copies=lambda: 1 + int(draw.random() < 0.2),
        every=every,
    )
    world.begin((draw.exponential(), draw.exponential(3.0)))
    return world


def alone(models: Models, terms: Terms, accepted: list[int]) -> list[int]:
    """Return the answer as the device continues it alone."""
    written = list(accepted)
    while len(written) < terms.max_tokens and not (written and written[-1] in terms.ends):
        written.append(models.draft(terms.rule, "device", terms.seed, tuple(written)).token)
    return written


@pytest.mark.parametrize(("rule", "place"), HOW)
@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**63),
    log_h=st.tuples(log_hs, log_hs),
    switching=st.sampled_from([0.0, 0.1, 0.5]),
    every=distances,
)
def test_under_any_interleaving_both_sides_write_what_one_process_would(
    rule: Rule, place: Place, seed: int, log_h: tuple[float, float], switching: float, every: int
) -> None:
    """Exactly the same answer, token for token, not only the same distribution, whatever is late or overtaken."""
    world = played(rule, place, seed, log_h, switching, every)
    world.run()
    device, server = (world.players[side] for side in SIDES)
    expected = reference(world.models, device.machine.terms, share(world), every)
    if device.alone:
        assert share(world) == 1
        expected = alone(world.models, device.machine.terms, expected[: device.alone.position])
    assert device.machine.settled == expected
    assert device.over is not None
    assert device.over.reason in ("end", "length")
    assert server.over is not None
    if not device.alone:
        assert server.machine.settled == expected
        assert server.over == device.over


@pytest.mark.parametrize("place", SIDES)
@pytest.mark.parametrize("rule", ["algorithm1", "coupled"])
@settings(max_examples=80, deadline=None)
@given(
    seed=st.integers(0, 2**63),
    log_h=st.sampled_from([-1.4, 0.0, 1.4]),
    moments=st.sets(st.integers(0, 23), min_size=1),
    every=distances,
)
def test_at_whatever_moments_the_side_changes_no_token_is_lost_or_doubled(
    rule: Rule, place: Place, seed: int, log_h: float, moments: set[int], every: int
) -> None:
    """The aggregating side hands over once after each number of final tokens in `moments`."""
    draw = np.random.Generator(np.random.Philox(seed))
    left = set(moments)

    def hands(world: World, side: Side) -> bool:
        machine = world.players[side].machine
        due = {moment for moment in left if machine.aggregates and moment <= len(machine.settled)}
        left.difference_update(due)
        return bool(due)

    fixed, pace = terms(rule, place, seed=seed, ahead=int(draw.integers(1, 8))), at_random(draw)
    world = World(
        fixed,
        MODELS[seed % 20],
        pace,
        (log_h, 0.0),
        scheduler=hands,
        copies=lambda: int(draw.integers(1, 3)),
        every=every,
    )
    world.begin((draw.exponential(), draw.exponential(3.0)))
    world.run()
    device, server = (world.players[side] for side in SIDES)
    expected = reference(world.models, device.machine.terms, share(world), every)
    assert [token for _, token in device.emitted] == device.machine.settled == server.machine.settled == expected
    assert device.over == server.over


@pytest.mark.parametrize(("rule", "place"), HOW)
@settings(max_examples=60, deadline=None)
@given(data=st.data(), seed=st.integers(0, 2**63), lost=st.sampled_from(SIDES), every=distances)
def test_whenever_a_side_is_lost_the_other_ends(
    rule: Rule, place: Place, data: st.DataObject, seed: int, lost: Side, every: int
) -> None:
    world = played(rule, place, seed, switching=0.2, every=every)
    world.patience = 20.0
    world.after(data.draw(st.floats(0, 30)), lambda: world.lose(lost))
    world.run()
    left = world.players["server" if lost == "device" else "device"]
    assert left.over is not None
    if lost == "server":
        assert left.over.reason in ("end", "length")
        expected = reference(world.models, left.machine.terms, share(world), every)
        start = left.alone.position if left.alone else len(expected)
        assert left.machine.settled[:start] == expected[:start]
        if left.alone:
            assert left.machine.settled == alone(world.models, left.machine.terms, expected[:start])


@pytest.mark.parametrize(("rule", "place"), HOW)
@settings(max_examples=20, deadline=None)
@given(data=st.data(), seed=st.integers(0, 2**63), side=st.sampled_from(SIDES))
def test_whenever_it_is_cancelled_both_end(
    rule: Rule, place: Place, data: st.DataObject, seed: int, side: Side
) -> None:
    world = played(rule, place, seed)
    world.after(data.draw(st.floats(0, 30)), lambda: world.cancel(side))
    world.run()
    assert all(player.over for player in world.players.values())


SHORT = Models(8, vocabulary=3, distance=2.0, sharp=0.8, kept=(2, 3))
SEQUENCES = 1500
SEQUENCE = 3


def laws(device_share: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the probability by the mixture of each sequence of SEQUENCE tokens over a vocabulary of three."""
    results = []
    for sequence in product(range(3), repeat=SEQUENCE):
        likely = 1.0
        for position, token in enumerate(sequence):
            device, server = (SHORT.quantised(side, sequence[:position]).count(token) / 65535 for side in SIDES)
            likely *= device_share * device + (1 - device_share) * server
        results.append(likely)
    return np.array(results)


def written(rule: Rule, place: Place, switching: float) -> list[int]:
    return [sequence(rule, place, switching, seed) for seed in range(SEQUENCES)]


def sequence(rule: Rule, place: Place, switching: float, seed: int) -> int:
    draw = np.random.Generator(np.random.Philox(seed))
    world = World(
        terms(rule, place, seed=seed, vocabulary=3, max_tokens=SEQUENCE, ends=frozenset()),
        SHORT,
        at_random(draw),
        scheduler=(lambda world, side: bool(draw.random() < switching)) if switching else None,
    )
    world.begin()
    world.run()
    first, second, third = world.players["device"].machine.settled
    return 9 * first + 3 * second + third


@pytest.mark.long
@pytest.mark.parametrize(
    ("rule", "place", "switching"),
    [("coupled", "both", 0.0), ("coupled", "device", 0.3), ("algorithm1", "server", 0.3)],
)
def test_sequences_over_the_network_follow_the_mixture(rule: Rule, place: Place, switching: float) -> None:
    """A G-test at level 1e-5 on 1,500 answers of three tokens: it detects a total variation of .14 with probability
    98%.
    """
    assert excess(written(rule, place, switching), laws(0.5)) < 1


def test_what_the_test_of_sequences_would_catch() -> None:
    freedom = int((laws(0.5) > 0).sum()) - 1
    assert power(0.14, SEQUENCES, freedom) > 0.98


def test_drafts_matched_by_position_alone_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong rule, the one published: a draft is used if its position matches, even if tokens before it have
    changed.
    """
    monkeypatch.setattr(drafts.DraftQueue, "at", lambda self, position: self._entries.get(position))
    monkeypatch.setattr(drafts.DraftQueue, "_check", lambda self, drafts, settled: None)
    assert excess(written("coupled", "device", 0.0), laws(0.5)) > 1.5


def test_a_coin_that_is_one_of_the_drafts_numbers_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong rule: the side is chosen by a random number with which a draft was drawn, too."""

    def author(seed: int, position: int, device_share: float) -> Side:
        return "device" if uniforms(seed, position, Stream.TOKENS, 1)[0] < device_share else "server"

    monkeypatch.setattr(rules, "author", author)
    assert excess(written("coupled", "both", 0.0), laws(0.5)) > 1.5
