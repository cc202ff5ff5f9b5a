"""The device's weight at each position of a joint answer: which one counts, and which messages are refused."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.aggregation.messages import Reweight, Weight
from shared.aggregation.shares import DeviceShares
from shared.aggregation.weights import device_share
from shared.errors import ProtocolError
from shared.protocol.messages import CloseCode


def weighed(every: int, server: float = 0.0) -> DeviceShares:
    """Return the weights of an answer of 64 tokens, of which both sides' weights for the question are known."""
    shares = DeviceShares(64)
    assert not shares.weigh("device", Weight(1.0, every))
    assert shares.weigh("server", Weight(server))
    return shares


def test_no_weight_is_known_before_both_sides_passages_are() -> None:
    shares = DeviceShares(64)
    shares.follow(Reweight(16, 0.5))
    shares.weigh("device", Weight(1.0, 8))
    assert (shares.first, shares.at(0), shares.at(16)) == (None, None, None)
    shares.weigh("server", Weight(1.0))
    assert (shares.first, shares.at(15), shares.at(16)) == (0.5, 0.5, device_share(0.5, 0.0))


def test_a_weight_counts_from_its_position_to_the_next() -> None:
    shares, plain = weighed(8), weighed(0)
    first = device_share(1.0, 0.0)
    assert {shares.at(position) for position in range(16)} == {first}
    assert {plain.at(position) for position in range(64)} == {first}
    assert {shares.at(position) for position in range(16, 64)} == {None}
    shares.follow(Reweight(16, -1.0))
    shares.follow(Reweight(32, 2.0))
    assert {shares.at(position) for position in range(16, 24)} == {device_share(-1.0, 0.0)}
    assert {shares.at(position) for position in range(24, 32)} == {None}
    assert {shares.at(position) for position in range(32, 40)} == {device_share(2.0, 0.0)}


@given(st.floats(-2000, 2000))
def test_every_weight_in_bounds_is_a_probability(log_odds: float) -> None:
    shares = weighed(1)
    shares.follow(Reweight(2, log_odds))
    share = shares.at(2)
    assert share is not None
    assert 0 <= share <= 1
    assert share == pytest.approx(1 / (1 + math.exp(-max(min(log_odds, 700), -700))))


@pytest.mark.parametrize(
    ("reweight", "code"),
    [
        (Reweight(16, 0.5), None),
        (Reweight(16, 0.4), CloseCode.ILLEGAL),
        (Reweight(24, 2000.5), CloseCode.MALFORMED),
        (Reweight(24, math.inf), CloseCode.MALFORMED),
        (Reweight(24, math.nan), CloseCode.MALFORMED),
        (Reweight(64, 0.5), CloseCode.ORDER),
        (Reweight(0, 0.5), CloseCode.ORDER),
    ],
)
def test_a_weight_that_cannot_be_is_refused(reweight: Reweight, code: CloseCode | None) -> None:
    shares = weighed(8)
    shares.follow(Reweight(16, 0.5))
    if code is None:
        shares.follow(reweight)
        return
    with pytest.raises(ProtocolError) as caught:
        shares.follow(reweight)
    assert caught.value.code == code


@pytest.mark.parametrize("again", [Weight(1.5, 8), Weight(1.0, 16), Weight(1.0)])
def test_a_second_weight_for_the_question_is_refused(again: Weight) -> None:
    shares = weighed(8)
    assert shares.weigh("device", Weight(1.0, 8)), "repeated after a cut"
    with pytest.raises(ProtocolError, match="two different weights"):
        shares.weigh("device", again)
