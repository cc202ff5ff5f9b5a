"""The two sides that can write an answer: the person's device and its companion server."""

from typing import Literal

Side = Literal["device", "server"]


def other(side: Side) -> Side:
    """The side that it is not."""
    return "server" if side == "device" else "device"
