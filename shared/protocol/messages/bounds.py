"""The versions of the protocol, the codes of a close, and the bounds of every field."""

from enum import IntEnum
from typing import Annotated, Final, Literal

from msgspec import Meta

VERSIONS: Final = (1, 2)
"""Of the protocol, in rising order. The highest that both sides speak holds for a session, for as long as it lives."""

SUBPROTOCOL = "jackdaw.v1"
"""The same in every version: which it is, hello and welcome say."""

MOST_FRAME_BYTES = 256 * 1024
"""Of a binary frame. The largest legal message fits."""

MOST_TEXT_BYTES = 16 * 1024
"""Of a text frame. They are few and small."""

MOST_BRACKETS = 64
"""In a text frame, opening ones: no deeper can it be nested, whatever a later version adds."""

MOST_REQUESTS = 64
"""Alive at once in one session, whatever the server offers."""

MOST_TOKENS = 8192
"""Of an answer."""

MOST_AHEAD = 32
"""Tokens that a side may draft beyond what it knows to be settled, in an answer written together."""

MOST_ROWS = 16
"""In which the passages of one side may be read."""

MOST_SAID = 8
"""Distributions in one message; drafts that need one come in so many at most."""

MOST_TARGETS = 64
"""Settled tokens in one message."""

MOST_VOCABULARY = 2**20
"""Of models whose whole distributions are sent, for an answer written together."""

MOST_FETCHES = 8
"""Of one position: each asks for more than the one before."""

PIECE_BYTES = 32 * 1024
"""Of each piece of a Rest but the last."""


MOST_QUEUED = 1000
"""Of a request: how often a server may say that it waits."""

MOST_ROUNDS = 64
"""Of a request: how often a server may say what it looked up."""

MOST_QUERIES = 16
"""Of a round."""

MOST_QUERY = 512
"""Characters of each."""

MOST_PASSAGES = 16
"""In one message."""


class CloseCode(IntEnum):
    """Why a connection ends, in the WebSocket close frame and in `Closing`."""

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
    CloseCode.DONE: "nothing more to say",
    CloseCode.TOO_LARGE: "a frame over its limit",
    CloseCode.RESTARTING: "come back, and resume",
    CloseCode.BUSY: "come back after `retry_after_s`",
    CloseCode.MALFORMED: "no message, a value out of its bounds, or a message of the other side",
    CloseCode.ILLEGAL: "a message that may not be said now",
    CloseCode.VERSION: "no version in common",
    CloseCode.ORDER: "a request, sequence or ping number, or a token index, that is not one of the next",
    CloseCode.CREDIT: "tokens beyond what was granted",
    CloseCode.REQUESTS: "more requests alive than were offered",
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
Said = Annotated[bytes, Meta(min_length=1, max_length=6 * 4096 + 5)]
Settled = Annotated[tuple[Token, ...], Meta(min_length=1, max_length=MOST_TARGETS)]
RestBytes = Annotated[int, Meta(ge=1, le=4 * MOST_VOCABULARY + 5)]
Rule = Literal["coupled", "algorithm1", "greedy"]
Place = Literal["device", "server", "both"]
Pipeline = Literal["plain", "hyde", "subquestion", "iterative", "iter_retgen", "flare", "self_rag"]
"""How a server comes from a question to its answer."""

ChosenPipeline = Literal["", Pipeline]
"""The same, or nothing: the server decides."""

LogWeight = Annotated[float, Meta(ge=-1000, le=1000)]
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
