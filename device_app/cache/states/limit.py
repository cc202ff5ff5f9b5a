"""The most bytes of attention states on disk: set by the person, or in proportion to the text of their files."""

from collections.abc import Callable
from typing import Final, Literal

TIMES_TEXT: Final = 20
"""Bytes of attention states for each byte of text, where the person set no limit."""

LEAST: Final = 100_000_000
"""The least bytes of the limit if the person set none."""
MOST: Final = 1_000_000_000
"""The most bytes of the limit if the person set none."""


def states_limit(kv_mb: float | Literal["auto"], text_bytes: Callable[[], int]) -> int:
    """Return the limit in bytes for the setting `cache.kv_mb`; only "auto" calls `text_bytes`, for the bytes of all
    text.
    """
    if kv_mb == "auto":
        return min(MOST, max(LEAST, TIMES_TEXT * text_bytes()))
    return int(kv_mb * 1_000_000)


def most_states(kv_mb: float | Literal["auto"]) -> int:
    """Return the largest limit in bytes that the setting `cache.kv_mb` can mean."""
    return MOST if kv_mb == "auto" else int(kv_mb * 1_000_000)
