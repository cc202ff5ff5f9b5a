"""An aggregator's messages encoded for the link and decoded again: all of them arrive, within the protocol's limits."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.aggregation import messages as a
from shared.aggregation.distribution import HEAD_BYTES, Top, encode, quantise, top
from shared.aggregation.wire import Assembly, enough, from_wire, pieces, to_wire
from shared.errors import ProtocolError
from shared.protocol import codec
from shared.protocol import messages as m

VOCABULARY = 300


def over(peer: m.JointFromServer) -> m.Event:
    """Encode and decode a message of the server, and return the event that arrives."""
    arrived = codec.from_server(codec.server_frame(m.Numbered(1, peer)))
    assert isinstance(arrived, m.Numbered)
    return arrived.event


tokens = st.lists(st.integers(0, VOCABULARY - 1), min_size=1, max_size=200).map(tuple)


@given(tokens)
def test_targets_of_any_length_arrive(ids: tuple[int, ...]) -> None:
    parts = [from_wire(part, VOCABULARY) for part in to_wire(1, a.Targets(3, ids))]
    assert [token for part in parts if isinstance(part, a.Targets) for token in part.tokens] == list(ids)
    assert [part.position for part in parts if isinstance(part, a.Targets)] == list(
        range(3, 3 + len(ids), m.MOST_TARGETS)
    )


@given(st.lists(st.integers(0, VOCABULARY - 1), min_size=1, max_size=m.MOST_AHEAD).map(tuple), st.booleans())
def test_drafts_arrive_with_what_they_are_drawn_from(ids: tuple[int, ...], quantised: bool) -> None:
    given = tuple(quantise([part], [1.0]) for part in ids) if quantised else ()
    parts = [over(part) for part in to_wire(1, a.Drafts(2, 5, ids, given), 0.0041)]
    back = [from_wire(part, VOCABULARY) for part in parts if isinstance(part, m.Drafts)]
    assert [token for part in back if isinstance(part, a.Drafts) for token in part.tokens] == list(ids)
    assert {part.step_us for part in parts if isinstance(part, m.Drafts)} == {4100}
    assert sum(len(part.distributions) for part in back if isinstance(part, a.Drafts)) == len(given)


@pytest.mark.parametrize("message", [a.Weight(-math.inf), a.Weight(12.5), a.Switch(9, 4, 7)])
def test_what_is_small_arrives(message: a.Weight | a.Switch) -> None:
    [part] = to_wire(1, message)
    assert from_wire(part, VOCABULARY) == message


@pytest.mark.parametrize("vocabulary", [VOCABULARY, 49_152, 300_000])
@pytest.mark.parametrize("count", [1, 256, 4096, 40_000, 10**6])
def test_a_rest_arrives_and_takes_no_more_than_the_whole(vocabulary: int, count: int) -> None:
    weights = np.random.default_rng(0).random(vocabulary, np.float32)
    given = top(weights / weights.sum(), enough(count, vocabulary))
    assert len(given.ids) >= min(count, vocabulary)
    sent = list(pieces(1, 7, given))
    assert sum(len(part.data) for part in sent) <= 4 * vocabulary + HEAD_BYTES
    assembly = Assembly(vocabulary)
    *early, last = [assembly.put(part) for part in map(over, sent) if isinstance(part, m.Rest)]
    assert early == [None] * len(early)
    assert last
    assert last.position == 7
    assert np.array_equal(last.distribution.ids, given.ids)
    assert np.array_equal(last.distribution.probabilities, given.probabilities)


WHOLE = encode(top(np.full(VOCABULARY, 1 / VOCABULARY, np.float32), VOCABULARY))


@pytest.mark.parametrize(
    "piece",
    [
        m.Rest(1, 0, 5, len(WHOLE), WHOLE[5:]),
        m.Rest(1, 0, 0, 4 * VOCABULARY + HEAD_BYTES + 1, WHOLE),
        m.Rest(1, 0, 0, len(WHOLE), bytes(len(WHOLE))),
        m.Rest(1, 0, 0, 9, encode(quantise([5], [1.0]))),
    ],
    ids=["not the first", "too large", "nothing", "of another kind"],
)
def test_a_rest_that_is_none_is_refused(piece: m.Rest) -> None:
    with pytest.raises(ProtocolError):
        Assembly(VOCABULARY).put(piece)


def test_a_rest_that_begins_anew_replaces_what_was_half_there() -> None:
    assembly = Assembly(VOCABULARY)
    assert assembly.put(m.Rest(1, 0, 0, len(WHOLE), WHOLE[:100])) is None
    rest = assembly.put(m.Rest(1, 1, 0, len(WHOLE), WHOLE))
    assert rest
    assert isinstance(rest.distribution, Top)
    assert rest.position == 1
