"""What the device asks, in binary frames."""

from typing import Annotated

from msgspec import Meta, Struct

from shared.protocol.messages.bounds import (
    MOST_AHEAD,
    MOST_ROWS,
    MOST_TOKENS,
    Accepted,
    AcceptedText,
    ChosenPipeline,
    Count,
    Index,
    Milliseconds,
    PassageId,
    PingNumber,
    Place,
    RequestNumber,
    Rule,
    SequenceNumber,
    Share,
)


class Sampling(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """As `models.sampling.SamplingSettings` has it."""

    temperature: Annotated[float, Meta(ge=0, le=100)] = 0.0
    top_k: Count = 0
    top_p: Share = 1.0
    min_p: Share = 0.0
    repetition_penalty: Annotated[float, Meta(ge=0.01, le=100)] = 1.0
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)] = 0


class AskV1(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=1, gc=False):
    """An Ask as version 1 has it on the wire. The codec alone makes and reads it."""

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


class Ask(AskV1, frozen=True, array_like=True, forbid_unknown_fields=True, tag=1, gc=False):
    """A question. The server searches up to `passages`, or takes those of `sources`, and generates only where told to.

    An answer that is under way comes along as the tokens `accepted` so far or, for a model of another vocabulary, as
    their text. `max_tokens` is the length of the whole answer; tokens below index `credit` may be sent at once.

    With `ahead` above 0 both sides write the answer together, by `rule` and the sampling's seed: each drafts so many
    tokens beyond what it knows to be settled, which is all the credit there is. `place` is who settles first, `rows` in
    how many the server reads its passages (1: all in one prompt), `round_trip_ms` what the device measured, 0 where
    it did not. `pipeline` is one that the server offers, or nothing: it decides. Version 1 has no such field.
    """

    pipeline: ChosenPipeline = ""


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
