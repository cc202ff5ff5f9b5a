"""Every message of the link and the bounds of its fields, which the codec enforces before it builds anything.

Text frames (JSON, of later versions too) say who is there and why somebody leaves; binary frames (msgpack arrays) are
requests and what becomes of them. A token's index counts from the start of the answer, handed-over tokens included.
"""

from enum import IntEnum
from typing import Annotated, Final, Literal

from msgspec import Meta, Struct

VERSION = 1
SUBPROTOCOL = f"jackdaw.v{VERSION}"

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


# What is said in text frames.


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
    drafts of an answer that is written together.
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


# What the device asks, in binary frames.


class Sampling(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """As `models.sampling.SamplingSettings` has it."""

    temperature: Annotated[float, Meta(ge=0, le=100)] = 0.0
    top_k: Count = 0
    top_p: Share = 1.0
    min_p: Share = 0.0
    repetition_penalty: Annotated[float, Meta(ge=0.01, le=100)] = 1.0
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)] = 0


class Ask(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=1, gc=False):
    """A question. The server searches up to `passages`, or takes those of `sources`, and generates only where told to.

    An answer that is under way comes along as the tokens `accepted` so far or, for a model of another vocabulary, as
    their text. `max_tokens` is the length of the whole answer; tokens below index `credit` may be sent at once.

    With `ahead` above 0 both sides write the answer together, by `rule` and the sampling's seed: each drafts so many
    tokens beyond what it knows to be settled, which is all the credit there is. `place` is who settles first, `rows` in
    how many the server reads its passages (1: all in one prompt), `round_trip_ms` what the device measured, 0 where
    it did not.
    """

    request: RequestNumber
    question: Annotated[str, Meta(max_length=8192)]
    generate: bool
    passages: Annotated[int, Meta(ge=0, le=16)]
    max_tokens: Annotated[int, Meta(ge=1, le=MOST_TOKENS)]
    credit: Index
    sampling: Sampling = Sampling()
    accepted: Accepted = ()
    accepted_text: AcceptedText = ""
    sources: Annotated[tuple[PassageId, ...], Meta(max_length=16)] = ()
    ahead: Annotated[int, Meta(ge=0, le=MOST_AHEAD)] = 0
    rule: Rule = "coupled"
    place: Place = "both"
    rows: Annotated[int, Meta(ge=1, le=MOST_ROWS)] = 1
    round_trip_ms: Milliseconds = 0


class Start(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=2, gc=False):
    """Generate after all, from the sources that the request found: from the start, or after the accepted tokens."""

    request: RequestNumber
    credit: Index
    accepted: Accepted = ()
    accepted_text: AcceptedText = ""


class Credit(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=3, gc=False):
    """Tokens below index `upto` may be sent. A lower value than before takes nothing back."""

    request: RequestNumber
    upto: Index


class Cancel(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=4, gc=False):
    """Stop working on a request; its Finished still comes, with what it used."""

    request: RequestNumber


class Acknowledge(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=5, gc=False):
    """Every event up to that number arrived. Sent by the session itself."""

    seq: SequenceNumber


class Ping(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=6, gc=False):
    """Answered by a Pong of the same number; numbers rise."""

    number: PingNumber


# What both say of an answer that they write together; the server's as events.


class Weight(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=7, gc=False):
    """log h of the sender's passages for the question; nothing where it has none."""

    request: RequestNumber
    log_h: LogWeight | None


class Drafts(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=8, gc=False):
    """The sender's drafts from `position` on, each behind the one before it; `epoch` is where their chain begins.

    `distributions` has one for each where the rule needs it. `step_us` is what a draft takes the sender, 0 unsaid.
    """

    request: RequestNumber
    epoch: Position
    position: Position
    ids: Drafted
    distributions: Annotated[tuple[Said, ...], Meta(max_length=MOST_SAID)] = ()
    step_us: Step = 0


class Targets(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=9, gc=False):
    """What the sender settled, from `position` on."""

    request: RequestNumber
    position: Position
    ids: Settled


class Switch(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=10, gc=False):
    """The receiver settles from `position` on.

    `mine` is the epoch of the sender's drafts, `yours` of the receiver's, as the sender knows it.
    """

    request: RequestNumber
    position: Position
    mine: Position
    yours: Position


class Fetch(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=11, gc=False):
    """Say more of the server's distribution at `position`: the `count` likeliest tokens. Of a lower count than before,
    or an earlier position, it means nothing.
    """

    request: RequestNumber
    position: Position
    count: Annotated[int, Meta(ge=1, le=MOST_VOCABULARY)]


class Rest(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=12, gc=False):
    """A piece of the answer to a Fetch: bytes from `offset` on, of `size` in all. Each but the last has 32,768."""

    request: RequestNumber
    position: Position
    offset: Annotated[int, Meta(ge=0, le=4 * MOST_VOCABULARY)]
    size: RestBytes
    data: Annotated[bytes, Meta(min_length=1, max_length=PIECE_BYTES)]


# What becomes of it: events, which the session numbers and sends again after a cut, and Pong.


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
    passages: Annotated[tuple[PublicPassage, ...], Meta(max_length=16)]


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


JointFromDevice = Weight | Drafts | Targets | Switch | Fetch
JointFromServer = Weight | Drafts | Targets | Switch | Rest
"""What each side says of an answer that both write."""

Event = Queued | Sources | Tokens | Finished | Failed | JointFromServer


class Numbered(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=33, gc=False):
    """The envelope of an event: numbers count from 1 in a session, without a gap."""

    seq: SequenceNumber
    event: Event


FromDevice = Hello | Closing | Ask | Start | Credit | Cancel | Acknowledge | Ping | JointFromDevice
FromServer = Welcome | Goaway | Closing | Numbered | Pong
Message = FromDevice | FromServer
