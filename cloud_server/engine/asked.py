"""A job that a client has asked for, from the queue to its end."""

from collections.abc import Callable
from dataclasses import dataclass, field

from cloud_server.engine.jobs import Job


@dataclass(slots=True)
class AskedJob:
    """A job in the queue or in the batch, and its progress.

    `allowed`: the token index up to which its client allows tokens. `written`: how many tokens were drawn. `writing`:
    the job is in the batch. `parked`: the job lost its place to another one, and is queued again once its client allows
    more tokens. `paused_since`: when its client last stopped allowing tokens; None while it allows some.
    """

    owner: str
    job: Job
    allowed: int
    written: int = 0
    writing: bool = False
    parked: bool = False
    paused_since: float | None = None
    orders: list[Callable[[], None]] = field(default_factory=list)  # calls on the batch that are still to be made
