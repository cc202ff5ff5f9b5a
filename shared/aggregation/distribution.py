"""A side's next-token distribution, in the form that both sides use, and its wire format.

Sampling rules need exactly the distribution that the draft was drawn from: truncate, quantise, then draw. Greedy
decoding needs the exact probabilities of the likeliest tokens, and a bound on the rest.
"""

import struct
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from shared.errors import ProtocolError
from shared.protocol.messages import CloseCode

Ids = npt.NDArray[np.int64]

TOTAL: Final = 65535
"""The sum of a quantised distribution's counts, so that even the count of a certain token fits 16 bits."""

MOST_ENTRIES: Final = 4096
"""The most entries of a quantised distribution: at most 24 KiB on the wire."""

_HEAD: Final = struct.Struct("<BI")

HEAD_BYTES: Final = _HEAD.size


@dataclass(frozen=True, slots=True, eq=False)
class Quantised:
    """A distribution as ascending token ids and positive counts, both of shape (n,).

    The counts are in units of 1/65535 and sum to 1.
    """

    ids: Ids
    counts: Ids

    def count(self, token: int) -> int:
        """Return the token's count; 0 if truncation or quantisation dropped the token."""
        place = int(np.searchsorted(self.ids, token))
        return int(self.counts[place]) if place < len(self.ids) and self.ids[place] == token else 0


@dataclass(frozen=True, slots=True, eq=False)
class Top:
    """The likeliest tokens: ascending ids, shape (n,), and their exact probabilities, float32, shape (n,).

    `whole`: no token was left out. Otherwise every omitted token is at most as likely as the least likely one here.
    """

    ids: Ids
    probabilities: npt.NDArray[np.float32]
    whole: bool

    @property
    def bound(self) -> float:
        """An upper bound on the probability of an omitted token."""
        return 0.0 if self.whole else float(self.probabilities.min(initial=1.0))


Distribution = Quantised | Top


def quantise(ids: npt.ArrayLike, probabilities: npt.ArrayLike) -> Quantised:
    """Return the distribution as counts that sum to 65535, with the largest remainders rounded up, without counts of 0.

    `ids` ascend; probabilities are non-negative, need not sum to 1, and at least one is positive; shapes (n,). Keeps
    the 4,096 likeliest tokens. Raises ValueError for an invalid distribution.
    """
    tokens, weights = np.asarray(ids, np.int64), np.asarray(probabilities, np.float64)
    if tokens.shape != weights.shape or not ((weights >= 0).all() and 0 < weights.sum() < np.inf):
        raise ValueError("not a distribution: a probability is negative or not finite, or all are 0")
    if len(tokens) > MOST_ENTRIES:
        border = np.partition(weights, -MOST_ENTRIES)[-MOST_ENTRIES]
        above, level = np.flatnonzero(weights > border), np.flatnonzero(weights == border)
        kept = np.sort(np.concatenate([above, level[: MOST_ENTRIES - len(above)]]))
        tokens, weights = tokens[kept], weights[kept]
    exact = weights / weights.sum() * TOTAL
    counts = np.floor(exact).astype(np.int64)
    short = TOTAL - int(counts.sum())
    counts[np.argsort(counts - exact, kind="stable")[:short]] += 1
    return Quantised(tokens[counts > 0], counts[counts > 0])


def top(probabilities: npt.NDArray[np.float32], count: int) -> Top:
    """Return the `count` likeliest tokens, or all if there are fewer; `probabilities`, shape (v,), are by token id."""
    if count >= len(probabilities):
        return Top(np.arange(len(probabilities)), probabilities.astype(np.float32), whole=True)
    ids = np.sort(np.argpartition(-probabilities, count)[:count])
    return Top(ids, probabilities[ids].astype(np.float32), whole=False)


def encode(distribution: Distribution) -> bytes:
    """Return the wire bytes of a distribution.

    They are 5, and for each token 4 (`Quantised`) or 6 (`Top`), and 2 more if an id has more than 16 bits. A whole
    `Top` has no ids, and takes 4 for each token.
    """
    wide = bool(distribution.ids[-1] >= 2**16)
    exact = isinstance(distribution, Top)
    whole = isinstance(distribution, Top) and distribution.whole
    head = _HEAD.pack(wide | exact << 1 | whole << 2, len(distribution.ids))
    ids = b"" if whole else distribution.ids.astype("<u4" if wide else "<u2").tobytes()
    values = distribution.probabilities.astype("<f4") if isinstance(distribution, Top) else distribution.counts
    return head + ids + (values if exact else values.astype("<u2")).tobytes()


def decode(data: bytes, vocabulary: int) -> Distribution:
    """Return the distribution from the bytes of `encode`.

    Raises ProtocolError if they are not a distribution over token ids below `vocabulary`.
    """
    if len(data) < _HEAD.size:
        raise _malformed("is cut short")
    kind, count = _HEAD.unpack_from(data)
    wide, exact, whole = kind & 1, kind & 2, kind & 4
    limit = vocabulary if exact else min(vocabulary, MOST_ENTRIES)
    id_bytes = 0 if whole else count * (4 if wide else 2)
    if kind > 7 or not 0 < count <= limit or len(data) != _HEAD.size + id_bytes + count * (4 if exact else 2):
        raise _malformed("has a length that does not fit its header")
    if bool(whole) != (bool(exact) and count == vocabulary):
        raise _malformed("claims wrongly to cover the whole vocabulary, or not to")
    ids = (
        np.arange(count) if whole else np.frombuffer(data, "<u4" if wide else "<u2", count, _HEAD.size).astype(np.int64)
    )
    values = np.frombuffer(data, "<f4" if exact else "<u2", count, _HEAD.size + id_bytes)
    if ids[-1] >= vocabulary or (np.diff(ids) <= 0).any():
        raise _malformed("has token ids that do not rise, or lie outside the vocabulary")
    if not exact:
        counts = values.astype(np.int64)
        if counts.min() == 0 or counts.sum() != TOTAL:
            raise _malformed("has probabilities that do not sum to 1")
        return Quantised(ids, counts)
    probabilities = values.astype(np.float32)
    least, known = float(probabilities.min()), float(probabilities.sum(dtype=np.float64))
    # NaN fails both comparisons. Single-precision sums over a whole vocabulary are well within this tolerance.
    if not (least >= 0 and known <= 1.001 and known + least * (vocabulary - count) >= 0.999):
        raise _malformed("has probabilities that do not sum to 1")
    return Top(ids, probabilities, whole=bool(whole))


def _malformed(why: str) -> ProtocolError:
    return ProtocolError(CloseCode.MALFORMED, f"A distribution {why}.")
