"""The caches over long question sequences: each answer is computed only once, and charged to every arm by measured
prices.

Per user, 100 questions of `lihuaworld` that one conversation answers, and all of `qmsum`, without an adapter.
`percache` is PerCache as published: the least frequently used entries are evicted first; cached chunks are matched by
text in retrieved order (section 4.2.2, B.2); Q, K and V are cached, which saves only their projections; questions are
predicted by the published prompts (B.3) from a stored abstract and from the earlier questions. `percache_with_PART` has
one part of the app instead, `jackdaw_with_PART` is the app with one published part.

`USERS.ARM` has the figures of `percache`. Search, embedding and the caches' own work are measured; prefill, decoding
and joining are priced; embedding in idle work is free. `prices` are in ms; `prices.error` is the share by which the
prices differ from all computed answers. `USERS.below` is the reduction of mean latency; `USERS.f1_against_naive.ARM`
the paired difference with its 95% interval.

`--targets` adds the pace of larger models, computed and not waited for: `USERS.at.TARGET` charges the same answers by
the prices of the default model inflated to the target's shape, which are in `prices_at.TARGET`. The caches hold the
same prompts as for the default model; for that the limit of states would have to be `prices_at.TARGET.states_mb`.
"""

import statistics
import tempfile
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from device_app.inference.local import LocalSource
from models.catalog import find
from models.chat_template import parse
from models.embedder import OnnxEmbedder
from models.llama_cpp import LlamaCppEngine
from models.llama_model import LlamaModel
from scripts.benchmarks import torch_reuse
from scripts.benchmarks.percache_arms import ARMS, JACKDAW, PAIRS, PERCACHE, Arm, Outcome, Spec, opened
from scripts.benchmarks.percache_calibration import calibrated, prices_of
from scripts.benchmarks.percache_idle import IdleSource, Work
from scripts.benchmarks.percache_priced_source import (
    Book,
    BoundPricedTree,
    PricedSource,
    PricedTree,
    RememberingEmbedder,
    TextTree,
)
from scripts.benchmarks.percache_prices import Prices
from scripts.benchmarks.percache_replay import Graded, Room, grade, paired, summary
from scripts.benchmarks.percache_users import about, users
from scripts.datasets.stores import filled
from scripts.inflation.targets import MODEL, SMALL, chosen_targets
from scripts.places import CannotRun, step, weights

QUESTIONS = {"lihuaworld": 100, "qmsum": 100}
"""The most questions per user."""
QUICK_QUESTIONS = {"lihuaworld": 10, "qmsum": 5}
KINDS = {"lihuaworld": "daily dialog", "qmsum": "meeting record"}
JOINS = 3

AS_PUBLISHED = replace(PERCACHE, tree="text", skips="projections")
PRICED = ARMS | {
    "percache": AS_PUBLISHED,
    "percache_with_prefix": replace(AS_PUBLISHED, skips="prefix"),
    "percache_with_order": replace(AS_PUBLISHED, tree="ordered", skips="prefix"),
    "percache_with_guard": replace(AS_PUBLISHED, hits="guarded"),
    "percache_with_predictions": replace(AS_PUBLISHED, predicts="own"),
    "jackdaw_with_lfu": replace(JACKDAW, policy="lfu"),
    "jackdaw_with_predictions": replace(JACKDAW, predicts="published"),
}


@dataclass(frozen=True, slots=True)
class Charged:
    """An outcome, the ms of it that were measured and not priced, and the number of rows of its prompt."""

    outcome: Outcome
    own_ms: float
    rows: int

    def at(self, prices: Prices, spec: Spec) -> tuple[float, float]:
        """Return the ms to the first token and of the whole answer by other prices."""
        first, last = prices.answer(self.outcome.answer.trace, self.rows, spec.skips)
        return self.own_ms + first, self.own_ms + last


def run(arguments: Namespace) -> dict[str, Any]:
    """Return the prices, and the figures as USERS.ARM, USERS.below, USERS.f1_against_naive; with `--targets` also
    USERS.at.TARGET. Raises CannotRun.
    """
    targets = chosen_targets(arguments.targets) if arguments.targets else ()
    if set(targets) - {SMALL} and find_spec("gguf") is None:
        raise CannotRun("weights are inflated by the package gguf: scripts/install research")
    people = users(arguments.data, meetings=1 if arguments.quick else 1 << 30)
    folder = weights(MODEL, "all-minilm-l6-v2")
    embedder = OnnxEmbedder(folder.path(find("all-minilm-l6-v2")), threads=arguments.threads)
    engine = LlamaCppEngine(LlamaModel(folder.path(find(MODEL))), threads=arguments.threads)
    source = LocalSource(engine, parse(engine.info.chat_template, engine.info.bos))
    book, most = Book(source), QUICK_QUESTIONS if arguments.quick else QUESTIONS
    torch = torch_reuse.measure(folder, arguments.threads, JOINS)
    if not torch:
        raise CannotRun("skipping projections is priced in torch: scripts/install research")
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as place:
        rooms: dict[str, list[Room]] = {}
        for name, persons in people.items():
            for user in persons:
                person = replace(user, questions=user.questions[: most[name]])
                person = about(person) if arguments.quick else person
                step(f"filling the store of {user.name}")
                store = filled(Path(place) / f"{user.name}.db", person.files, embedder)
                plain, own = IdleSource(engine, source.template), RememberingEmbedder(embedder)
                rooms.setdefault(name, []).append(Room(person, store, Path(place) / user.name, own, plain))
        everyone = [room for some in rooms.values() for room in some]
        prices = calibrated(everyone, book, torch)
        others = {target: prices_of(target, folder, everyone, arguments.threads, torch) for target in targets}
        for name, some in rooms.items():
            figures[name] = _figures(some, name, book, prices, {target: own.prices for target, own in others.items()})
    figures["prices"] = prices.as_json() | {"error": round(book.samples.error(prices), 4)}
    if others:
        figures["prices_at"] = {target: own.as_json() for target, own in others.items()}
    engine.close()
    return figures


def _figures(
    rooms: Sequence[Room], kind: str, book: Book, prices: Prices, others: Mapping[str, Prices]
) -> dict[str, Any]:
    specs = {name: replace(spec, kind=KINDS[kind]) for name, spec in PRICED.items()}
    arms: dict[str, list[Arm]] = {name: [] for name in specs}
    graded: dict[str, list[Graded]] = {name: [] for name in specs}
    charged: dict[str, list[Charged]] = {name: [] for name in specs}
    for room in rooms:
        outcomes: dict[str, list[Outcome]] = {}
        for name, spec in specs.items():
            step(f"{room.user.name}: {name}")
            arm = priced_arm(room, name, spec, book, prices)
            own = _replayed(arm, room, book)
            outcomes[name] = [each.outcome for each in own]
            charged[name] += own
            arms[name].append(arm)
        for name in specs:
            graded[name] += grade(room.user.questions, outcomes[name], outcomes["naive"])
    figures: dict[str, Any] = {name: summary(graded[name], arms[name]) for name in specs}
    means = {name: figures[name]["mean_ms"] for name in specs}
    step(f"{kind}: " + ", ".join(f"{name} {ms} ms" for name, ms in means.items()))
    figures["below"] = _below(means)
    if others:
        figures["at"] = {target: _at(own, charged, specs) for target, own in others.items()}
    scores = {name: np.array([grade.f1 for grade in graded[name]]) for name in specs}
    figures["f1_against_naive"] = {
        name: paired((scores[name] - scores["naive"]).tolist()) for name in specs if name != "naive"
    }
    return figures


def _below(means: Mapping[str, float]) -> dict[str, float]:
    """Return by how much PerCache as published and the app reduce the mean latency of other arms."""
    best = min(means[pair] for pair in PAIRS)
    against = {"naive": means["naive"], "best_pair": best, "published": means["percache"]}
    return {
        f"{name}_{other}": round(1 - means[name] / ms, 4)
        for name in ("percache", "jackdaw")
        for other, ms in against.items()
    }


def _at(prices: Prices, charged: Mapping[str, Sequence[Charged]], specs: Mapping[str, Spec]) -> dict[str, Any]:
    """Return each arm's mean times by other prices, and the reductions as `USERS.below`."""
    figures: dict[str, Any] = {}
    for name, spec in specs.items():
        firsts, lasts = zip(*(each.at(prices, spec) for each in charged[name]), strict=True)
        figures[name] = {"mean_ms": round(statistics.mean(lasts), 1), "ttft_ms": round(statistics.mean(firsts), 1)}
    return figures | {"below": _below({name: figures[name]["mean_ms"] for name in specs})}


def priced_arm(room: Room, name: str, spec: Spec, book: Book, prices: Prices) -> Arm:
    """Return a new arm whose model and tree compute nothing, but only account for their work."""
    idle = PricedSource(book.source.engine, book.source.template, book=book, prices=prices, skips=spec.skips, idle=True)
    arm = opened(spec, room.store, room.folder / name, room.embedder, idle)
    tree, kind = arm.assistant.tree, {"text": TextTree, "bound": BoundPricedTree}.get(spec.tree, PricedTree)
    size = round(book.source.engine.info.kv_bytes_per_token * (prices.planes if spec.skips == "projections" else 1))
    priced = kind(tree.rows, tree.blobs, tree.counters, tree.limit, tree.policy, token_bytes=size)
    assert isinstance(arm.idle, PricedSource)
    asking = replace(arm.idle, idle=False, work=Work(), shape=[1])
    return replace(arm, assistant=replace(arm.assistant, source=lambda: asking, tree=priced))


def _replayed(arm: Arm, room: Room, book: Book) -> list[Charged]:
    """Ask the user's questions, with the idle work between them; return the outcomes with priced times, and what it
    takes to charge them by other prices.
    """
    arm.work_ahead(before=True)
    arm.assistant.similar(room.user.questions[0].text, arm.options)  # reads the vectors into memory
    asking, embedder = arm.assistant.source(), room.embedder
    assert isinstance(asking, PricedSource)
    assert isinstance(embedder, RememberingEmbedder)
    outcomes = []
    for asked in room.user.questions:
        spent = book.spent_ms
        embedder.asking = True
        outcome = arm.ask(asked.text)
        embedder.asking = False
        trace = outcome.answer.trace
        own = outcome.ms - (book.spent_ms - spent)
        first, last = asking.priced(trace, asking.shape[0])
        text = book.text(outcome.answer.text)
        answer = replace(outcome.answer, text=text)
        priced = Outcome(answer, own + last, own + first, own + last, outcome.after_ms)
        outcomes.append(Charged(priced, own, asking.shape[0]))
        arm.work_ahead(before=False)
    arm.close()
    return outcomes
