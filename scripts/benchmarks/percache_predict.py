"""How many of a person's questions find an answer that was predicted from their files (PerCache, section 4.1.2).

`USERS.predict.PREDICTOR`: `prompt` has the bare model write to the paper's prompts, `rules` go by each passage's form,
`questioner` has the model that was taught to ask write too. Each reads every passage; of what the others predict, as
many questions as of `prompt` are prepared, as idle work does. `qa_hit` and `false_hit` are shares of the questions then
asked, none of which a training has seen; the persons keep only what these are about. `population_tokens` counts all
that was read and written ahead, `questions` what was prepared.
"""

import tempfile
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

from device_app.answer import Answer
from device_app.cache.prediction import PER_PASSAGE
from device_app.knowledge import query
from device_app.sources.local import LocalSource
from models.catalog import find
from models.chat_template import parse
from models.embedder import OnnxEmbedder
from models.llama_cpp import LlamaCppEngine
from models.llama_model import LlamaModel
from scripts.benchmarks.percache_arms import APP_PLAN, JACKDAW, Arm, Unrestored
from scripts.benchmarks.percache_idle import IdleSource
from scripts.benchmarks.percache_prediction import ABSTRACTS, EVERY, Evenly, Nothing, Prompted
from scripts.benchmarks.percache_replay import Room, is_false
from scripts.benchmarks.percache_users import about, users
from scripts.benchmarks.places import CannotRun, step, weights
from scripts.benchmarks.retrieval import filled

MODEL = "smollm2-135m"
SPEC = replace(JACKDAW, plan=APP_PLAN)
QUICK_QUESTIONS, QUICK_PEOPLE = 10, 1


@dataclass(frozen=True, slots=True)
class Served:
    """Of one person: questions asked, served, and served falsely; tokens of the work ahead, and what it prepared."""

    asked: int
    hits: int
    false: int
    tokens: int
    questions: int


def run(arguments: Namespace) -> dict[str, Any]:
    """USERS.predict.{prompt,rules,questioner}.{qa_hit,false_hit,population_tokens,questions,asked}."""
    folder, entry = weights(MODEL, "all-minilm-l6-v2"), find(MODEL)
    embedder = OnnxEmbedder(folder.path(find("all-minilm-l6-v2")), threads=arguments.threads)
    bare = LlamaCppEngine(LlamaModel(folder.path(entry)), threads=arguments.threads)
    adapter = arguments.adapter or entry.adapter_file("auto")
    engine = LlamaCppEngine(LlamaModel(folder.path(entry)), threads=arguments.threads, adapter=adapter)
    if engine.info.refused:
        raise CannotRun(engine.info.refused)
    template = parse(engine.info.chat_template, engine.info.bos)
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as place:
        for name, people in users(arguments.data, held_out=True).items():
            served: dict[str, list[Served]] = {}
            for user in people[: QUICK_PEOPLE if arguments.quick else None]:
                asking = about(replace(user, questions=user.questions[: QUICK_QUESTIONS if arguments.quick else None]))
                store = filled(Path(place) / f"{user.name}.db", asking.files, embedder)
                room = Room(asking, store, Path(place) / user.name, embedder, IdleSource(engine, template))
                for predictor, one in _person(room, LocalSource(bare, template)):
                    served.setdefault(predictor, []).append(one)
            figures[name] = {"predict": {predictor: _figures(persons) for predictor, persons in served.items()}}
    engine.close()
    bare.close()
    return figures


def _person(room: Room, bare: LocalSource) -> Iterator[tuple[str, Served]]:
    """What comes of each predictor's questions; the first says how many the others may have at the most."""
    room.folder.mkdir()
    most = EVERY
    for name in ("prompt", "rules", "questioner")[: 3 if room.source.engine.info.asks else 2]:
        arm = room.arm(name, SPEC)
        one = _served(room, arm, _prediction(name, arm, bare, most))
        most = min(most, one.questions)
        yield name, one


def _prediction(name: str, arm: Arm, bare: LocalSource, most: int) -> Nothing:
    assistant, bank = arm.assistant, arm.assistant.bank
    facts = arm.options, bank, bank.counters
    if name == "prompt":
        return Prompted(replace(assistant, source=lambda: bare), *facts, ABSTRACTS * PER_PASSAGE)
    return Evenly(assistant, *facts, SPEC.stride, "questioner" if name == "questioner" else "passages", most)


def _served(room: Room, arm: Arm, prediction: Nothing) -> Served:
    """What comes of the person's questions once those of the prediction are answered."""
    assistant, bank = arm.assistant, arm.assistant.bank
    step(f"{room.user.name}: {type(prediction).__name__}, {prediction.predict_from}")
    work = Unrestored(assistant, arm.options, bank, assistant.tree, bank.counters, prediction, SPEC.cutoff)
    tokens = sum(one.tokens for one in work.steps())
    prepared = bank.entries.totals().entries
    false = _false_hits(room, arm)
    arm.close()
    return Served(len(room.user.questions), len(false), sum(false), tokens, prepared)


def _false_hits(room: Room, arm: Arm) -> list[bool]:
    """For each question that is served an answer: whether that answers another."""
    served = []
    for asked in room.user.questions:
        wanted = query.parse(asked.text, date.today())
        if known := arm.assistant.bank.find(wanted, room.embedder.embed([wanted.text])[0], arm.options.recipe):
            served.append((asked, known.entry))
    false = []
    for asked, entry in served:
        step(f"{asked.text} = {entry.question} {entry.answer}")
        *_, uncached = arm.assistant.ask(asked.text, replace(arm.options, fresh=True))
        if isinstance(uncached, Answer):
            false.append(is_false(asked, entry.question, str(entry.answer), uncached.text, room.user.questions))
    return false


def _figures(persons: list[Served]) -> dict[str, Any]:
    asked = sum(one.asked for one in persons)
    return {
        "qa_hit": round(sum(one.hits for one in persons) / asked, 4),
        "false_hit": round(sum(one.false for one in persons) / asked, 4),
        "population_tokens": sum(one.tokens for one in persons),
        "questions": sum(one.questions for one in persons),
        "asked": asked,
    }
