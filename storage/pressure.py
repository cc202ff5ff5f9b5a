"""Limits a cache while the machine is short of memory, so that other programs get memory back in time."""

from typing import Final

RESERVE: Final = 256_000_000
"""Bytes of memory left to other programs on the machine or in the container."""

LOOK_S: Final = 1.0
"""The shortest interval, in seconds, between two checks of the available memory."""


def limit(allowed: int, used: int, size: int, available: int) -> int:
    """Return the bytes that a cache of `size` bytes may use now. Its limit so far is `allowed`, and it uses `used`
    bytes. No I/O.

    If less memory than the reserve is available, the limit shrinks by the difference. It grows again only once twice
    the reserve is available, so that it does not alternately shrink and grow.
    """
    if available < RESERVE:
        return max(0, min(allowed, used - (RESERVE - available)))
    return min(size, allowed + max(0, available - 2 * RESERVE))
