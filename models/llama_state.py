"""The layout of the attention state that llama.cpp serialises for one sequence, in the versions
`llama_bindings.STATE_VERSIONS`.
"""

import numpy as np
import numpy.typing as npt

_HEADER = 16  # bytes: magic, sequence, streams, cells; then 12 for each cell: position, owners, owner


def covers(data: npt.NDArray[np.uint8], start: int, stop: int) -> bool:
    """Return whether a serialised attention state holds each position of [start, stop) exactly once. llama.cpp itself
    would accept gaps silently.
    """
    count = stop - start
    head = data[: _HEADER + 12 * count]
    if head.size < _HEADER + 12 * count:
        return False
    words = head.view(np.int32)
    positions = np.sort(words[4:].reshape(count, 3)[:, 0])
    return bool(words[3] == count and np.array_equal(positions, np.arange(start, stop)))


def planes(data: npt.NDArray[np.uint8], count: int) -> tuple[tuple[str, int], ...]:
    """Return the name and the bytes of each part of a serialised attention state with `count` cells: a header, K of
    every layer, then V.
    """
    begin = _HEADER + 12 * count
    layers = int(data[begin + 4 : begin + 8].view(np.int32)[0])
    row = int(data[begin + 12 : begin + 20].view(np.int64)[0])
    keys = layers * (12 + row * count)
    return ("cells", begin + 8), ("k", keys), ("v", data.size - begin - 8 - keys)
