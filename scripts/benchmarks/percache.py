"""The caches against their baselines on users' own question sequences (PerCache, sections 5.3 to 5.6), with the arms
interleaved.

`USERS.ARM`: `mean_ms` from the question to the answer with its evidence (`text_ms`: to its last word), `after_ms` for
the work after it; `qa_hit` and `false_hit` are shares of the questions. A served answer counts as false unless its
cached question has the very same words; or is another question of this user about the same document with a similar
answer (F1 ≥ 0.5); or is a predicted question without a reference, whose answer agrees with the naive arm's (F1 ≥ 0.5)
or is at least as near to the reference as that one. Idle work is counted in tokens and seconds, not in latency. All
arms use three passages, as in the paper; `app_plan.USERS.ARM` uses as many as the app.
"""

import tempfile
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from models.catalog import find
from models.chat_template import parse
from models.embedder import OnnxEmbedder
from models.engine import Embedder
from models.llama_cpp import LlamaCppEngine
from models.llama_model import LlamaModel
from scripts.benchmarks import percache_parts, percache_predict
from scripts.benchmarks.percache_arms import APP_PLAN, ARMS, JACKDAW, PAIRS, PERCACHE, SWITCHED_OFF, Arm, Spec
from scripts.benchmarks.percache_idle import IdleSource
from scripts.benchmarks.percache_plot import drawn
from scripts.benchmarks.percache_replay import Graded, Room, grade, replay, summary
from scripts.benchmarks.percache_users import User, users
from scripts.datasets.stores import filled
from scripts.places import CannotRun, step, weights

QUESTIONS = {"lihuaworld": 6, "qmsum": 3}
"""The most questions per user; a meeting has few."""
QUICK_QUESTIONS = {"lihuaworld": 3, "qmsum": 3}
QUICK_PEOPLE = 1
SCHEDULED_QUESTIONS, SWEPT_QUESTIONS = 6, 4

SWEEPS: dict[str, tuple[Spec, str, tuple[float, ...]]] = {
    "stride": (JACKDAW, "stride", (1, 3, 5)),
    "kv_mb": (JACKDAW, "kv_mb", (10, 50, 250)),
    "threshold": (JACKDAW, "threshold", (0.75, 0.85, 0.95)),
    "threshold_percache": (PERCACHE, "threshold", (0.75, 0.85, 0.95)),
}


def run(arguments: Namespace) -> dict[str, Any]:
    """Return the figures by set of users: USERS.ARM and USERS.predict; and the figures of single parts: guard,
    reorder_ttft_ms, joined_ttft_ms, qa_hit_ms, bytes_per_passage, eviction, scheduler, sweep.
    """
    people = users(arguments.data, held_out=True)
    folder = weights("smollm2-135m", "smollm2-135m-q4_1", "all-minilm-l6-v2")
    embedder = OnnxEmbedder(folder.path(find("all-minilm-l6-v2")), threads=arguments.threads)
    entry = find("smollm2-135m")
    adapter = arguments.adapter or entry.adapter_file("auto")
    engine = LlamaCppEngine(LlamaModel(folder.path(entry)), threads=arguments.threads, adapter=adapter)
    if engine.info.refused:
        raise CannotRun(engine.info.refused)
    source = IdleSource(engine, parse(engine.info.chat_template, engine.info.bos))
    asks = QUICK_QUESTIONS if arguments.quick else QUESTIONS
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as place:
        rooms = {name: _rooms(Path(place) / name, some, embedder, source) for name, some in people.items()}
        first = next(iter(rooms.values()))[0]
        figures |= percache_parts.measure(first, folder, arguments)
        people_asked = QUICK_PEOPLE if arguments.quick else None
        for name, theirs in rooms.items():
            switched = {} if arguments.quick else SWITCHED_OFF
            figures[name] = _arms(theirs[:people_asked], asks[name], ARMS | switched)
            app = {arm: replace(spec, plan=APP_PLAN) for arm, spec in ARMS.items()}
            figures.setdefault("app_plan", {})[name] = _arms(theirs[:people_asked], asks[name], app, "app_plan")
        figures["below"] = {name: _below(figures[name]) for name in rooms}
        figures["app_plan"]["below"] = {name: _below(figures["app_plan"][name]) for name in rooms}
        if not arguments.quick:
            figures["scheduler"] = percache_parts.schedule(first, SCHEDULED_QUESTIONS)
            figures["sweep"] = _sweep(first)
    engine.close()
    if arguments.plot:
        arguments.plot.write_text(drawn(figures), encoding="utf-8")
        step(f"the plot was written to {arguments.plot}")
    for name, predicted in percache_predict.run(arguments).items():
        figures[name] |= predicted
    return figures


def _rooms(folder: Path, people: Sequence[User], embedder: Embedder, source: IdleSource) -> list[Room]:
    rooms = []
    for user in people:
        step(f"filling the store of {user.name}")
        store = filled(folder / f"{user.name}.db", user.files, embedder)
        rooms.append(Room(user, store, folder / user.name, embedder, source))
    return rooms


def _arms(rooms: Sequence[Room], most: int, specs: Mapping[str, Spec], place: str = "published") -> dict[str, Any]:
    """Return the figures of all arms over all users of a set; `place` names a folder for the arms' stores."""
    all_arms: dict[str, list[Arm]] = {name: [] for name in specs}
    graded: dict[str, list[Graded]] = {name: [] for name in specs}
    for room in rooms:
        arms, outcomes = replay(replace(room, folder=room.folder / place), specs, most)
        for name, arm in arms.items():
            all_arms[name].append(arm)
            graded[name] += grade(room.user.questions, outcomes[name], outcomes["naive"])
    figures = {name: summary(graded[name], all_arms[name]) for name in specs}
    step(f"{rooms[0].user.name}, {place}: " + ", ".join(f"{arm} {row['mean_ms']} ms" for arm, row in figures.items()))
    return figures


def _below(arms: Mapping[str, Any]) -> dict[str, float]:
    """Return the relative reduction in mean latency by the app and by the published cache, against the naive arm
    (without caches) and against the best of the arms in `PAIRS`.
    """
    best = min(arms[pair]["mean_ms"] for pair in PAIRS)
    return {
        f"{name}_{what}": round(1 - arms[name]["mean_ms"] / other, 4)
        for name in ("percache", "jackdaw")
        for what, other in (("naive", arms["naive"]["mean_ms"]), ("best_pair", best))
    }


def _sweep(room: Room) -> dict[str, Any]:
    """Vary one setting at a time, over a short sequence of questions, and return the figures."""
    specs = {
        f"sweep-{name}-{value}": replace(spec, **{setting: value})  # type: ignore[arg-type]
        for name, (spec, setting, values) in SWEEPS.items()
        for value in values
    }
    arms, outcomes = replay(room, {"sweep-naive": Spec(), **specs}, SWEPT_QUESTIONS)
    naive = outcomes["sweep-naive"]
    return {
        name: {
            str(value): summary(
                grade(room.user.questions, outcomes[f"sweep-{name}-{value}"], naive), [arms[f"sweep-{name}-{value}"]]
            )
            for value in values
        }
        for name, (_, _, values) in SWEEPS.items()
    }
