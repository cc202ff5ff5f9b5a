"""What both sides say of an answer that they write together; the server's as events."""

from typing import Annotated

from msgspec import Meta, Struct

from shared.protocol.messages.bounds import (
    MOST_SAID,
    MOST_VOCABULARY,
    PIECE_BYTES,
    Drafted,
    LogWeight,
    Position,
    RequestNumber,
    RestBytes,
    Said,
    Settled,
    Step,
)


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


JointFromDevice = Weight | Drafts | Targets | Switch | Fetch
JointFromServer = Weight | Drafts | Targets | Switch | Rest
"""What each side says of an answer that both write."""
