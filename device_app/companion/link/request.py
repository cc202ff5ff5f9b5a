"""What is asked of a companion server, until it has ended: its events, and what of it left."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from shared.protocol import messages as m
from shared.protocol.codec import Frame
from shared.protocol.device import Lost

if TYPE_CHECKING:
    from device_app.companion.link.link import Link


@dataclass(slots=True)
class SentTokens:
    """Tokens that left, at their positions; what was said again after a cut counts once. And whether the weight did."""

    weighed: bool = False
    drafts: set[tuple[int, int, int]] = field(default_factory=set)
    distributions: set[tuple[int, int, int]] = field(default_factory=set)
    settled: set[int] = field(default_factory=set)

    def add(self, said: m.FromDevice) -> None:
        """That left."""
        match said:
            case m.Weight():
                self.weighed = True
            case m.Drafts(_, epoch, position, ids, distributions):
                drafts = {(epoch, place, token) for place, token in enumerate(ids, position)}
                self.drafts |= drafts
                if distributions:
                    self.distributions |= drafts
            case m.Targets(_, position, ids):
                self.settled |= set(range(position, position + len(ids)))


RequestEvent = m.Event | Lost
"""What becomes of a request; Lost where the server forgot it."""

OnEvent = Callable[["RemoteRequest", RequestEvent], None]


class RemoteRequest:
    """A request on the server. `on_event` is called with it and what becomes of it, in order, on the link's thread.

    `sent_bytes` is what it made leave, `sent` what of an answer that is written together.
    """

    def __init__(self, link: "Link", number: int, credit: int, on_event: OnEvent) -> None:
        self.number = number
        self.on_event = on_event
        self.sent_bytes = 0
        self.sent = SentTokens()
        self._link = link
        self._credit = credit

    def start(self, credit: int, accepted: Sequence[int] = (), accepted_text: str = "") -> None:
        """Generate after all."""
        self._credit = max(self._credit, credit)
        self._link.send(self, m.Start(self.number, credit, tuple(accepted), accepted_text))

    def allow(self, upto: int) -> None:
        """Let tokens below this absolute index come."""
        if upto > self._credit:
            self._credit = upto
            self._link.send(self, m.Credit(self.number, upto))

    def send(self, message: m.JointFromDevice) -> None:
        """Say something of an answer that is written together, whatever request the message names."""
        self._link.send(self, msgspec.structs.replace(message, request=self.number))

    def cancel(self) -> None:
        """Nobody waits for it any more."""
        self._link.send(self, m.Cancel(self.number))


def wire_bytes(frame: Frame) -> int:
    """What a frame takes on the wire, below TLS: its content, a header, a mask (RFC 6455, section 5.2)."""
    size = len(frame) if isinstance(frame, bytes) else len(frame.encode())
    return size + 6 + (0 if size < 126 else 2 if size < 65_536 else 8)
