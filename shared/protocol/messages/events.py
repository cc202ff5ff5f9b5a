"""What becomes of a request: events, which the session numbers and sends again after a cut, and Pong."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from shared.protocol.messages.bounds import (
    MOST_PASSAGES,
    MOST_QUERIES,
    MOST_QUERY,
    MOST_ROUNDS,
    Count,
    Index,
    Milliseconds,
    PassageId,
    PingNumber,
    Pipeline,
    RequestNumber,
    Seconds,
    Sentence,
    SequenceNumber,
    Token,
)
from shared.protocol.messages.joint import JointFromServer


class PublicPassage(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """A passage of the server's corpus. `similarity` is the cosine of question and passage, `score` the fused one."""

    id: PassageId
    title: Annotated[str, Meta(max_length=300)]
    path: Annotated[str, Meta(max_length=500)]
    text: Annotated[str, Meta(max_length=2500)]
    similarity: Annotated[float, Meta(ge=-1.001, le=1.001)]
    score: Annotated[float, Meta(ge=0, le=1)]


class Usage(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """Tokens of the prompt (`cached` of them not computed), tokens generated, and how long the request waited."""

    prompt: Count
    cached: Count
    generated: Count
    queued_ms: Milliseconds


class Queued(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=16, gc=False):
    """The request waits behind `position` others, for about that long."""

    request: RequestNumber
    position: Count
    wait_ms: Milliseconds


class Sources(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=17, gc=False):
    """What was found, best first; empty where the request named its sources or wanted none. Once, before any token."""

    request: RequestNumber
    passages: Annotated[tuple[PublicPassage, ...], Meta(max_length=MOST_PASSAGES)]


class Round(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=21, gc=False):
    """A round of retrieval: what was looked up, and what that found, which the answer may be written from.

    Before the sources or behind them, between tokens too; `number` counts from 1 in a request. Only in version 2, and
    not of an answer that is written together.
    """

    request: RequestNumber
    number: Annotated[int, Meta(ge=1, le=MOST_ROUNDS)]
    pipeline: Pipeline
    queries: Annotated[tuple[Annotated[str, Meta(max_length=MOST_QUERY)], ...], Meta(max_length=MOST_QUERIES)]
    passages: Annotated[tuple[PublicPassage, ...], Meta(max_length=MOST_PASSAGES)]


class Tokens(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=18, gc=False):
    """The next tokens of the answer, the first of them at `index`; `text` that became complete, in text hand-over."""

    request: RequestNumber
    index: Index
    ids: Annotated[tuple[Token, ...], Meta(min_length=1, max_length=512)]
    text: Annotated[str, Meta(max_length=8192)] | None = None


class Finished(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=19, gc=False):
    """The last of a request that went well; `text` is what an answer ended inside of, in text hand-over."""

    request: RequestNumber
    reason: Literal["end", "length", "cancelled"]
    usage: Usage
    text: Annotated[str, Meta(max_length=64)] = ""


FailureCode = Literal["busy", "limit", "too_long", "no_source", "invalid", "going_away", "internal"]


class Failed(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=20, gc=False):
    """The last of a request that did not. `busy` also ends an answer that rests for 30 s while other requests wait;
    `invalid` says that `accepted` holds a token which the server's vocabulary lacks.
    """

    request: RequestNumber
    code: FailureCode
    message: Sentence
    retry_after_s: Seconds | None = None


class Pong(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=32, gc=False):
    """The answer to a Ping, not numbered: one that comes late measures nothing."""

    number: PingNumber


Event = Queued | Sources | Round | Tokens | Finished | Failed | JointFromServer


class Numbered(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=33, gc=False):
    """The envelope of an event: numbers count from 1 in a session, without a gap."""

    seq: SequenceNumber
    event: Event
