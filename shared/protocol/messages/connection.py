"""What is said in text frames (JSON, of later versions too): who is there, and why somebody leaves."""

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
    """Which session to go on with, and the last numbered event of it that arrived."""

    session: SessionId
    last_seq: LastNumber


class Hello(Struct, frozen=True, tag_field="type", tag="hello"):
    """First on every connection. `vocabulary` and `embedder` are fingerprints; `client` names program and version."""

    versions: Annotated[tuple[Annotated[int, Meta(ge=1, le=2**31 - 1)], ...], Meta(min_length=1, max_length=16)]
    vocabulary: Fingerprint
    embedder: Fingerprint
    client: Name
    resume: Resume | None = None


class Offer(Struct, frozen=True):
    """What a server is and gives. `context` is in tokens, prompt and answer together; `requests` those alive at once.

    `receives` is what it may be sent of a person's: questions, the answer so far where it is to go on with one, and
    drafts of an answer that is written together. `pipelines` are those that an Ask may name, in version 2; a later
    server's may be others than this program knows.
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


class Welcome(Struct, frozen=True, tag_field="type", tag="welcome"):
    """The answer to a hello. `asked` is the highest request number that arrived, 0 in a new session."""

    version: Annotated[int, Meta(ge=1, le=2**31 - 1)]
    session: SessionId
    resumed: bool
    asked: Annotated[int, Meta(ge=0, le=2**31 - 1)]
    offer: Offer


class Goaway(Struct, frozen=True, tag_field="type", tag="goaway"):
    """The server will soon be gone: ask nothing more here; what runs may end, or be resumed elsewhere in that time."""

    reason: Sentence
    resume_for_s: Seconds


class Closing(Struct, frozen=True, tag_field="type", tag="closing"):
    """The last frame before a close, either way. `code` is a CloseCode; `versions` are those its sender speaks."""

    code: Annotated[int, Meta(ge=1000, le=4999)]
    message: Sentence
    retry_after_s: Seconds | None = None
    versions: Annotated[tuple[Annotated[int, Meta(ge=1, le=2**31 - 1)], ...], Meta(max_length=16)] = ()
