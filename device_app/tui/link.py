"""The state of the link to the companion server, and its text for the status line. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Literal

from textual.content import Content

if TYPE_CHECKING:
    from device_app.companion.link.causes import Cause

Phase = Literal["none", "off", "connecting", "connected", "leaving", "waiting", "refused", "closed"]


@dataclass(frozen=True, slots=True)
class Standing:
    """The state of the link to the companion server. In phase `none` there is no server, in `off` it may not be asked.

    What is wrong: `cause` is the kind of problem, which the status line names in two or three words; `why` is a phrase
    with the details, for a notice. `retry_at` is the time of the next attempt to connect, by the monotonic clock.
    """

    phase: Phase = "none"
    why: str = ""
    retry_at: float | None = None
    cause: Cause | None = None


_WORDS: dict[Phase, tuple[str, str]] = {
    "off": ("server held back", "server off"),
    "connecting": ("server …", "server …"),
    "leaving": ("the server ends", "server …"),
}
"""For each phase, the text for a wide and for a narrow status line."""

_CAUSES: dict[Cause, str] = {
    "token": "token refused",
    "crowded": "token in use",
    "certificate": "certificate refused",
    "key": "other server key",
    "insecure": "no secure server",
    "elsewhere": "server moved",
    "stranger": "no server there",
    "version": "other version",
    "protocol": "server fails",
    "busy": "server full",
    "ending": "server ends",
    "failing": "server fails",
    "crashed": "link failed",
}
"""The text on a wide status line for each known cause of a failed link; for other causes it shows "no server"."""


def words(standing: Standing, now: float, *, roomy: bool) -> Content:
    """Return the text about the link for a wide (`roomy`) or narrow status line; empty without a server."""
    if standing.phase == "connected":
        return Content.assemble(("server ", "$quiet"), ("✓", "$success"))
    if standing.phase == "waiting":
        left = ceil((standing.retry_at or now) - now)
        when = f"again in {left} s" if left > 0 else "dialling"
        short = f"server in {left} s" if left > 0 else "server …"
        return Content.styled(f"{_cause(standing, 'no server')}, {when}" if roomy else short, "$quiet")
    if standing.phase == "refused":
        long = f"{_cause(standing, 'server refuses')}: jackdaw doctor"
        return Content.styled(long if roomy else "server ✗", "$warning")
    long, short = _WORDS.get(standing.phase, ("", ""))
    return Content.styled(long if roomy else short, "$quiet")


def _cause(standing: Standing, otherwise: str) -> str:
    return _CAUSES.get(standing.cause, otherwise) if standing.cause else otherwise
