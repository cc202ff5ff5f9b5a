"""Limits a cache while the machine is short of memory, so that other programs get memory back in time."""

from typing import Final

RESERVE: Final = 256_000_000
"""Bytes of memory left to other programs on the machine or in the container."""

LOOK_S: Final = 1.0
"""The least seconds between two checks of the available memory."""


def limit(allowed: int, used: int, size: int, available: int) -> int:
    """Return the bytes that a cache of `size` bytes may use now. It was `allowed` so far, and uses `used`. Pure.

    If less than the reserve is available, it shrinks by what is missing; it grows again only once twice the reserve is
    available, to prevent oscillation.
    """
    if available < RESERVE:
        return max(0, min(allowed, used - (RESERVE - available)))
    return min(size, allowed + max(0, available - 2 * RESERVE))
