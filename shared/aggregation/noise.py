"""Random numbers that both sides share: the same bits for (seed, position, stream) on every platform and numpy version.

Uses Philox4x64-10 (Salmon et al., 2011), whose output is a published function of key and counter. numpy guarantees a
bit generator's raw stream (NEP 19), not the methods of `Generator`, so that this module converts raw words itself, in
exact IEEE arithmetic.
"""

from enum import IntEnum

import numpy as np
import numpy.typing as npt

from shared.side import Side

Uniforms = npt.NDArray[np.float64]

_STREAMS = 8


class Stream(IntEnum):
    """The uses of random numbers, each with a stream of its own. The streams of one position are independent."""

    TOKENS = 0  # one number per token id, from which both sides draw their coupled drafts
    COIN = 1  # which side's draft is used at a position
    DEVICE = 2  # the device's own draft, where drafts are independent
    SERVER = 3
    VERDICT = 4  # DRAGON's Algorithm 1: σ, which accepts or rejects a draft; the choice of side; the redraw


def uniforms(seed: int, position: int, stream: Stream, count: int) -> Uniforms:
    """Return `count` numbers in [0, 1), multiples of 2^-53, shape (count,); a larger `count` extends the same sequence.

    The seed has 64 bits. 49,152 numbers take a third of a millisecond.
    """
    key = np.array([seed, position * _STREAMS + stream], np.uint64)
    words: npt.NDArray[np.uint64] = np.random.Philox(key=key).random_raw(count)
    return (words >> np.uint64(11)).astype(np.float64) * 2.0**-53


def own(side: Side) -> Stream:
    """Return the stream of random numbers with which a side draws its own independent drafts."""
    return Stream.DEVICE if side == "device" else Stream.SERVER
