"""Gathering waiting drafts into common messages: the same drafts, in fewer messages."""

from hypothesis import given
from hypothesis import strategies as st

from shared.aggregation.distribution import quantise
from shared.aggregation.gathering import Gathering
from shared.aggregation.messages import Drafts, Targets

AHEAD = 4


def test_drafts_that_follow_one_another_become_one_message() -> None:
    gathering = Gathering(AHEAD)
    for position in range(6):
        gathering.add(Drafts(0, position, (position,)))
    assert gathering
    assert gathering.take() == [Drafts(0, 0, (0, 1, 2, 3)), Drafts(0, 4, (4, 5))]
    assert not gathering
    assert gathering.take() == []


def test_of_a_chain_that_was_given_up_only_what_may_have_been_right_goes() -> None:
    gathering = Gathering(AHEAD)
    for position in range(4):
        gathering.add(Drafts(0, position, (position,)))
    gathering.add(Drafts(2, 2, (9,)))
    gathering.add(Drafts(2, 3, (8,)))
    assert gathering.take() == [Drafts(0, 0, (0, 1)), Drafts(2, 2, (9, 8))]


@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=40))
def test_nothing_of_the_newest_chain_is_lost(steps: list[tuple[bool, bool]]) -> None:
    gathering, epoch = Gathering(AHEAD), 0
    sent: dict[int, int] = {}
    drawn: dict[int, int] = {}

    def take() -> None:
        for message in gathering.take():
            assert isinstance(message, Drafts)
            assert len(message.tokens) <= AHEAD
            sent.update({message.position + place: message.epoch for place in range(len(message.tokens))})

    for position, (restart, takes) in enumerate(steps):
        if restart:
            epoch, drawn = position, {}
        gathering.add(Drafts(epoch, position, (position,)))
        drawn[position] = epoch
        if takes:
            take()
    take()
    assert drawn.items() <= sent.items()


def test_settled_tokens_travel_together_and_drafts_with_what_they_are_drawn_from() -> None:
    gathering, given = Gathering(AHEAD), quantise([5], [1.0])
    for said in (Targets(0, (5,)), Targets(1, (6,)), Drafts(2, 2, (7,), (given,)), Drafts(2, 3, (8,), (given,))):
        gathering.add(said)
    assert gathering.take() == [Targets(0, (5, 6)), Drafts(2, 2, (7, 8), (given, given))]
    assert not gathering
