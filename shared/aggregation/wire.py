"""Converts the aggregator's messages to link messages and back.

The memory used is bounded by the vocabulary, in whatever order messages arrive.
"""

import math
from collections.abc import Iterator

from shared.aggregation import messages as a
from shared.aggregation.distribution import HEAD_BYTES, Top, decode, encode
from shared.errors import ProtocolError
from shared.protocol import messages as m
from shared.protocol.messages import CloseCode


def to_wire(
    request: int, message: a.Weight | a.Drafts | a.Targets | a.Switch, step_s: float = 0.0
) -> Iterator[m.Weight | m.Drafts | m.Targets | m.Switch]:
    """Convert a message into link messages within their size limits; `step_s`: the seconds per draft, 0 if unknown."""
    match message:
        case a.Weight(log_h):
            yield m.Weight(request, None if log_h == -math.inf else log_h)
        case a.Drafts(epoch, position, tokens, distributions):
            step_us = min(round(step_s * 1e6), 2**31 - 1)
            most = m.MOST_SAID if distributions else m.MOST_AHEAD
            for first in range(0, len(tokens), most):
                encoded = tuple(map(encode, distributions[first : first + most]))
                yield m.Drafts(request, epoch, position + first, tokens[first : first + most], encoded, step_us)
        case a.Targets(position, tokens):
            for first in range(0, len(tokens), m.MOST_TARGETS):
                yield m.Targets(request, position + first, tokens[first : first + m.MOST_TARGETS])
        case a.Switch(position, mine, yours):
            yield m.Switch(request, position, mine, yours)


def from_wire(
    message: m.Weight | m.FollowingWeight | m.Reweight | m.Drafts | m.Targets | m.Switch | m.Fetch, vocabulary: int
) -> a.Weight | a.Reweight | a.Drafts | a.Targets | a.Switch | a.Fetch:
    """Convert a link message into the aggregator's form.

    Raises ProtocolError for a distribution that does not fit the vocabulary.
    """
    said: a.Weight | a.Reweight | a.Drafts | a.Targets | a.Switch | a.Fetch
    match message:
        case m.Weight(_, log_h):
            said = a.Weight(-math.inf if log_h is None else log_h)
        case m.FollowingWeight(_, log_h, every):
            said = a.Weight(log_h, every)
        case m.Reweight(_, position, log_odds):
            said = a.Reweight(position, log_odds)
        case m.Drafts(_, epoch, position, ids, distributions):
            decoded = tuple(decode(distribution, vocabulary) for distribution in distributions)
            said = a.Drafts(epoch, position, ids, decoded)
        case m.Targets(_, position, ids):
            said = a.Targets(position, ids)
        case m.Switch(_, position, mine, yours):
            said = a.Switch(position, mine, yours)
        case m.Fetch(_, position, count):
            said = a.Fetch(position, count)
    return said


def enough(count: int, vocabulary: int) -> int:
    """Return how many of the likeliest tokens to send in reply to a request of `count` tokens: all tokens, if that
    takes no more bytes.

    `vocabulary` is the number of all tokens.
    """
    return count if count * (8 if vocabulary > 2**16 else 6) < 4 * vocabulary else vocabulary


def pieces(request: int, position: int, distribution: Top) -> Iterator[m.Rest]:
    """Yield the reply to a Fetch: the bytes of the distribution, in pieces of at most PIECE_BYTES."""
    data = encode(distribution)
    for offset in range(0, len(data), m.PIECE_BYTES):
        yield m.Rest(request, position, offset, len(data), data[offset : offset + m.PIECE_BYTES])


class Assembly:
    """Assembles a distribution from pieces. Holds at most the bytes of a whole distribution over the vocabulary."""

    def __init__(self, vocabulary: int) -> None:
        self._vocabulary = vocabulary
        self._held = bytearray()

    def put(self, piece: m.Rest) -> a.Rest | None:
        """Add a piece; return the distribution after the last piece, else None.

        Raises ProtocolError for an invalid or out-of-order piece.
        """
        if piece.offset == 0:
            self._held.clear()
        if piece.size > 4 * self._vocabulary + HEAD_BYTES or piece.offset != len(self._held):
            raise ProtocolError(CloseCode.ORDER, "A piece of a distribution came out of order, or has the wrong size.")
        self._held += piece.data
        if len(self._held) < piece.size:
            return None
        data = bytes(self._held)
        self._held.clear()
        distribution = decode(data, self._vocabulary)
        if not isinstance(distribution, Top):
            raise ProtocolError(
                CloseCode.MALFORMED, "A quantised distribution came where probabilities were requested."
            )
        return a.Rest(piece.position, distribution)
