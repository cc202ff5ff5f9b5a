"""The legal order of an answer that device and server write together: what each may say of it, by its rule and place.

    from the server   Weight -> (Drafts | Targets | Switch | Rest)*
    from the device   (Weight | Drafts | Targets | Switch | Fetch)*

What is bounded here: how far a message reaches, how often a distribution is asked for, and the pieces that it comes in.
"""

from shared.errors import ProtocolError
from shared.protocol.messages import (
    MOST_FETCHES,
    PIECE_BYTES,
    Ask,
    CloseCode,
    Drafts,
    Fetch,
    JointFromDevice,
    JointFromServer,
    Rest,
    Switch,
    Targets,
    Weight,
)


class Together:
    """Where one such answer stands. `index` is behind the furthest draft of the server."""

    __slots__ = ("_ask", "_fetched", "_fetches", "_pending_rests", "_rest", "index", "weighed")

    def __init__(self, ask: Ask, *, by_text: bool) -> None:
        """Raises ProtocolError for what cannot be written together."""
        if by_text or ask.accepted or ask.sources or ask.pipeline or not ask.generate:
            raise ProtocolError(CloseCode.ILLEGAL, "Written together is a whole answer, from what is found at once.")
        if ask.rule == "greedy" and (ask.place != "device" or ask.sampling.temperature):
            raise ProtocolError(CloseCode.ILLEGAL, "Greedily the device settles, at temperature 0.")
        self.weighed = False
        self.index = 0
        self._ask = ask
        self._fetched = (-1, 0)  # the last position, and the count
        self._fetches = 0  # of that position
        self._pending_rests = 0  # that were fetched and have not begun
        self._rest = (-1, 0, 0)  # of the one that is under way: its position, the next offset, the bytes in all

    def on_message(self, said: JointFromDevice) -> bool:
        """Take what the device says; whether it means anything. Raises ProtocolError."""
        match said:
            case Drafts():
                if self._ask.rule == "greedy":
                    raise ProtocolError(CloseCode.ILLEGAL, "Greedily the device's drafts stay there.")
                self._ordered(said)
            case Fetch():
                return self._asks(said)
            case Targets() | Switch():
                self._settles(said)
        return True

    def advance(self, event: JointFromServer) -> None:
        """Take what the server says. Raises ProtocolError."""
        if isinstance(event, Weight) == self.weighed:
            raise ProtocolError(CloseCode.ILLEGAL, "A weight came twice, or what comes behind it before.")
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
            raise ProtocolError(CloseCode.ORDER, "Drafts came before their chain, or beyond the answer's length.")
        if len(drafts.ids) > ask.ahead:
            raise ProtocolError(CloseCode.CREDIT, f"{len(drafts.ids)} drafts came at once; {ask.ahead} may be ahead.")
        if len(drafts.distributions) != (0 if ask.rule == "coupled" else len(drafts.ids)):
            raise ProtocolError(CloseCode.ILLEGAL, "Drafts came with other distributions than the rule asks for.")

    def _settles(self, said: Targets | Switch) -> None:
        """One side settles tokens, or gives that over."""
        if self._ask.place == "both" or (self._ask.rule == "greedy" and isinstance(said, Switch)):
            raise ProtocolError(CloseCode.ILLEGAL, "A side settled tokens for both, or gave that over, and may not.")
        end = said.position + (len(said.ids) if isinstance(said, Targets) else 1)
        if end > self._ask.max_tokens:
            raise ProtocolError(CloseCode.ORDER, "Tokens were settled beyond the answer's length.")

    def _asks(self, fetch: Fetch) -> bool:
        if self._ask.rule != "greedy" or fetch.position >= self._ask.max_tokens:
            raise ProtocolError(CloseCode.ILLEGAL, "A distribution was asked for that nobody needs.")
        asked = fetch.position, fetch.count
        if asked <= self._fetched:
            return False  # said again, after a cut
        again = fetch.position == self._fetched[0]
        if again and self._fetches == MOST_FETCHES:
            raise ProtocolError(CloseCode.CREDIT, "A distribution was asked for too often.")
        self._fetched, self._fetches, self._pending_rests = asked, self._fetches * again + 1, self._pending_rests + 1
        return True

    def _continues(self, rest: Rest) -> None:
        """A piece has to follow the one before it, or begin what was fetched."""
        begins = rest.offset == 0
        if (begins and not self._pending_rests) or rest.position > self._fetched[0]:
            raise ProtocolError(CloseCode.ILLEGAL, "A distribution came that nobody asked for.")
        follows = begins or (rest.position, rest.offset, rest.size) == self._rest
        if not follows or len(rest.data) != min(PIECE_BYTES, rest.size - rest.offset):
            raise ProtocolError(CloseCode.ORDER, "A piece of a distribution came out of its order.")
        self._pending_rests -= begins
        self._rest = rest.position, rest.offset + len(rest.data), rest.size
