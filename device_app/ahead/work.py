"""The types of background work: runs of finished steps, which give way on request. Independent of the kind of work."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from typing import Any

from shared.trace import Trace


@dataclass(frozen=True, slots=True)
class Step:
    """A finished and stored step of work: the action, its subject, and the reason for choosing it, for people.

    Its costs are the tokens that the model read and wrote, and its duration in milliseconds.
    """

    action: str
    subject: str
    why: str
    tokens_prefilled: int
    tokens_decoded: int
    ms: float

    @classmethod
    def traced(cls, action: str, subject: str, why: str, trace: Trace) -> Step:
        """Return a step that ran the model, with its cost from the trace."""
        return cls(action, subject, why, trace.tokens_prefilled, trace.tokens_decoded, round(trace.elapsed_ms(), 1))

    @classmethod
    def free(cls, action: str, subject: str, why: str) -> Step:
        """Return a step that did not run the model."""
        return cls(action, subject, why, 0, 0, 0.0)

    @property
    def tokens(self) -> int:
        """The tokens that the model read and wrote."""
        return self.tokens_prefilled + self.tokens_decoded


GiveWay = Callable[[], bool]
Work = Callable[[GiveWay], Iterator[Step]]
"""A function that does work, given `give_way`, which it calls many times a second.

Once `give_way` returns true, the function ends without another step.
"""


@dataclass(frozen=True, slots=True)
class WorkReport:
    """The result of one run of work. `stopped` is why the run gave way; None if it finished."""

    steps: Sequence[Step]
    stopped: str | None
    seconds: float

    @property
    def tokens(self) -> int:
        """The tokens that the model read and wrote."""
        return sum(step.tokens for step in self.steps)

    def as_json(self) -> dict[str, Any]:
        """Return the object that `daemon run-once --json` prints."""
        steps = [asdict(step) for step in self.steps]
        return {"steps": steps, "tokens": self.tokens, "seconds": round(self.seconds, 3), "stopped": self.stopped}


Reason = Callable[[], str | None]
"""A function that returns a reason to give way, in words; None if there is none."""


class Stop:
    """Whether work has to give way, and the first reason for it. Once true, it stays true."""

    def __init__(self, *reasons: Reason) -> None:
        self._reasons = reasons
        self.why: str | None = None

    def __call__(self) -> bool:
        self.why = self.why or next(filter(None, (reason() for reason in self._reasons)), None)
        return self.why is not None


def run_once(work: Work, stop: Stop, on_step: Callable[[Step], None] = lambda _: None) -> WorkReport:
    """Run the work until it finishes or has to give way; call `on_step` with each step."""
    began = time.monotonic()
    steps: list[Step] = []
    with closing(_steps(work, stop)) as stream:
        for step in stream:
            steps.append(step)
            on_step(step)
            if stop():
                break
    return WorkReport(tuple(steps), stop.why, time.monotonic() - began)


def in_turn(*works: Work) -> Work:
    """Return work that does the given pieces of work one after the other."""

    def work(give_way: GiveWay) -> Iterator[Step]:
        for each in works:
            if give_way():
                return
            yield from each(give_way)

    return work


def _steps(work: Work, stop: Stop) -> Generator[Step]:
    if not stop():
        yield from work(stop)
