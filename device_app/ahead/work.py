"""Work that is done ahead: a run of finished items that gives way when it is told to. Knows no work and no schedule."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from typing import Any

from shared.trace import Trace


@dataclass(frozen=True, slots=True)
class Step:
    """An item of work that is finished and stored: what was done, to what, and why it was chosen."""

    action: str
    subject: str
    why: str
    tokens_prefilled: int
    tokens_decoded: int
    ms: float

    @classmethod
    def traced(cls, action: str, subject: str, why: str, trace: Trace) -> Step:
        """A step of the model, and what it took."""
        return cls(action, subject, why, trace.tokens_prefilled, trace.tokens_decoded, round(trace.elapsed_ms(), 1))

    @classmethod
    def free(cls, action: str, subject: str, why: str) -> Step:
        """A step that the model had no part in."""
        return cls(action, subject, why, 0, 0, 0.0)

    @property
    def tokens(self) -> int:
        """All that the model read and wrote."""
        return self.tokens_prefilled + self.tokens_decoded


GiveWay = Callable[[], bool]
Work = Callable[[GiveWay], Iterator[Step]]
"""Called with `give_way`, which it asks many times a second: once that is true, it ends without another step."""


@dataclass(frozen=True, slots=True)
class WorkReport:
    """One run of work. `stopped` is why it gave way, None where it came to its end."""

    steps: Sequence[Step]
    stopped: str | None
    seconds: float

    @property
    def tokens(self) -> int:
        """All that the model read and wrote."""
        return sum(step.tokens for step in self.steps)

    def as_json(self) -> dict[str, Any]:
        """The object that `daemon run-once --json` prints."""
        steps = [asdict(step) for step in self.steps]
        return {"steps": steps, "tokens": self.tokens, "seconds": round(self.seconds, 3), "stopped": self.stopped}


Reason = Callable[[], str | None]
"""Why to give way, in words; None while there is no reason to."""


class Stop:
    """Whether work has to give way, and why: the first of the reasons that spoke. Once said, it stays."""

    def __init__(self, *reasons: Reason) -> None:
        self._reasons = reasons
        self.why: str | None = None

    def __call__(self) -> bool:
        self.why = self.why or next(filter(None, (reason() for reason in self._reasons)), None)
        return self.why is not None


def run_once(work: Work, stop: Stop, on_step: Callable[[Step], None] = lambda _: None) -> WorkReport:
    """Work until it comes to its end or has to give way."""
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
    """One work after the other."""

    def work(give_way: GiveWay) -> Iterator[Step]:
        for each in works:
            if give_way():
                return
            yield from each(give_way)

    return work


def _steps(work: Work, stop: Stop) -> Generator[Step]:
    if not stop():
        yield from work(stop)
