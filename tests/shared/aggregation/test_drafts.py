"""The queue of the other side's drafts in a joint answer: which drafts it keeps."""

import numpy as np
import pytest

from shared.aggregation.distribution import Top, quantise
from shared.aggregation.drafts import Chain, DraftQueue
from shared.aggregation.messages import Drafts
from shared.errors import ProtocolError


def queue() -> DraftQueue:
    return DraftQueue("coupled", vocabulary=100, max_tokens=50, ahead=8)


def token(held: DraftQueue, position: int) -> int | None:
    draft = held.at(position)
    return draft.token if draft else None


def test_a_chain_is_used_as_long_as_it_is_right() -> None:
    held = queue()
    held.put(Drafts(0, 0, (10, 11, 12, 13)), [])
    assert token(held, 0) == 10
    assert token(held, 1) is None  # what comes before is not settled
    held.follow([10, 11])
    assert token(held, 2) == 12
    held.follow([10, 11, 99])
    assert token(held, 3) is None
    assert (held.judged.drafts, held.judged.accepted) == (3, 2)


def test_stale_drafts_are_dropped_and_the_next_epoch_goes_on() -> None:
    held = queue()
    held.put(Drafts(0, 0, (10, 11)), [])
    held.follow([99])
    held.put(Drafts(0, 2, (12,)), [99])
    assert token(held, 1) is None
    held.put(Drafts(1, 1, (21,)), [99])
    assert token(held, 1) == 21
    held.put(Drafts(0, 1, (11,)), [99])
    assert token(held, 1) == 21
    held.follow([99, 21])
    held.put(Drafts(0, 2, (12,)), [99, 21])
    assert token(held, 2) is None
    assert len(held) == 0


def test_a_future_epoch_waits_until_it_begins() -> None:
    held = queue()
    held.put(Drafts(2, 2, (22, 23)), [])
    held.put(Drafts(0, 0, (10, 11)), [])
    assert token(held, 0) == 10
    held.follow([10])
    assert token(held, 1) == 11
    held.follow([10, 99])
    assert token(held, 2) == 22
    held.follow([10, 99, 22])
    assert token(held, 3) == 23


def test_of_several_chains_that_begin_meanwhile_the_newest_counts() -> None:
    held = queue()
    held.put(Drafts(3, 3, (33,)), [])
    held.put(Drafts(1, 1, (21, 22, 23)), [])
    held.put(Drafts(0, 0, (10,)), [])
    held.follow([99, 98, 97])  # settled at once: this side was behind
    assert token(held, 3) == 33


def test_any_order_and_any_number_of_copies_give_the_same() -> None:
    held = queue()
    for position in (2, 0, 2, 1, 0, 3):
        held.put(Drafts(0, position, (10 + position,)), [])
    held.follow([10, 11, 12])
    held.put(Drafts(0, 1, (11, 12)), [10, 11, 12])
    assert token(held, 3) == 13
    assert len(held) == 1


def test_a_copy_that_differs_changes_nothing() -> None:
    held = queue()
    held.put(Drafts(0, 0, (10,)), [])
    held.put(Drafts(0, 0, (66,)), [])
    assert token(held, 0) == 10


def test_a_draft_is_judged_once() -> None:
    held = queue()
    for _ in range(3):
        held.put(Drafts(0, 0, (10, 11)), [99])
    assert (held.judged.drafts, held.judged.accepted) == (1, 0)


def test_a_side_that_was_behind_begins_a_chain_without_a_rejection() -> None:
    held = queue()
    held.put(Drafts(0, 0, (10,)), [])
    held.follow([10, 11, 12])
    held.put(Drafts(3, 3, (13,)), [10, 11, 12])
    assert token(held, 3) == 13
    assert (held.judged.drafts, held.judged.accepted) == (1, 1)


FLAT = quantise(np.arange(4), np.ones(4))
FEW = Top(np.arange(4), np.full(4, 0.2, np.float32), whole=False)


@pytest.mark.parametrize(
    ("rule", "drafts"),
    [
        pytest.param("coupled", Drafts(0, 0, ()), id="none"),
        pytest.param("coupled", Drafts(-1, 0, (1,)), id="an epoch below 0"),
        pytest.param("coupled", Drafts(5, 4, (1,)), id="before its chain"),
        pytest.param("coupled", Drafts(0, 0, (1,) * 9), id="more than may be ahead"),
        pytest.param("coupled", Drafts(0, 50, (1,)), id="beyond the answer"),
        pytest.param("coupled", Drafts(0, 49, (1, 2)), id="across its end"),
        pytest.param("coupled", Drafts(0, 2**40, (1,)), id="far beyond"),
        pytest.param("coupled", Drafts(0, 0, (100,)), id="no token"),
        pytest.param("coupled", Drafts(0, 0, (-1,)), id="a negative token"),
        pytest.param("coupled", Drafts(0, 0, (1,), (FLAT,)), id="a distribution that nobody asked for"),
        pytest.param("algorithm1", Drafts(0, 0, (1,)), id="no distribution"),
        pytest.param("algorithm1", Drafts(0, 0, (1, 2), (FLAT,)), id="one missing"),
        pytest.param("algorithm1", Drafts(0, 0, (1,), (FEW,)), id="of the wrong kind"),
        pytest.param("algorithm1", Drafts(0, 0, (5,), (FLAT,)), id="a draft that it cannot have given"),
        pytest.param("algorithm1", Drafts(0, 0, (1,), (quantise([1, 100], [1, 1]),)), id="beyond the vocabulary"),
        pytest.param("algorithm1", Drafts(0, 17, (1,), (FLAT,)), id="further than anybody can know"),
        pytest.param("greedy", Drafts(0, 0, (1,), (FLAT,)), id="greedy, of the wrong kind"),
    ],
)
def test_forged_drafts_are_refused_and_change_nothing(rule: str, drafts: Drafts) -> None:
    held = DraftQueue(rule, vocabulary=100, max_tokens=50, ahead=8)  # type: ignore[arg-type]
    with pytest.raises(ProtocolError):
        held.put(drafts, [])
    assert len(held) == 0


def test_what_a_hostile_side_can_make_us_keep_is_bounded() -> None:
    held = queue()
    for epoch in range(50):
        for position in range(epoch, 50):
            held.put(Drafts(epoch, position, (1,)), [])
    assert len(held) <= 50


def test_a_chain_keeps_what_was_right() -> None:
    chain = Chain()
    for token in (10, 11, 12):
        chain.append(token, FLAT)
    assert chain.since(1) == ((11, 12), (FLAT, FLAT))
    chain.follow(0, 10)
    chain.follow(1, 99)
    assert chain.end == 1
    assert chain.at(1) is None
    chain.restart(2)
    assert (chain.epoch, chain.end) == (2, 2)
    assert (chain.judged.drafts, chain.judged.accepted) == (2, 1)
