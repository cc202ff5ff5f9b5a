"""The three rules that turn two drafts into one token (DRAGON, section 4.1).

The token has the distribution of the mixture η^d p^d + η^s p^s, where p are the next-token distributions of device (d)
and server (s), and η their weights, which sum to 1. The rules are defined by device and server, not by local and
remote: the same inputs give the same token on either side. The sampling rules accept arrays with leading shapes, so
that tests on millions of draws run the production code.
"""

from functools import lru_cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from shared.aggregation.distribution import Ids, Quantised, Top
from shared.aggregation.messages import Draft, Rule
from shared.aggregation.noise import Stream, Uniforms, own, uniforms
from shared.side import Side

NOTHING: Final = Top(np.zeros(0, np.int64), np.zeros(0, np.float32), whole=False)
"""A distribution of which nothing is known: any token may have any probability up to 1."""

VERDICTS: Final = 4
"""The number of random numbers that `verdict` uses per position."""


def raced(weights: npt.NDArray[Any], chances: Uniforms) -> npt.NDArray[np.intp]:
    """Return an index drawn along the last axis, with probability proportional to its weight w.

    It is the argmax of log w + Gumbel noise, computed as the least of exponential waiting times. `weights` are positive
    and need not sum to 1; `chances` in [0, 1), one per entry. Shapes broadcast.
    """
    places: npt.NDArray[np.intp] = np.argmin(-np.log1p(-chances) / weights, axis=-1)
    return places


def draft(rule: Rule, side: Side, seed: int, position: int, ids: Ids, weights: npt.NDArray[Any]) -> int:
    """Draw a side's draft from its distribution, shapes (n,): counts of a `Quantised`, or any positive weights.

    Coupled: both sides share the noise of each token id, so that similar distributions give equal drafts. Algorithm 1:
    independent drafts. Greedy: the likeliest token (the lowest id on ties).
    """
    if rule == "greedy":
        return int(ids[np.argmax(weights)])
    stream = Stream.TOKENS if rule == "coupled" else own(side)
    chances = uniforms(seed, position, stream, int(ids[-1]) + 1)[ids]
    return int(ids[raced(weights, chances)])


@lru_cache(maxsize=4096)
def author(seed: int, position: int, device_share: float) -> Side:
    """Return the side whose draft is used at a position (coupled rule): a coin flip independent of the drafts.

    It is the device with the probability `device_share`, the device's weight in the mixture. Both sides know the result
    beforehand.
    """
    return "device" if uniforms(seed, position, Stream.COIN, 1)[0] < device_share else "server"


def decide(
    rule: Rule, seed: int, position: int, device_share: float, device: Draft | None, server: Draft | None
) -> int | None:
    """Return the token that the rule decides for a position, or None if the known drafts do not decide it.

    `device` and `server` are the sides' drafts at the position, None if not known; `device_share` is the device's
    weight in the mixture.
    """
    if rule == "coupled":
        chosen = device if author(seed, position, device_share) == "device" else server
        return None if chosen is None else chosen.token
    if rule == "greedy":
        # One side may be certain enough, with enough weight, that the other side cannot change the result.
        known = [NOTHING if draft is None else draft.distribution for draft in (device, server)]
        match known:
            case Top() as from_device, Top() as from_server:
                return greedy(from_device, from_server, device_share) if device or server else None
    elif device is None or server is None:
        return None
    elif isinstance(device.distribution, Quantised) and isinstance(server.distribution, Quantised):
        drafts = (device.token, device.distribution), (server.token, server.distribution)
        return algorithm1(seed, position, *drafts, device_share)
    raise TypeError(f"the rule {rule} was given another rule's kind of distribution")


def algorithm1(
    seed: int, position: int, device: tuple[int, Quantised], server: tuple[int, Quantised], device_share: float
) -> int:
    """Return the token that DRAGON's Algorithm 1 decides from each side's draft and its distribution.

    γ, the probability of using the device's corrected draft instead of the server's, is 1/2.
    """
    (token_d, from_d), (token_s, from_s) = device, server
    ids = np.union1d(from_d.ids, from_s.ids)
    counts = np.zeros((2, len(ids)), np.int64)
    for row, side in zip(counts, (from_d, from_s), strict=True):
        row[np.searchsorted(ids, side.ids)] = side.counts
    chances = uniforms(seed, position, Stream.VERDICT, VERDICTS)[np.newaxis]
    places = np.searchsorted(ids, [[token_d], [token_s]])
    return int(ids[verdict(places[0], places[1], counts[0], counts[1], device_share, chances)[0]])


def verdict(
    device: npt.NDArray[np.intp],
    server: npt.NDArray[np.intp],
    from_device: Ids,
    from_server: Ids,
    device_share: float,
    chances: Uniforms,
) -> npt.NDArray[np.intp]:
    """Apply Algorithm 1 to indices of tokens; return the decided indices, shape (n,).

    `device` and `server` are drafts, shape (n,), `from_device` and `from_server` the counts of the distributions that
    they were drawn from, over the same tokens, shape (v,), `chances` random numbers, shape (n, VERDICTS). Uses only
    comparisons, products and quotients of exact numbers: the same result on every platform.
    """
    kept_d = _speculated(device, from_device, from_server, 1 - device_share, chances[:, 0], chances[:, 3])
    kept_s = _speculated(server, from_server, from_device, device_share, chances[:, 1], chances[:, 3])
    return np.where(chances[:, 2] < 0.5, kept_d, kept_s)


def _speculated(
    drafts: npt.NDArray[np.intp], own_counts: Ids, others: Ids, others_share: float, sigma: Uniforms, pick: Uniforms
) -> npt.NDArray[np.intp]:
    """Return DRAGON's Sample(x, p^a, p^b, η): keep the draft x, or draw from max(0, p^b - p^a), normalised.

    p^a (`own_counts`) is the distribution that x was drawn from, p^b (`others`) the other side's, η (`others_share`)
    the other side's weight. x is rejected with probability η·max(0, 1 - p^b(x) / p^a(x)).
    """
    heap = np.cumsum(np.maximum(others - own_counts, 0))
    if not heap[-1]:
        return drafts  # both distributions are equal
    surplus = own_counts - others
    rejected = sigma * own_counts[drafts] < others_share * surplus[drafts]
    drawn = np.searchsorted(heap, np.floor(pick * heap[-1]), side="right")
    return np.where(rejected, drawn, drafts)


def greedy(device: Top, server: Top, device_share: float) -> int | None:
    """Return the argmax of the mixture (the lowest id on ties) if both sides' known probabilities prove it, else None.

    A token that a side omitted is at most as likely there as the side's least likely listed token.
    """
    ids = _rivals(device, server, device_share)
    low = mixture(_over(ids, device, 0.0), _over(ids, server, 0.0), device_share)
    high = mixture(_over(ids, device, device.bound), _over(ids, server, server.bound), device_share)
    best = int(np.argmax(low))
    # Ties go to the lowest id: a rival with a known value may equal the best token's lower bound.
    beaten = (high < low[best]) | ((low == high) & (low == low[best]))
    beaten[best] = True
    unseen = device_share * device.bound + (1 - device_share) * server.bound
    return int(ids[best]) if beaten.all() and (device.whole or server.whole or unseen < low[best]) else None


def _rivals(device: Top, server: Top, device_share: float) -> Ids:
    """Return the tokens that may be the argmax of the mixture.

    If one side is whole, only the likeliest of the tokens omitted by the other side can be. Skipping the others, tens
    of thousands in a vocabulary, takes a twentieth of the time.
    """
    first, second = (side.ids[[side.probabilities.argmax()]] if side.whole else side.ids for side in (device, server))
    known = np.union1d(first, second)
    if not (device.whole or server.whole):
        return known
    sure = mixture(_over(known, device, 0.0), _over(known, server, 0.0), device_share).max()
    at_most = [
        side.probabilities.astype(np.float64) if side.whole else np.full(1, side.bound) for side in (device, server)
    ]
    others = mixture(at_most[0], at_most[1], device_share)
    others[known] = -1.0
    most = others.max()
    return known if most < sure else np.union1d(known, np.flatnonzero(others == most))


def mixture(
    device: npt.NDArray[np.float64], server: npt.NDArray[np.float64], device_share: float
) -> npt.NDArray[np.float64]:
    """Return the weighted mean of the device's and the server's probabilities, shapes (n,).

    Both sides compute it by this function, with the same operations in the same order, so that their argmax agrees.
    """
    return device * device_share + server * (1 - device_share)


def _over(ids: Ids, side: Top, unknown: float) -> npt.NDArray[np.float64]:
    if side.whole:
        return side.probabilities[ids].astype(np.float64)
    values = np.full(len(ids), unknown)
    values[np.searchsorted(ids, side.ids)] = side.probabilities
    return values
