"""The versions of the protocol, the codes for closing a connection, and the bounds of every field."""

from enum import IntEnum
from typing import Annotated, Final, Literal

from msgspec import Meta

VERSIONS: Final = (1, 2)
"""The supported versions of the protocol, ascending. A session uses the highest version of both sides, to its end."""

SUBPROTOCOL = "jackdaw.v1"
"""The WebSocket subprotocol, the same in every version: hello and welcome negotiate the version."""

MOST_FRAME_BYTES = 256 * 1024
"""The most bytes of a binary frame; the largest legal message fits."""

MOST_TEXT_BYTES = 16 * 1024
"""The most bytes of a text frame."""

MOST_BRACKETS = 64
"""The most opening brackets in a text frame, which limits the nesting of any version's JSON."""

MOST_REQUESTS = 64
"""The most open requests at once in a session, whatever the server offers."""

MOST_TOKENS = 8192
"""The most tokens of an answer."""

MOST_AHEAD = 32
"""The most tokens that a side may draft beyond the final tokens it knows, in a joint answer."""

MOST_ROWS = 16
"""The most rows (separate prompts) among which one side may divide its passages."""

MOST_SAID = 8
"""The most distributions in one message; if each draft needs a distribution, also the most drafts."""

MOST_TARGETS = 64
"""The most final tokens of a joint answer in one message."""

MOST_VOCABULARY = 2**20
"""The largest vocabulary, in tokens, whose whole distribution can be sent in a joint answer."""

MOST_FETCHES = 8
"""The most Fetch messages for one position; each requests more tokens than the one before."""

PIECE_BYTES = 32 * 1024
"""The bytes of a distribution in each Rest message except the last."""


MOST_QUEUED = 1000
"""The most Queued events of a request."""

MOST_ROUNDS = 64
"""The most Round events of a request."""

MOST_QUERIES = 16
"""The most search queries in a Round."""

MOST_QUERY = 512
"""The most characters of a search query in a Round."""

MOST_PASSAGES = 16
"""The most passages in one message."""


class CloseCode(IntEnum):
    """The reason for which a connection ends, in the WebSocket close frame and in `Closing`."""

    DONE = 1000
    TOO_LARGE = 1009
    RESTARTING = 1012
    BUSY = 1013
    MALFORMED = 4000
    ILLEGAL = 4001
    VERSION = 4002
    ORDER = 4003
    CREDIT = 4004
    REQUESTS = 4005
    SLOW = 4006


CLOSE_REASONS: Final = {
    CloseCode.DONE: "the side is done",
    CloseCode.TOO_LARGE: "a frame over its size limit",
    CloseCode.RESTARTING: "the server restarts; reconnect and resume the session",
    CloseCode.BUSY: "the server is busy; reconnect after `retry_after_s`",
    CloseCode.MALFORMED: "not a message, a value out of its bounds, or a message that only the other side may send",
    CloseCode.ILLEGAL: "a message that is not allowed now",
    CloseCode.VERSION: "no protocol version in common",
    CloseCode.ORDER: "a request, sequence or ping number, or a token index, out of order",
    CloseCode.CREDIT: "tokens beyond the granted credit",
    CloseCode.REQUESTS: "more requests alive than the server offered",
    CloseCode.SLOW: "no hello in time, or a side that stopped reading",
}


RequestNumber = Annotated[int, Meta(ge=1, le=2**31 - 1)]
SequenceNumber = Annotated[int, Meta(ge=1, le=2**53 - 1)]
LastNumber = Annotated[int, Meta(ge=0, le=2**53 - 1)]
PingNumber = Annotated[int, Meta(ge=1, le=2**31 - 1)]
Token = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Index = Annotated[int, Meta(ge=0, le=MOST_TOKENS)]
Position = Annotated[int, Meta(ge=0, le=MOST_TOKENS - 1)]
Drafted = Annotated[tuple[Token, ...], Meta(min_length=1, max_length=MOST_AHEAD)]
Step = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Microseconds = Annotated[int, Meta(ge=1, le=2**31 - 1)]
Said = Annotated[bytes, Meta(min_length=1, max_length=6 * 4096 + 5)]
Settled = Annotated[tuple[Token, ...], Meta(min_length=1, max_length=MOST_TARGETS)]
RestBytes = Annotated[int, Meta(ge=1, le=4 * MOST_VOCABULARY + 5)]
Rule = Literal["coupled", "algorithm1", "greedy"]
Place = Literal["device", "server", "both"]
Pipeline = Literal["plain", "hyde", "subquestion", "iterative", "iter_retgen", "flare", "self_rag"]
"""The name of a server's pipeline: the steps from a question to its answer."""

ChosenPipeline = Literal["", Pipeline]
"""The pipeline that an Ask names; empty if the server decides."""

LogWeight = Annotated[float, Meta(ge=-1000, le=1000)]
LogOdds = Annotated[float, Meta(ge=-2000, le=2000)]
Distance = Annotated[int, Meta(ge=1, le=1024)]
Accepted = Annotated[tuple[Token, ...], Meta(max_length=MOST_TOKENS - 1)]
AcceptedText = Annotated[str, Meta(max_length=32_768)]
PassageId = Annotated[int, Meta(ge=0, le=2**53 - 1)]
Count = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Milliseconds = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Seconds = Annotated[float, Meta(ge=0, le=86_400)]
Share = Annotated[float, Meta(ge=0, le=1)]
Name = Annotated[str, Meta(max_length=200)]
Fingerprint = Annotated[str, Meta(max_length=128)]
SessionId = Annotated[str, Meta(min_length=16, max_length=64)]
Sentence = Annotated[str, Meta(max_length=500)]
