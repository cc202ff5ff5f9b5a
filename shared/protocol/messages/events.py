"""The events of a request, and Pong. The session numbers events and sends them again after a lost connection."""

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
    """A passage of the server's corpus.

    `similarity`: the cosine of question and passage. `score`: the passage's relevance, 0 to 1.
    """

    id: PassageId
    title: Annotated[str, Meta(max_length=300)]
    path: Annotated[str, Meta(max_length=500)]
    text: Annotated[str, Meta(max_length=2500)]
    similarity: Annotated[float, Meta(ge=-1.001, le=1.001)]
    score: Annotated[float, Meta(ge=0, le=1)]


class Usage(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """A request's usage: prompt tokens (`cached` of them from the KV cache), generated tokens, and waiting time."""

    prompt: Count
    cached: Count
    generated: Count
    queued_ms: Milliseconds


class Queued(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=16, gc=False):
    """The request waits behind `position` other requests, for about `wait_ms`."""

    request: RequestNumber
    position: Count
    wait_ms: Milliseconds


class Sources(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=17, gc=False):
    """The retrieved passages, best first; empty if the request named its sources or asked for none.

    Sent once, before any token.
    """

    request: RequestNumber
    passages: Annotated[tuple[PublicPassage, ...], Meta(max_length=MOST_PASSAGES)]


class Round(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=21, gc=False):
    """A round of retrieval: its search queries and the passages returned, which the answer may use as sources.

    Comes before or after Sources, also between tokens; `number` counts from 1 in a request. Only in version 2, and not
    for joint answers.
    """

    request: RequestNumber
    number: Annotated[int, Meta(ge=1, le=MOST_ROUNDS)]
    pipeline: Pipeline
    queries: Annotated[tuple[Annotated[str, Meta(max_length=MOST_QUERY)], ...], Meta(max_length=MOST_QUERIES)]
    passages: Annotated[tuple[PublicPassage, ...], Meta(max_length=MOST_PASSAGES)]


class Tokens(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=18, gc=False):
    """The answer's next tokens; `index` is the index of the first.

    `text`: the text that they complete, if the vocabularies differ.
    """

    request: RequestNumber
    index: Index
    ids: Annotated[tuple[Token, ...], Meta(min_length=1, max_length=512)]
    text: Annotated[str, Meta(max_length=8192)] | None = None


class Finished(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=19, gc=False):
    """The last event of a request that did not fail.

    `text`: the replacement of an incomplete last character, if the vocabularies differ.
    """

    request: RequestNumber
    reason: Literal["end", "length", "cancelled"]
    usage: Usage
    text: Annotated[str, Meta(max_length=64)] = ""


FailureCode = Literal["busy", "limit", "too_long", "no_source", "invalid", "going_away", "internal"]


class Failed(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=20, gc=False):
    """The last event of a request that failed.

    `busy`: there are too many requests, or other requests need the place of a paused answer; `invalid`: `accepted`
    holds a token outside the server's vocabulary.
    """

    request: RequestNumber
    code: FailureCode
    message: Sentence
    retry_after_s: Seconds | None = None


class Pong(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=32, gc=False):
    """The reply to a Ping. It has no event number and is not sent again after a reconnect."""

    number: PingNumber


Event = Queued | Sources | Round | Tokens | Finished | Failed | JointFromServer


class Numbered(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=33, gc=False):
    """An event with its number; numbers count from 1 in a session, without gaps."""

    seq: SequenceNumber
    event: Event
