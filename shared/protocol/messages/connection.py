"""Messages about the connection, in text frames (JSON, in all versions): hello, welcome, and the end."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from shared.protocol.messages.bounds import (
    MOST_REQUESTS,
    MOST_TOKENS,
    Count,
    Fingerprint,
    LastNumber,
    Name,
    Seconds,
    Sentence,
    SessionId,
)


class Resume(Struct, frozen=True):
    """The session to resume, and the number of the last event received in it."""

    session: SessionId
    last_seq: LastNumber


class Hello(Struct, frozen=True, tag_field="type", tag="hello"):
    """The device's first message on every connection. `vocabulary` and `embedder` are fingerprints; `client` names the
    program and its version.
    """

    versions: Annotated[tuple[Annotated[int, Meta(ge=1, le=2**31 - 1)], ...], Meta(min_length=1, max_length=16)]
    vocabulary: Fingerprint
    embedder: Fingerprint
    client: Name
    resume: Resume | None = None


class Offer(Struct, frozen=True):
    """A server's properties and limits.

    `context`: the most tokens of a prompt and its answer together; `requests`: the most open requests at once.
    `receives` lists the personal data that the server accepts: questions, answers to continue, and drafts of joint
    answers. `pipelines` are the names that an Ask may use, in version 2; a later server may offer unknown names.
    `aggregation` names the sides that may decide a joint answer's final tokens, besides both sides: one side
    throughout, or `scheduled`, with hand-overs by the device's RoundTrip. An older server names none. `model_only`: the
    model also answers alone, if an Ask wants no passages, with the question as the whole prompt. `follows_text`: the
    device's share in a joint answer may change with the text (FollowingWeight).
    """

    model: Name
    vocabulary: Fingerprint
    embedder: Fingerprint
    context: Count
    requests: Annotated[int, Meta(ge=1, le=MOST_REQUESTS)]
    max_tokens: Annotated[int, Meta(ge=1, le=MOST_TOKENS)]
    resume_for_s: Seconds
    receives: Annotated[tuple[Literal["question", "answer", "drafts"], ...], Meta(max_length=8)] = (
        "question",
        "answer",
        "drafts",
    )
    pipelines: Annotated[tuple[Annotated[str, Meta(max_length=32)], ...], Meta(max_length=16)] = ()
    aggregation: Annotated[tuple[Annotated[str, Meta(max_length=32)], ...], Meta(max_length=16)] = ()
    model_only: bool = False
    follows_text: bool = False


class Welcome(Struct, frozen=True, tag_field="type", tag="welcome"):
    """The reply to a hello. `asked` is the highest request number that arrived; 0 in a new session."""

    version: Annotated[int, Meta(ge=1, le=2**31 - 1)]
    session: SessionId
    resumed: bool
    asked: Annotated[int, Meta(ge=0, le=2**31 - 1)]
    offer: Offer


class Goaway(Struct, frozen=True, tag_field="type", tag="goaway"):
    """The server shuts down soon and takes no new requests.

    Running answers may end, or be resumed on another connection within `resume_for_s`.
    """

    reason: Sentence
    resume_for_s: Seconds


class Closing(Struct, frozen=True, tag_field="type", tag="closing"):
    """The last frame before either side closes the connection. `code` is a CloseCode; `versions` are the sender's."""

    code: Annotated[int, Meta(ge=1000, le=4999)]
    message: Sentence
    retry_after_s: Seconds | None = None
    versions: Annotated[tuple[Annotated[int, Meta(ge=1, le=2**31 - 1)], ...], Meta(max_length=16)] = ()
