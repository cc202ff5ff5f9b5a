"""How the connection to a companion server stands, for whoever asks or is told."""

from dataclasses import dataclass
from typing import Literal

from device_app.companion.link.causes import Cause
from device_app.question.answer import AT
from shared.protocol import messages as m


@dataclass(frozen=True, slots=True)
class LinkState:
    """How the connection stands: `cause` and, in words, `why` say what is wrong; `refused`: only the person can fix it.

    `server` is the host and port of the server, for whoever is told.
    """

    phase: Literal["connecting", "connected", "leaving", "waiting", "refused", "closed"]
    offer: m.Offer | None = None
    round_trip_s: float | None = None
    why: str = ""
    retry_s: float | None = None
    cause: Cause | None = None
    server: str = ""

    @property
    def connected(self) -> bool:
        """Whether something can be asked now."""
        return self.phase == "connected"

    @property
    def answering(self) -> bool:
        """Whether what was asked is still answered: a server that leaves goes on with it."""
        return self.phase in ("connected", "leaving")

    def why_not(self) -> str:
        """Why nothing can be asked now, in a sentence."""
        waiting = {"connecting": "the server has not answered yet; how it stands: jackdaw status"}
        why = self.why.rstrip(".") or waiting.get(self.phase, f"the server cannot be asked: {self.phase}")
        if self.server:
            clause = why.replace("the server ", "it ", 1) if why.startswith("the server ") else why
            why = f"{AT}{self.server} cannot be asked: {clause}"
        return f"{why[0].upper()}{why[1:]}."
