"""The device's requests, sent in binary frames."""

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
    """The sampling settings of an answer, the same as in `models.sampling.SamplingSettings`."""

    temperature: Annotated[float, Meta(ge=0, le=100)] = 0.0
    top_k: Count = 0
    top_p: Share = 1.0
    min_p: Share = 0.0
    repetition_penalty: Annotated[float, Meta(ge=0.01, le=100)] = 1.0
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)] = 0


class AskV1(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=1, gc=False):
    """An Ask as encoded in version 1 of the protocol. Only the codec creates and reads it."""

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
    """A question to the server, which retrieves up to `passages` passages, or uses those named in `sources`.

    The server answers if `generate` is set. To continue an answer, `accepted` holds its tokens so far or, if the
    vocabularies differ, `accepted_text` their text. `max_tokens` is the length of the whole answer; tokens below index
    `credit` may be sent at once.

    With `ahead` above 0, the answer is a joint one, by `rule` and the sampling's seed: each side drafts up to `ahead`
    tokens beyond those it knows to be final; credit does not apply. `place` is the side that decides the final tokens
    first, `rows` the number of prompts among which the server divides its passages, `round_trip_ms` the device's
    measurement, 0 if there is none. `pipeline` is one that the server offers; if empty, the server decides. Not in
    version 1.

    Without `passages`, `sources` and `ahead`, the model alone answers; only for a server that offers `model_only`.
    """

    pipeline: ChosenPipeline = ""

    @property
    def model_only(self) -> bool:
        """Whether the model is to answer alone, without passages."""
        return not (self.passages or self.sources or self.ahead)


class Start(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=2, gc=False):
    """Generate an answer from the sources of a request that was asked without `generate`.

    The answer begins at its start, or after the accepted tokens.
    """

    request: RequestNumber
    credit: Index
    accepted: Accepted = ()
    accepted_text: AcceptedText = ""


class Credit(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=3, gc=False):
    """Allow the server to send tokens below index `upto`. A lower value than before changes nothing."""

    request: RequestNumber
    upto: Index


class Cancel(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=4, gc=False):
    """Stop working on a request. Its Finished event still comes, with its usage."""

    request: RequestNumber


class Acknowledge(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=5, gc=False):
    """Acknowledge all events up to number `seq`. The session itself sends this message."""

    seq: SequenceNumber


class Ping(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=6, gc=False):
    """A ping, answered by a Pong of the same number. Each ping's number is greater than the last ping's."""

    number: PingNumber
