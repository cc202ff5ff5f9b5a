"""The legal order of one request's messages, the same on both sides.

    Ask -> Queued* -> Sources -> [Start] -> Queued* -> Tokens* -> Finished, and Failed at any time

In version 2, Round may come anywhere before the end. For a joint answer, the order is: Sources -> Weight -> Queued* ->
the messages that `Together` allows -> Finished.

The sender checks each message here before sending, the receiver on receipt.
"""

from shared.errors import ProtocolError
from shared.protocol.messages import (
    MOST_QUEUED,
    MOST_ROUNDS,
    Ask,
    CloseCode,
    Drafts,
    Event,
    Failed,
    Finished,
    JointFromDevice,
    JointFromServer,
    Queued,
    Rest,
    Round,
    Sources,
    Start,
    Switch,
    Targets,
    Tokens,
    Weight,
)
from shared.protocol.together import Together


class Request:
    """The state of one request.

    `index` is the index of the next token; tokens from index `credit` on may not be sent yet.

    For a joint answer, `together` is set, and `index` is the position after the server's furthest draft.
    """

    __slots__ = (
        "_passages",
        "_queued",
        "_round",
        "_rounds",
        "by_text",
        "cancelled",
        "credit",
        "done",
        "first",
        "generate",
        "index",
        "max_tokens",
        "searched",
        "together",
    )

    def __init__(self, ask: Ask, *, by_text: bool, rounds: bool) -> None:
        """Begin a request. `by_text`: answers are handed over as text. `rounds`: Round messages are allowed.

        Raises ProtocolError for an Ask whose fields contradict each other.
        """
        self.by_text = by_text
        self.max_tokens: int = ask.max_tokens
        self.generate: bool = ask.generate
        self.searched = self.cancelled = self.done = False
        self._passages = 0 if ask.sources else ask.passages
        self._queued = self._round = 0
        self._rounds = rounds and not ask.ahead
        self.first = self.index = self.credit = 0
        if not ask.generate and (ask.accepted or ask.accepted_text):
            raise ProtocolError(CloseCode.ILLEGAL, "A request that continues an answer must set `generate`.")
        if not ask.ahead and (ask.rule, ask.place, ask.rows) != ("coupled", "both", 1):
            raise ProtocolError(
                CloseCode.ILLEGAL,
                "An Ask without `ahead` must leave the fields of joint answers (`rule`, `place`, `rows`) out.",
            )
        self.together = Together(ask, by_text=by_text) if ask.ahead else None
        self._begin(ask)

    @property
    def sendable(self) -> int:
        """The number of tokens or drafts that may be sent now, given the legal order of messages and the granted
        credit.
        """
        if self.done or self.cancelled or not (self.searched and self.generate):
            return 0
        if self.together:
            return self.max_tokens if self.together.weighed else 0
        return max(min(self.credit, self.max_tokens) - self.index, 0)

    @property
    def next_round(self) -> int:
        """The number of the next Round message; 0 if none may be sent now."""
        over = self.done or self.cancelled or not self._rounds
        return 0 if over or self._round == MOST_ROUNDS else self._round + 1

    def start(self, start: Start) -> None:
        """Process a Start message: the request generates an answer from its sources. Raises ProtocolError."""
        if self.generate:
            raise ProtocolError(CloseCode.ILLEGAL, "A Start came for a request that is already being answered.")
        self._begin(start)
        self.generate = True

    def grant(self, upto: int) -> bool:
        """Allow tokens below the index `upto` to be sent. Return whether that raised the limit."""
        if upto <= self.credit:
            return False
        self.credit = upto
        return True

    def on_message(self, said: JointFromDevice) -> bool:
        """Process a device's message of a joint answer. Return False for a message that changes nothing.

        Raises ProtocolError.
        """
        if not self.together:
            raise ProtocolError(
                CloseCode.ILLEGAL, "A joint-answer message came for an answer that only one side writes."
            )
        return self.together.on_message(said)

    def advance(self, event: Event) -> None:
        """Process the request's next event. Raises ProtocolError, without any change."""
        if self.done:
            raise ProtocolError(CloseCode.ILLEGAL, "An event came for a request that had ended.")
        match event:
            case Tokens():
                self._tokens(event)
            case Queued():
                if self.index != self.first:
                    raise ProtocolError(CloseCode.ILLEGAL, "A request was queued after its first token.")
                if self._queued == MOST_QUEUED:
                    raise ProtocolError(CloseCode.ILLEGAL, f"A request was queued more than {MOST_QUEUED} times.")
                self._queued += 1
            case Sources():
                self._sources(event)
            case Round():
                self._retrieval(event)
            case Weight() | Drafts() | Targets() | Switch() | Rest():
                self._jointly(event)
            case Finished():
                self._finish(event)
            case Failed():
                self.done = True

    def _begin(self, message: Ask | Start) -> None:
        if message.accepted_text if not self.by_text else message.accepted:
            form = "text" if self.by_text else "token ids"
            raise ProtocolError(CloseCode.ILLEGAL, f"In this session, an answer to continue must be given as {form}.")
        if len(message.accepted) >= self.max_tokens:
            raise ProtocolError(CloseCode.ILLEGAL, "The answer to continue has reached `max_tokens` already.")
        self.first = self.index = len(message.accepted)
        self.credit = message.credit

    def _tokens(self, tokens: Tokens) -> None:
        if not (self.searched and self.generate) or self.together:
            raise ProtocolError(
                CloseCode.ILLEGAL, "Tokens came before their sources, or for a request that generates none."
            )
        if tokens.index != self.index:
            raise ProtocolError(CloseCode.ORDER, f"Tokens came at index {tokens.index} where {self.index} is next.")
        end = tokens.index + len(tokens.ids)
        if end > self.credit or end > self.max_tokens:
            limit = min(self.credit, self.max_tokens)
            raise ProtocolError(CloseCode.CREDIT, f"Tokens came up to index {end}, beyond the granted {limit}.")
        if (tokens.text is not None) != self.by_text:
            raise ProtocolError(CloseCode.ILLEGAL, "Tokens must carry text if, and only if, the vocabularies differ.")
        self.index = end

    def _sources(self, sources: Sources) -> None:
        if self.searched:
            raise ProtocolError(CloseCode.ILLEGAL, "Sources came twice.")
        if len(sources.passages) > self._passages:
            came, most = len(sources.passages), self._passages
            raise ProtocolError(CloseCode.ILLEGAL, f"{came} passages came where {most} were asked for.")
        self.searched = True

    def _retrieval(self, said: Round) -> None:
        if not self._rounds:
            raise ProtocolError(
                CloseCode.ILLEGAL, "A Round came in protocol version 1, or for a joint answer; neither has rounds."
            )
        if said.number != self._round + 1:
            raise ProtocolError(CloseCode.ORDER, f"Round {said.number} came where {self._round + 1} is next.")
        self._round = said.number

    def _jointly(self, event: JointFromServer) -> None:
        if not (self.together and self.searched):
            raise ProtocolError(
                CloseCode.ILLEGAL, "A joint-answer message came before the sources, or for another kind of answer."
            )
        self.together.advance(event)
        self.index = self.together.index

    def _finish(self, finished: Finished) -> None:
        if not self.cancelled:
            if finished.reason == "cancelled":
                raise ProtocolError(CloseCode.ILLEGAL, "The server ended a request as cancelled that nobody cancelled.")
            if not (self.searched and self.generate):
                raise ProtocolError(CloseCode.ILLEGAL, "A request finished before it generated an answer.")
        if finished.text and not self.by_text:
            raise ProtocolError(CloseCode.ILLEGAL, "Finished may carry text only if the vocabularies differ.")
        self.done = True
