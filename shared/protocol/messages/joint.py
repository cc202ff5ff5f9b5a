"""The messages of a joint answer, which both sides write together; the server sends its messages as events."""

from typing import Annotated

from msgspec import Meta, Struct

from shared.protocol.messages.bounds import (
    MOST_SAID,
    MOST_VOCABULARY,
    PIECE_BYTES,
    Distance,
    Drafted,
    LogOdds,
    LogWeight,
    Microseconds,
    Position,
    RequestNumber,
    RestBytes,
    Said,
    Settled,
    Step,
)


class Weight(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=7, gc=False):
    """The weight of the sender's passages for the question; None without passages.

    The weight is log h, where h = Σ exp(similarity / T) over the passages and T = 0.05.
    """

    request: RequestNumber
    log_h: LogWeight | None


class Drafts(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=8, gc=False):
    """The sender's consecutive drafts from `position` on; `epoch` is the position where their chain begins.

    `distributions` has one per draft if the rule needs them. `step_us`: the sender's microseconds per draft; 0 if
    unknown.
    """

    request: RequestNumber
    epoch: Position
    position: Position
    ids: Drafted
    distributions: Annotated[tuple[Said, ...], Meta(max_length=MOST_SAID)] = ()
    step_us: Step = 0


class Targets(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=9, gc=False):
    """The final tokens that the sender decided, from `position` on."""

    request: RequestNumber
    position: Position
    ids: Settled


class Switch(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=10, gc=False):
    """The hand-over of the role that decides final tokens: the receiver decides the tokens from `position` on.

    `mine` is the epoch (the first position) of the sender's chain of drafts; `yours` that of the receiver's, as far as
    the sender knows.
    """

    request: RequestNumber
    position: Position
    mine: Position
    yours: Position


class Fetch(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=11, gc=False):
    """Request the `count` likeliest tokens of the server's distribution at `position`.

    A lower count than before, or an earlier position, has no effect.
    """

    request: RequestNumber
    position: Position
    count: Annotated[int, Meta(ge=1, le=MOST_VOCABULARY)]


class Rest(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=12, gc=False):
    """A piece of the reply to a Fetch: its bytes from `offset` on, of `size` in total.

    All pieces but the last have 32,768 bytes.
    """

    request: RequestNumber
    position: Position
    offset: Annotated[int, Meta(ge=0, le=4 * MOST_VOCABULARY)]
    size: RestBytes
    data: Annotated[bytes, Meta(min_length=1, max_length=PIECE_BYTES)]


class RoundTrip(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=13, gc=False):
    """The device's current round-trip time, by which a server that decides the final tokens chooses when to hand that
    role over.

    Sent only to a server that offers the aggregation `scheduled`. A newer message replaces an older one.
    """

    request: RequestNumber
    round_trip_us: Microseconds


class FollowingWeight(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=14, gc=False):
    """The weight of the device's passages for the question, like Weight, in whose place it is sent, if the device's
    share of the mixture follows the text: it changes after every `every` tokens, by Reweight.

    Sent only to a server that offers `follows_text`, and only if the server may decide tokens.
    """

    request: RequestNumber
    log_h: LogWeight
    every: Distance


class Reweight(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=15, gc=False):
    """The device's share η of the mixture for the `every` tokens from `position` on, as log(η / (1 - η)).

    Positions are multiples of FollowingWeight's `every`, from twice `every` on; the weights before are those of the
    question. No token is decided before its share is known.
    """

    request: RequestNumber
    position: Position
    log_odds: LogOdds


JointFromDevice = Weight | Drafts | Targets | Switch | Fetch | RoundTrip | FollowingWeight | Reweight
JointFromServer = Weight | Drafts | Targets | Switch | Rest
"""The messages that each side may send for a joint answer."""
