"""Chance that both sides share: the same bits for (seed, position, stream) on every platform and version of numpy.

Philox4x64-10 counts (Salmon et al., 2011): its output is a published function of key and counter, and numpy promises a
bit generator's raw stream (NEP 19), not what `Generator` makes of it; so only raw words are taken, and what is made of
them here is exact in IEEE arithmetic.
"""

from enum import IntEnum

import numpy as np
import numpy.typing as npt

from shared.side import Side

Uniforms = npt.NDArray[np.float64]

_STREAMS = 8


class Stream(IntEnum):
    """What the chance is for. Streams of one position are independent of one another."""

    TOKENS = 0  # one number per token id: both sides draw their coupled drafts from the same
    COIN = 1  # who writes a position
    DEVICE = 2  # the device's own draft, where drafts are independent
    SERVER = 3
    VERDICT = 4  # Algorithm 1's σ, the selection, and the residual's draw


def uniforms(seed: int, position: int, stream: Stream, count: int) -> Uniforms:
    """So many numbers in [0, 1), multiples of 2^-53, shape (count,). A longer call begins with what a shorter one gave.

    The seed has 64 bits. 49,152 of them take a third of a millisecond.
    """
    key = np.array([seed, position * _STREAMS + stream], np.uint64)
    words: npt.NDArray[np.uint64] = np.random.Philox(key=key).random_raw(count)
    return (words >> np.uint64(11)).astype(np.float64) * 2.0**-53


def own(side: Side) -> Stream:
    """The stream of a side's own draws."""
    return Stream.DEVICE if side == "device" else Stream.SERVER
