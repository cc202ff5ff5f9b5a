"""The timing of one answer, by the monotonic clock."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace

_WRITING = ("prefill", "decode")


@dataclass(slots=True)
class DraftCounts:
    """The counts of an answer's speculative decoding: passes, the tokens drafted and accepted in them, and their cost.

    `cost` is the total time of passes and of drafting, as a multiple of a pass over one token. `model` names the model
    that drafted, if any: `model_drafted` and `model_accepted` are its part of the tokens, `model_read` the tokens of
    prompt and answer that it read, `model_ms` its time. `model_failed` says why it stopped in the middle.
    """

    passes: int = 0
    drafted: int = 0
    accepted: int = 0
    cost: float = 0.0
    model: str = ""
    model_drafted: int = 0
    model_accepted: int = 0
    model_read: int = 0
    model_ms: float = 0.0
    model_failed: str = ""

    @property
    def gain(self) -> float:
        """The speed of generating the tokens after the first, as a multiple of the speed without drafts."""
        return (self.passes + self.accepted) / self.cost if self.cost else 1.0

    @property
    def tokens_per_pass(self) -> float:
        """The tokens generated in a pass, on average."""
        return (self.passes + self.accepted) / self.passes if self.passes else 1.0

    def as_json(self) -> dict[str, object]:
        """Return the `drafts` object of a trace, in which `model` is null unless a model drafted or failed to."""
        counts = {"passes": self.passes, "drafted": self.drafted, "accepted": self.accepted}
        model = {
            "name": self.model,
            "drafted": self.model_drafted,
            "accepted": self.model_accepted,
            "read": self.model_read,
            "ms": round(self.model_ms, 2),
            "failed": self.model_failed,
        }
        return {
            **counts,
            "gain": round(self.gain, 3),
            "tokens_per_pass": round(self.tokens_per_pass, 2),
            "model": model if self.model or self.model_failed else None,
        }


@dataclass(slots=True)
class Trace:
    """The timing of one answer: its steps with their durations, and the prompt's tokens by the origin of their states.

    `segments_cached` and `tokens_cached` count the segments (parts of the prompt) with cached attention states and
    their tokens, `segments_moved` and `tokens_moved` those with states cached at another position, which are not exact;
    `tokens_prefilled` counts the computed tokens, of which `tokens_recomputed` are the first tokens of moved segments;
    `tokens_decoded` counts the answer's tokens. `discarded` are the timings of earlier attempts, whose passages did not
    contain the answer; `looks` are those of repeated reads of the passages that contain it. `joined` are the ids of the
    passages with cached states. `drafts` counts speculative decoding. `steps` are names with milliseconds;
    `first_token_ms` are those from the start of the trace to the answer's first token.
    """

    started: float = field(default_factory=time.perf_counter)
    steps: list[tuple[str, float]] = field(default_factory=list)
    first_token_ms: float | None = None
    segments_cached: int = 0
    tokens_cached: int = 0
    segments_moved: int = 0
    tokens_moved: int = 0
    tokens_recomputed: int = 0
    tokens_prefilled: int = 0
    tokens_decoded: int = 0
    discarded: list["Trace"] = field(default_factory=list)
    looks: list["Trace"] = field(default_factory=list)
    joined: set[int] = field(default_factory=set)
    drafts: DraftCounts = field(default_factory=DraftCounts)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Measure the block as a step, in ms; successive steps of the same name are merged."""
        started = time.perf_counter()
        try:
            yield
        finally:
            before = self.steps.pop()[1] if self.steps and self.steps[-1][0] == name else 0.0
            self.steps.append((name, before + (time.perf_counter() - started) * 1000))

    def step_ms(self, name: str) -> float:
        """Return the milliseconds of all steps of this name."""
        return sum(ms for step, ms in self.steps if step == name)

    def first_token(self) -> None:
        """Record the time of the first token; later calls do nothing."""
        if self.first_token_ms is None:
            self.first_token_ms = self.elapsed_ms()

    @property
    def all(self) -> Sequence["Trace"]:
        """The discarded attempts, the repeated reads, and this trace."""
        return (*self.discarded, *self.looks, self)

    def begin_again(self) -> None:
        """Discard the current attempt: its steps and tokens move to `discarded`, and tokens are counted from 0 again.

        This trace keeps the attempt's total time as the step "in vain".
        """
        spent = [step for step in self.steps if step[0] in _WRITING]
        self.discarded.append(replace(self, steps=spent, discarded=[]))
        self.steps = [step for step in self.steps if step[0] not in _WRITING]
        self.steps.append(("in vain", sum(ms for _, ms in spent)))
        self.drafts = DraftCounts()
        for part in fields(self):
            if isinstance(part.default, int | None):
                setattr(self, part.name, part.default)

    def elapsed_ms(self) -> float:
        """Return the milliseconds since the trace began."""
        return (time.perf_counter() - self.started) * 1000

    def as_json(self) -> dict[str, object]:
        """Return the `trace` object of `ask --json`."""
        return {
            "ttft_ms": None if self.first_token_ms is None else round(self.first_token_ms, 2),
            "total_ms": round(self.elapsed_ms(), 2),
            "steps": [{"name": name, "ms": round(ms, 2)} for name, ms in self.steps],
            "tokens": self.tokens_decoded,
            "drafts": self.drafts.as_json() if self.drafts.passes else None,
        }
