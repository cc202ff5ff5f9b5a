"""How the link to the companion server stands, and that in a few words. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Literal

from textual.content import Content

Phase = Literal["none", "off", "connecting", "connected", "leaving", "waiting", "refused", "closed"]


@dataclass(frozen=True, slots=True)
class Standing:
    """`off` is a server that nothing may be sent to; `why` says what is wrong.

    `retry_at` is when it is dialled again, by the monotonic clock.
    """

    phase: Phase = "none"
    why: str = ""
    retry_at: float | None = None


_WORDS: dict[Phase, tuple[str, str]] = {
    "off": ("server held back", "server off"),
    "connecting": ("server …", "server …"),
    "leaving": ("the server ends", "server …"),
    "refused": ("server refuses: jackdaw doctor", "server ✗"),
}
"""With room, and without."""


def words(standing: Standing, now: float, *, roomy: bool) -> Content:
    """For the status line; empty where there is no server."""
    if standing.phase == "connected":
        return Content.assemble(("server ", "$quiet"), ("✓", "$success"))
    if standing.phase == "waiting":
        left = ceil((standing.retry_at or now) - now)
        when = f"again in {left} s" if left > 0 else "dialling"
        short = f"server in {left} s" if left > 0 else "server …"
        return Content.styled(f"no server, {when}" if roomy else short, "$quiet")
    long, short = _WORDS.get(standing.phase, ("", ""))
    return Content.styled(long if roomy else short, "$warning" if standing.phase == "refused" else "$quiet")
