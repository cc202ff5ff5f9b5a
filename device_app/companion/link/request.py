"""An in-flight request to a companion server: its events, and the bytes and tokens sent for it."""

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
    """Records what was sent for a joint answer, so that an item that is sent again is not counted twice.

    `drafts`, and `distributions` for those sent with a distribution, are (epoch, position, token). `settled` are the
    positions of final tokens. Also records whether the weight of this device's passages was sent, and the positions
    from which it changed with the text.
    """

    weighed: bool = False
    drafts: set[tuple[int, int, int]] = field(default_factory=set)
    distributions: set[tuple[int, int, int]] = field(default_factory=set)
    settled: set[int] = field(default_factory=set)
    reweighed: set[int] = field(default_factory=set)

    def add(self, said: m.FromDevice) -> None:
        """Record the tokens in a message that was sent."""
        match said:
            case m.Weight() | m.FollowingWeight():
                self.weighed = True
            case m.Reweight(_, position):
                self.reweighed.add(position)
            case m.Drafts(_, epoch, position, ids, distributions):
                drafts = {(epoch, place, token) for place, token in enumerate(ids, position)}
                self.drafts |= drafts
                if distributions:
                    self.distributions |= drafts
            case m.Targets(_, position, ids):
                self.settled |= set(range(position, position + len(ids)))


RequestEvent = m.Event | Lost
"""An event of a request; the event Lost means that the server no longer has the request."""

OnEvent = Callable[["RemoteRequest", RequestEvent], None]


class RemoteRequest:
    """A request on the server.

    `on_event` is called with the request and each of its events, in order, on the link's thread.

    `sent_bytes` counts the bytes sent for the request, `sent` the tokens sent for a joint answer.
    """

    def __init__(self, link: "Link", number: int, credit: int, on_event: OnEvent) -> None:
        self.number = number
        self.on_event = on_event
        self.sent_bytes = 0
        self.sent = SentTokens()
        self._link = link
        self._credit = credit

    def start(self, credit: int, accepted: Sequence[int] = (), accepted_text: str = "") -> None:
        """Let the server generate an answer, after a request that only searched, up to the token index `credit`.

        To continue an answer, `accepted` holds its tokens, or `accepted_text` their text.
        """
        self._credit = max(self._credit, credit)
        self._link.send(self, m.Start(self.number, credit, tuple(accepted), accepted_text))

    def allow(self, upto: int) -> None:
        """Allow the server to send tokens below this absolute index."""
        if upto > self._credit:
            self._credit = upto
            self._link.send(self, m.Credit(self.number, upto))

    def send(self, message: m.JointFromDevice) -> None:
        """Send a message of a joint answer, with this request's number in it."""
        self._link.send(self, msgspec.structs.replace(message, request=self.number))

    def cancel(self) -> None:
        """Cancel the request on the server."""
        self._link.send(self, m.Cancel(self.number))


def wire_bytes(frame: Frame) -> int:
    """Return the bytes of a frame on the wire, below TLS: its content, a header, a mask (RFC 6455, section 5.2)."""
    size = len(frame) if isinstance(frame, bytes) else len(frame.encode())
    return size + 6 + (0 if size < 126 else 2 if size < 65_536 else 8)
