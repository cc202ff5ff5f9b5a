"""The request for a joint answer: its messages, and counts of the data that left. Makes no decisions on the answer."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from device_app.companion.link.request import RemoteRequest, RequestEvent
from models.sampling import SamplingSettings
from shared.aggregation import messages as a
from shared.aggregation import scheduler
from shared.aggregation.gathering import GATHER_S, Gathering
from shared.aggregation.terms import Terms
from shared.aggregation.wire import to_wire
from shared.protocol import messages as m
from shared.protocol.device import Lost
from shared.side import Side

if TYPE_CHECKING:
    from device_app.companion.link.link import Link


@dataclass(frozen=True, slots=True)
class JointQuestion:
    """The question of a joint answer and how to write the answer, independent of private passages.

    The server retrieves `passages` passages and reads them in `rows` rows. `rule` decides which drafts are
    accepted; by default, it is "greedy" at temperature 0, else "coupled". `place` is the side that decides the tokens
    first; by default, the scheduler chooses. `open`: token distributions may leave the device. `scheduled`: the
    deciding side may change while the answer is written, unless `place` is "both". `weights_every`: with `open`, the
    number of tokens after which both sides' weights are computed again; 0 for never.
    """

    question: str
    sampling: SamplingSettings
    max_tokens: int
    passages: int
    rows: int = 1
    rule: a.Rule | None = None
    place: a.Place | None = None
    open: bool = False
    scheduled: bool = True
    weights_every: int = 0

    def __post_init__(self) -> None:
        """Raise ValueError if `rule` and `place` would send token distributions that must not leave the device."""
        if self.by == "algorithm1" and not self.open and self.at != "device":
            raise ValueError(
                "without `open`, distributions stay on the device, so only the device can settle by Algorithm 1"
            )

    @property
    def by(self) -> a.Rule:
        """The rule by which drafts become final tokens: the chosen one or the default."""
        return self.rule or ("coupled" if self.sampling.temperature else "greedy")

    @property
    def at(self) -> a.Place:
        """The side that decides the first tokens: the chosen one or the default."""
        return self.place or scheduler.place(self.by, device_distributions=self.open)

    @property
    def changes(self) -> bool:
        """Whether the deciding side may change: both the question and the rule allow it."""
        return self.scheduled and self.at != "both" and self.by != "greedy" and (self.open or self.by != "algorithm1")

    @property
    def tells_weights(self) -> bool:
        """Whether the server, which may decide tokens, has to know weights that follow the text."""
        return self.at != "device" or self.changes

    def follows(self, offer: m.Offer) -> bool:
        """Return whether the weights of both sides' passages may follow the text with this server."""
        return bool(self.weights_every) and self.open and (offer.follows_text or not self.tells_weights)

    def ask(self, terms: Terms, round_trip_s: float | None) -> m.Ask:
        """Return the request to the server on these terms.

        If the round trip is unknown (None), the side that decides the tokens never changes.
        """
        changes = self.scheduled and terms.place != "both"
        return m.Ask(
            request=1,
            question=self.question,
            generate=True,
            passages=self.passages,
            max_tokens=terms.max_tokens,
            credit=0,
            sampling=m.Sampling(**asdict(self.sampling)),
            ahead=terms.ahead,
            rule=terms.rule,
            place=terms.place,
            rows=self.rows,
            round_trip_ms=math.ceil(1000 * round_trip_s) if round_trip_s and changes else 0,
        )


@dataclass(slots=True)
class JointReport:
    """The course of a joint answer: how many tokens both sides wrote together, and why the device continued `alone`.

    `drafts_sent`, `settled_sent`, `distributions_sent` and `weights_sent`, of those that follow the text, count the
    items that left, each item once. `changes` counts how often the side that decides the tokens changed; `waited_s` is
    how long the device waited for a server that then wrote no token, 0 for any other; `server_step_s` are the server's
    seconds per draft as it last reported them, 0 if unknown; `token_s` are the mean seconds of the last `timed` tokens
    written together. `judged` holds, by side, how many of its drafts were compared with final tokens, and how many were
    accepted.
    """

    passages: tuple[m.PublicPassage, ...] = ()
    together: int = 0
    alone: str = ""
    weight_sent: bool = False
    weights_sent: int = 0
    drafts_sent: int = 0
    settled_sent: int = 0
    distributions_sent: int = 0
    sent_bytes: int = 0
    changes: int = 0
    waited_s: float = 0.0
    server_step_s: float = 0.0
    timed: int = 0
    token_s: float = 0.0
    judged: dict[Side, tuple[int, int]] = field(default_factory=dict)

    @property
    def sources(self) -> tuple[m.PublicPassage, ...]:
        """The server's passages, if any token of the answer was drawn from them."""
        return self.passages if self.together else ()

    @property
    def sent(self) -> tuple[str, ...]:
        """The kinds of data that left the device, as phrases with their counts."""
        if not self.sent_bytes:
            return ()
        counted = (
            (self.drafts_sent, "draft tokens of the answer"),
            (self.distributions_sent, "distributions that drafts were drawn from"),
            (self.settled_sent, "of the answer's tokens"),
            (self.weights_sent, "numbers for how well your passages fit the answer so far"),
        )
        parts = (f"{count} {what}" for count, what in counted if count)
        weight = ("one number for how well your passages fit the question",) if self.weight_sent else ()
        return ("the question", *weight, *parts, "acknowledgements")


def ending(event: m.Finished | m.Failed | Lost) -> str:
    """Return the reason for which the server ended a joint answer, as a phrase."""
    match event:
        case m.Failed(_, _, message) if message:
            return message
        case Lost(_, why):
            return why or "the server lost this answer"
    return "the server stopped writing"


class JointRequest:
    """The request of one joint answer, from `begin` until this device cancels it or the server ends it."""

    def __init__(
        self, link: Link, ask: m.Ask, on_event: Callable[[RequestEvent], None], *, tells_weights: bool = False
    ) -> None:
        """Prepare the request without sending it. `tells_weights`: weights that follow the text are sent."""
        self._link, self._ask, self._on_event, self._tells_weights = link, ask, on_event, tells_weights
        self._gathering = Gathering(ask.ahead)
        self._request: RemoteRequest | None = None
        self._sent_at = 0.0
        self._over = False

    def begin(self) -> None:
        """Send the request. Raises LinkError."""
        self._request = self._link.ask(self._ask, lambda _, event: self._on_event(event))

    @property
    def due(self) -> float | None:
        """The time at which `flush` has something to send, by the monotonic clock; None if nothing waits to be sent."""
        return self._sent_at + GATHER_S if self._gathering else None

    def send(self, message: a.Message, step_s: float = 0.0) -> None:
        """Send drafts and final tokens with the next `flush`, other messages at once; Stop cancels the request."""
        match message:
            case a.Drafts() | a.Targets():
                self._gathering.add(message)
            case a.Fetch(position, count):
                self.flush(step_s)
                self._say(m.Fetch(self._ask.request, position, count))
            case a.Weight(log_h, every) if every and self._tells_weights:
                self._say(m.FollowingWeight(self._ask.request, log_h, every))
            case a.Reweight(position, log_odds):
                if self._tells_weights:
                    self._say(m.Reweight(self._ask.request, position, log_odds))
            case a.Weight() | a.Switch():
                self.flush(step_s)
                for part in to_wire(self._ask.request, message):
                    self._say(part)
            case a.Stop():
                self.cancel()

    def tell_round_trip(self, seconds: float) -> None:
        """Send the current round trip, in seconds, to the server."""
        self._say(m.RoundTrip(self._ask.request, min(max(round(seconds * 1e6), 1), 2**31 - 1)))

    def flush(self, step_s: float = 0.0) -> None:
        """Send the gathered messages; `step_s` is the seconds that this device takes to draft one token."""
        self._sent_at = time.monotonic()
        for waiting in self._gathering.take():
            for message in to_wire(self._ask.request, waiting, step_s):
                self._say(message)

    def ended(self) -> None:
        """Record that the server ended the request, so that nothing more is sent."""
        self._over = True

    def cancel(self) -> None:
        """Cancel the request."""
        self._gathering.take()
        if self._request and not self._over:
            self._request.cancel()
        self._over = True

    def count(self, report: JointReport) -> None:
        """Fill the report with counts of the data that left."""
        if self._request:
            sent = self._request.sent
            report.weight_sent, report.weights_sent = sent.weighed, len(sent.reweighed)
            report.drafts_sent, report.settled_sent = len(sent.drafts), len(sent.settled)
            report.distributions_sent = len(sent.distributions)
            report.sent_bytes = self._request.sent_bytes

    def _say(self, message: m.JointFromDevice) -> None:
        if self._request and not self._over:
            self._request.send(message)
