"""Measures how many of a user's questions find an answer that was predicted from the user's files (PerCache, section
4.1.2).

`USERS.predict.PREDICTOR`: `prompt` uses the bare model with the paper's prompts, `rules` uses each passage's form,
`questioner` also uses the model that was trained to ask; `abstracts` uses the bare model's abstracts of a few passages
each, `abstracts_kept` together with the kept abstracts before them. All but these two predict equally many questions
per passage, prepared as by idle work. `qa_hit` and `false_hit` are shares of the held-out questions then asked; the
users keep only documents that the questions are about. `nearest` is the mean cosine of a question with the nearest
predicted one, `alike` the share of questions for which it reaches the threshold. `kept_against_not` has the paired
differences of `abstracts_kept` and `abstracts`: mean and 95% interval. `qa_hit_of_as_many` is the expected share if
each had kept as many questions as the predictor with the fewest, drawn at random. `population_tokens` counts all tokens
read and written ahead, `questions` the prepared questions.
"""

import math
import tempfile
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

from device_app.ahead.prediction import PER_PASSAGE, WRITTEN_PER_PASSAGE
from device_app.cache.answers.bank import Considered
from device_app.english import query
from device_app.inference.local import LocalSource
from device_app.question.answer import Answer
from models.catalog import find
from models.chat_template import parse
from models.embedder import OnnxEmbedder
from models.llama_cpp import LlamaCppEngine
from models.llama_model import LlamaModel
from scripts.benchmarks.percache_arms import APP_PLAN, JACKDAW, Arm, Unrestored
from scripts.benchmarks.percache_idle import IdleSource
from scripts.benchmarks.percache_prediction import ABSTRACTS, Nothing, OfAbstracts, OfFiles, Prompted
from scripts.benchmarks.percache_replay import Room, is_false, paired
from scripts.benchmarks.percache_users import Asked, about, users
from scripts.datasets.stores import filled
from scripts.places import CannotRun, step, weights
from storage.abstracts import Abstracts
from storage.qa_entries import Entry

MODEL = "smollm2-135m"
SPEC = replace(JACKDAW, plan=APP_PLAN)
QUICK_QUESTIONS, QUICK_PEOPLE = 10, 1


@dataclass(frozen=True, slots=True)
class Served:
    """The results for one user. For each question: how many predicted questions would serve it, among the most similar
    that the bank considers, and the cosine of the nearest predicted one. In total: the false hits, the number of
    predicted questions, and their tokens.
    """

    serving: Sequence[int]
    false: int
    questions: int
    tokens: int
    nearest: Sequence[float] = ()

    def of(self, count: int) -> float:
        """Return the expected number of served questions if only `count` of the predicted questions, drawn at random,
        had been kept. Slightly too low if more would serve than the bank considers.
        """
        every = math.comb(self.questions, count)
        return sum(1 - math.comb(self.questions - serving, count) / every for serving in self.serving)


def run(arguments: Namespace) -> dict[str, Any]:
    """Return the figures as
    USERS.predict.{prompt,rules,questioner}.{qa_hit,qa_hit_of_as_many,false_hit,population_tokens,questions,asked}.
    """
    people = users(arguments.data, held_out=True)
    folder, entry = weights(MODEL, "all-minilm-l6-v2"), find(MODEL)
    embedder = OnnxEmbedder(folder.path(find("all-minilm-l6-v2")), threads=arguments.threads)
    bare = LlamaCppEngine(LlamaModel(folder.path(entry)), threads=arguments.threads)
    adapter = arguments.adapter or entry.adapter_file("auto")
    engine = LlamaCppEngine(LlamaModel(folder.path(entry)), threads=arguments.threads, adapter=adapter)
    if engine.info.refused:
        raise CannotRun(engine.info.refused)
    template = parse(engine.info.chat_template, engine.info.bos)
    source, writer = IdleSource(engine, template), LocalSource(bare, template)
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as place:
        for name, persons in people.items():
            served = []
            for user in persons[: QUICK_PEOPLE if arguments.quick else None]:
                asking = about(replace(user, questions=user.questions[: QUICK_QUESTIONS if arguments.quick else None]))
                folder_of = Path(place) / user.name
                folder_of.mkdir()
                store = filled(folder_of / "all.db", asking.files, embedder)
                served.append(_person(Room(asking, store, folder_of, embedder, source), writer))
            figures[name] = {"predict": _figures(served)}
    engine.close()
    bare.close()
    return figures


def _person(room: Room, writer: LocalSource) -> dict[str, Served]:
    """Return each predictor's results for one user."""
    names = ["prompt", "rules", "abstracts", "abstracts_kept"]
    names += ["questioner"] if room.source.engine.info.asks else []
    return {name: _served(room, name, writer) for name in names}


def _served(room: Room, name: str, writer: LocalSource) -> Served:
    """Return the results of one predictor for one user."""
    step(f"{room.user.name}: {name}")
    arm = room.arm(name, SPEC)
    assistant, bank = arm.assistant, arm.assistant.bank
    prediction = _prediction(name, arm, writer)
    work = Unrestored(assistant, arm.options, bank, assistant.tree, bank.counters, prediction, SPEC.cutoff)
    tokens = sum(step.tokens for step in work.steps())
    questions = bank.entries.totals().entries
    serving = [_serving(asked, room, arm) for asked in room.user.questions]
    false = sum(
        _is_false(asked, entries[0].entry, room, arm)
        for asked, entries in zip(room.user.questions, serving, strict=True)
        if entries
    )
    vectors = room.embedder.embed([query.parse(asked.text, date.today()).text for asked in room.user.questions])
    nearest = [bank.nearest(vector) for vector in vectors]
    arm.close()
    return Served([len(entries) for entries in serving], false, questions, tokens, nearest)


def _prediction(name: str, arm: Arm, writer: LocalSource) -> Nothing:
    assistant, bank = arm.assistant, arm.assistant.bank
    facts = arm.options, bank, bank.counters
    if name == "prompt":
        return Prompted(
            replace(assistant, source=lambda: writer), *facts, ABSTRACTS * (PER_PASSAGE + WRITTEN_PER_PASSAGE)
        )
    if name.startswith("abstracts"):
        kept = Abstracts(bank.counters.database) if name == "abstracts_kept" else None
        bare = replace(assistant, source=lambda: writer)
        return OfAbstracts(bare, *facts, SPEC.stride, "abstracts", kept)
    return OfFiles(assistant, *facts, SPEC.stride, "questioner" if name == "questioner" else "passages")


def _serving(asked: Asked, room: Room, arm: Arm) -> list[Considered]:
    """Return the predicted entries that would serve a question, best first."""
    query_ = query.parse(asked.text, date.today())
    vector = room.embedder.embed([query_.text])[0]
    return [entry for entry in arm.assistant.bank.consider(query_, vector, arm.options.fingerprint) if entry.serves]


def _is_false(asked: Asked, entry: Entry, room: Room, arm: Arm) -> bool:
    """Return whether the served answer belongs to another question."""
    step(f"{asked.text} | {entry.question} | {entry.answer}")
    *_, uncached = arm.assistant.ask(asked.text, replace(arm.options, fresh=True))
    text = uncached.text if isinstance(uncached, Answer) else ""
    return is_false(asked, entry.question, str(entry.answer), text, room.user.questions)


def _figures(persons: Sequence[Mapping[str, Served]]) -> dict[str, Any]:
    figures: dict[str, Any] = {name: _of_predictor(name, persons) for name in persons[0]}
    if {"abstracts", "abstracts_kept"} <= figures.keys():
        pairs = [(person["abstracts_kept"], person["abstracts"]) for person in persons]
        hits = [
            float(bool(new)) - bool(old)
            for kept, alone in pairs
            for new, old in zip(kept.serving, alone.serving, strict=True)
        ]
        near = [new - old for kept, alone in pairs for new, old in zip(kept.nearest, alone.nearest, strict=True)]
        figures["kept_against_not"] = {"qa_hit": paired(hits), "nearest": paired(near)}
    return figures


def _of_predictor(name: str, persons: Sequence[Mapping[str, Served]]) -> dict[str, Any]:
    own = [served[name] for served in persons]
    asked = sum(len(person.serving) for person in own)
    fewest = [min(person.questions for person in served.values()) for served in persons]
    return {
        "qa_hit": round(sum(person.of(person.questions) for person in own) / asked, 4),
        "qa_hit_of_as_many": round(sum(person.of(most) for person, most in zip(own, fewest, strict=True)) / asked, 4),
        "false_hit": round(sum(person.false for person in own) / asked, 4),
        "nearest": round(sum(sum(person.nearest) for person in own) / asked, 4),
        "alike": round(sum(cosine >= SPEC.threshold for person in own for cosine in person.nearest) / asked, 4),
        "population_tokens": sum(person.tokens for person in own),
        "questions": sum(person.questions for person in own),
        "asked": asked,
    }
