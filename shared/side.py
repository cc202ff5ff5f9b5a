"""The two sides that can write an answer: the user's device and its companion server."""

from typing import Literal

Side = Literal["device", "server"]


def other(side: Side) -> Side:
    """Return the opposite side."""
    return "server" if side == "device" else "device"
