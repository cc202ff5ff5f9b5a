"""The legal order of a joint answer's messages, by its rule and the side that decides its final tokens.

    from the server   Weight -> (Drafts | Targets | Switch | Rest)*
    from the device   (Weight | FollowingWeight | Drafts | Targets | Switch | Fetch | RoundTrip | Reweight)*

Limits the positions in a message, how often a distribution is requested, and the pieces of a distribution.
"""

from shared.errors import ProtocolError
from shared.protocol.messages import (
    MOST_FETCHES,
    PIECE_BYTES,
    Ask,
    CloseCode,
    Drafts,
    Fetch,
    FollowingWeight,
    JointFromDevice,
    JointFromServer,
    Rest,
    Reweight,
    RoundTrip,
    Switch,
    Targets,
    Weight,
)


class Together:
    """The state of one joint answer. `index` is the position after the server's furthest draft."""

    __slots__ = ("_ask", "_every", "_fetched", "_fetches", "_pending_rests", "_rest", "index", "weighed")

    def __init__(self, ask: Ask, *, by_text: bool) -> None:
        """Begin a joint answer. Raises ProtocolError for an Ask that does not permit a joint answer."""
        if by_text or ask.accepted or ask.sources or ask.pipeline or not ask.generate:
            raise ProtocolError(
                CloseCode.ILLEGAL,
                "A joint answer needs `generate`, equal vocabularies, and no `accepted`, `sources` or `pipeline`.",
            )
        if ask.rule == "greedy" and (ask.place != "device" or ask.sampling.temperature):
            raise ProtocolError(
                CloseCode.ILLEGAL, 'With the greedy rule, `place` must be "device" and the temperature 0.'
            )
        self.weighed = False
        self.index = 0
        self._ask = ask
        self._every = 0  # the tokens after which the device's weight changes
        self._fetched = (-1, 0)  # the last Fetch's position and count
        self._fetches = 0  # the number of fetches at that position
        self._pending_rests = 0  # fetched distributions whose first piece has not come
        self._rest = (-1, 0, 0)  # the distribution in transit: position, next offset, total bytes

    def on_message(self, said: JointFromDevice) -> bool:
        """Process a device's message. Return False if the message changes nothing. Raises ProtocolError."""
        match said:
            case Drafts():
                if self._ask.rule == "greedy":
                    raise ProtocolError(CloseCode.ILLEGAL, "With the greedy rule, the device must not send its drafts.")
                self._ordered(said)
            case Fetch():
                return self._asks(said)
            case Targets() | Switch():
                self._settles(said)
            case RoundTrip() if self._ask.place == "both" or self._ask.rule == "greedy":
                raise ProtocolError(
                    CloseCode.ILLEGAL, "A round-trip time came for an answer whose tokens always the same side decides."
                )
            case FollowingWeight() | Reweight():
                self._follows(said)
        return True

    def advance(self, event: JointFromServer) -> None:
        """Process a server's event. Raises ProtocolError."""
        if isinstance(event, Weight) == self.weighed:
            raise ProtocolError(
                CloseCode.ILLEGAL, "A weight came twice, or another joint-answer message came before the weight."
            )
        match event:
            case Weight():
                self.weighed = True
            case Drafts():
                self._ordered(event)
                self.index = max(self.index, event.position + len(event.ids))
            case Rest():
                self._continues(event)
            case _:
                self._settles(event)

    def _ordered(self, drafts: Drafts) -> None:
        ask = self._ask
        if not (drafts.epoch <= drafts.position and drafts.position + len(drafts.ids) <= ask.max_tokens):
            raise ProtocolError(
                CloseCode.ORDER, "Drafts came for positions before their epoch, or beyond the answer's length."
            )
        if len(drafts.ids) > ask.ahead:
            raise ProtocolError(
                CloseCode.CREDIT, f"{len(drafts.ids)} drafts came at once; at most {ask.ahead} are allowed."
            )
        if len(drafts.distributions) != (0 if ask.rule == "coupled" else len(drafts.ids)):
            raise ProtocolError(
                CloseCode.ILLEGAL, "The drafts' distributions do not fit the rule: none if coupled, else one per draft."
            )

    def _settles(self, said: Targets | Switch) -> None:
        """Check a message with final tokens, or with a hand-over of the role that decides them. Raises
        ProtocolError.
        """
        if self._ask.place == "both" or (self._ask.rule == "greedy" and isinstance(said, Switch)):
            raise ProtocolError(
                CloseCode.ILLEGAL,
                "A side decided tokens, or handed that role over, although the rule or `place` forbids it.",
            )
        end = said.position + (len(said.ids) if isinstance(said, Targets) else 1)
        if end > self._ask.max_tokens:
            raise ProtocolError(
                CloseCode.ORDER, "Decided tokens, or a hand-over, came for positions beyond the answer's length."
            )

    def _follows(self, said: FollowingWeight | Reweight) -> None:
        """Check a weight that follows the text, or the announcement of such weights. Raises ProtocolError."""
        if self._ask.rule == "greedy":
            raise ProtocolError(CloseCode.ILLEGAL, "With the greedy rule, the weights that follow stay on the device.")
        if isinstance(said, FollowingWeight):
            if self._every not in (0, said.every):
                raise ProtocolError(CloseCode.ILLEGAL, "The device's weight was to change after two different numbers.")
            self._every = said.every
        elif not self._every or said.position % self._every or said.position < 2 * self._every:
            raise ProtocolError(CloseCode.ORDER, "A weight came for a position at which it must not change.")
        elif said.position >= self._ask.max_tokens:
            raise ProtocolError(CloseCode.ORDER, "A weight came for a position beyond the answer's length.")

    def _asks(self, fetch: Fetch) -> bool:
        if self._ask.rule != "greedy" or fetch.position >= self._ask.max_tokens:
            raise ProtocolError(
                CloseCode.ILLEGAL,
                "A Fetch came for a rule other than greedy, or for a position beyond the answer's length.",
            )
        asked = fetch.position, fetch.count
        if asked <= self._fetched:
            return False  # repeated after a cut
        again = fetch.position == self._fetched[0]
        if again and self._fetches == MOST_FETCHES:
            raise ProtocolError(
                CloseCode.CREDIT, f"A distribution was requested more than {MOST_FETCHES} times at one position."
            )
        self._fetched, self._fetches, self._pending_rests = asked, self._fetches * again + 1, self._pending_rests + 1
        return True

    def _continues(self, rest: Rest) -> None:
        """Check that a piece continues the previous one, or begins a fetched distribution. Raises ProtocolError."""
        begins = rest.offset == 0
        if (begins and not self._pending_rests) or rest.position > self._fetched[0]:
            raise ProtocolError(CloseCode.ILLEGAL, "A distribution came that nobody asked for.")
        follows = begins or (rest.position, rest.offset, rest.size) == self._rest
        if not follows or len(rest.data) != min(PIECE_BYTES, rest.size - rest.offset):
            raise ProtocolError(CloseCode.ORDER, "A piece of a distribution came out of order, or has the wrong size.")
        self._pending_rests -= begins
        self._rest = rest.position, rest.offset + len(rest.data), rest.size
