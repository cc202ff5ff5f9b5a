"""Replays a user's questions on several arms in parallel, and grades the answers."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from models.engine import Embedder
from scripts.benchmarks.percache_arms import Arm, Outcome, Spec, opened
from scripts.benchmarks.percache_idle import IdleSource
from scripts.benchmarks.percache_users import Asked, User, f1, rouge_l
from scripts.places import step
from storage.knowledge import KnowledgeStore

AGREES = 0.5
"""The F1 from which on two answers count as equal."""

RESAMPLED = 10_000


@dataclass(frozen=True, slots=True)
class Room:
    """The parts that all arms share: the user's filled store, a folder for copies, the embedder, the model."""

    user: User
    store: KnowledgeStore
    folder: Path
    embedder: Embedder
    source: IdleSource

    def arm(self, name: str, spec: Spec) -> Arm:
        """Return a new arm with a copy of the store."""
        return opened(spec, self.store, self.folder / name, self.embedder, self.source)


def replay(
    room: Room, specs: Mapping[str, Spec], most: int, changes: Mapping[str, tuple[int, Spec]] | None = None
) -> tuple[dict[str, Arm], dict[str, list[Outcome]]]:
    """Ask every arm the user's first questions, interleaved. `changes` maps an arm to a question's number and the
    settings that apply from it on.
    """
    arms = {name: room.arm(name, spec) for name, spec in specs.items()}
    for arm in arms.values():
        arm.work_ahead(before=True)
        # The first search reads the vectors into memory.
        arm.assistant.similar(room.user.questions[0].text, arm.options)
    outcomes: dict[str, list[Outcome]] = {name: [] for name in arms}
    for number, asked in enumerate(room.user.questions[:most], 1):
        step(f"{room.user.name}: question {number}")
        # The first arm finds the CPU caches cold, so that the order rotates.
        for name in [*arms][number % len(arms) :] + [*arms][: number % len(arms)]:
            outcomes[name].append(arms[name].ask(asked.text))
        for name, arm in arms.items():
            after, spec = (changes or {}).get(name, (0, arm.spec))
            if number == after:
                arms[name] = arm.change(spec)
            arms[name].work_ahead(before=False)
    for arm in arms.values():
        arm.close()
    room.source.written.states.clear()
    return arms, outcomes


@dataclass(frozen=True, slots=True)
class Graded:
    """An outcome, compared with the reference and with the answer of the naive arm, which uses no cache."""

    outcome: Outcome
    false_hit: bool
    f1: float
    rouge_l: float


def grade(questions: Sequence[Asked], outcomes: Sequence[Outcome], naive: Sequence[Outcome]) -> list[Graded]:
    """Return each outcome with its grades."""
    return [
        Graded(
            outcome,
            _false(asked, outcome, uncached.answer.text, questions),
            f1(outcome.answer.text, asked.reference),
            rouge_l(outcome.answer.text, asked.reference),
        )
        for asked, outcome, uncached in zip(questions, outcomes, naive, strict=False)
    ]


def _false(asked: Asked, outcome: Outcome, uncached: str, questions: Sequence[Asked]) -> bool:
    """Return whether an outcome's served answer belongs to another question."""
    matched = outcome.answer.matched
    return matched is not None and is_false(asked, matched.question, outcome.answer.text, uncached, questions)


def is_false(asked: Asked, matched: str, served: str, uncached: str, questions: Sequence[Asked]) -> bool:
    """Return whether the answer `served` for `asked`, cached for the question `matched`, belongs to another question.

    `uncached` is the model's own answer to `asked`; `questions` are all questions of this user.
    """
    if matched == asked.text:
        return False
    own = next((other for other in questions if other.text == matched), None)
    if own:
        return not (own.evidence & asked.evidence and f1(own.reference, asked.reference) >= AGREES)
    near = f1(served, asked.reference)
    return f1(served, uncached) < AGREES and not (near and near >= f1(uncached, asked.reference))


def summary(graded: Sequence[Graded], arms: Sequence[Arm]) -> dict[str, Any]:
    """Return an arm's figures over all its users, including the mean cost of preparing a predicted question."""
    outcomes = [grade.outcome for grade in graded]
    times = [outcome.ms for outcome in outcomes]
    traces = [outcome.answer.trace for outcome in outcomes]
    names = dict.fromkeys(name for trace in traces for name, _ in trace.steps)
    predicted = [(step.tokens, seconds) for arm in arms for step, seconds in arm.steps if "predicted from" in step.why]
    question: dict[str, Any] = {}
    if predicted:
        tokens, seconds = zip(*predicted, strict=True)
        question = {
            "tokens_per_question": round(statistics.mean(tokens), 1),
            "s_per_question": round(statistics.mean(seconds), 3),
        }
    return question | {
        "mean_ms": round(statistics.mean(times), 1),
        "p50_ms": round(statistics.median(times), 1),
        "p95_ms": round(float(np.quantile(times, 0.95)), 1),
        "ttft_ms": round(statistics.mean(outcome.ttft_ms for outcome in outcomes), 1),
        "text_ms": round(statistics.mean(outcome.text_ms for outcome in outcomes), 1),
        "after_ms": round(statistics.mean(outcome.after_ms for outcome in outcomes), 1),
        "qa_hit": _mean(outcome.answer.matched is not None for outcome in outcomes),
        "false_hit": _mean(grade.false_hit for grade in graded),
        "f1": _mean(grade.f1 for grade in graded),
        "rouge_l": _mean(grade.rouge_l for grade in graded),
        "tokens_reused": sum(trace.tokens_cached for trace in traces),
        "tokens_prefilled": sum(trace.tokens_prefilled for trace in traces),
        "tokens_decoded": sum(trace.tokens_decoded for trace in traces),
        "steps_ms": {
            name.replace(" ", "_"): round(
                statistics.mean(sum(ms for step, ms in trace.steps if step == name) for trace in traces), 2
            )
            for name in names
        },
        "disk_bytes": sum(arm.bytes for arm in arms),
        "population_tokens": sum(arm.idle.work.prefilled + arm.idle.work.decoded for arm in arms),
        "population_s": round(sum(arm.seconds for arm in arms), 1),
        "population_items": sum(len(arm.steps) for arm in arms),
        "population_questions": len(predicted),
    }


def paired(differences: Sequence[float]) -> dict[str, float]:
    """Return the mean of paired differences, and its 95% interval by resampling."""
    drawn = np.random.default_rng(0).choice(differences, (RESAMPLED, len(differences))).mean(axis=1)
    low, high = np.quantile(drawn, (0.025, 0.975)).tolist()
    return {"mean": round(statistics.mean(differences), 4), "low": round(low, 4), "high": round(high, 4)}


def _mean(values: Any) -> float:
    return round(statistics.mean(map(float, values)), 4)
