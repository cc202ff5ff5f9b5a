"""Everyday questions, which rules should answer without a model: how many are answered rightly, and which questions the
rules answer by mistake.

The questions and phrasings in `everyday_blind` were written without sight of the program; nobody looks at the files
whose names end in `_closed`. Each question has the moment at which it is asked, and the files that it is about: the
sample files, or `email` and `lihuaworld` under --data. `KIND`: shares that are right, shown and wrong, and abstained,
the share that a rule answered, and of these the share right and the median and slowest milliseconds. `phrasings`: the
shares of phrasings that a rule answers, by kind and over sentence patterns. `needs_model`: questions that rules should
leave to the model, and how many of them a rule answers. `tables`: 40 questions to the small tables in `everyday_blind`,
by half and kind. `second`, `third` and `fourth`: the files whose names begin with these words, written later and also
without sight of the program, with phrasings and questions to tables. **The rules were developed on the second set**, so
its figures are those of questions that the rules' authors had seen. Nobody who works on the rules reads the third and
the fourth set, but figures of the third steered some of that work.
`free.formal` and `free.casual`: twice 240 questions in wordings as free as their writers could make them, put to the
rules alone; what the rules answered wrongly in the formal ones was corrected. With --quick no model is asked: what no
rule answers counts as abstained.
"""

import json
import statistics
import tempfile
import time
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from device_app.device import Device
from device_app.english import query
from device_app.everyday.phrasings import Phrasings
from device_app.everyday.rule import Asked
from device_app.everyday.rules import everyday
from device_app.question.answer import Answer
from device_app.settings import Settings
from models.catalog import find
from models.embedder import OnnxEmbedder
from models.engine import Embedder
from models.fake import FakeEmbedder
from scripts.benchmarks.everyday_judging import State, judged
from scripts.datasets.retrieval_sets import lines
from scripts.places import CannotRun, step, weights
from storage.paths import HOME_VARIABLE, Paths

LEAST_RIGHT, MOST_WRONG, LEAST_RIGHT_BY_RULE, MOST_MS, MOST_TAKEN, LEAST_TAKEN = 0.65, 0.08, 0.9, 50.0, 5, 0.9
"""The required limits. Over all questions: the least share of right answers, the greatest share of wrong ones. Where a
rule answers: the least share of right answers, the most milliseconds. Then the most questions that rules answer
although they need the model, and the least share of phrasings that rules answer.
"""

_BLIND = Path(__file__).with_name("everyday_blind")
_SAMPLE = Path(__file__).parents[1] / "sample_life"
_LATER = ("second", "third", "fourth")
_FILES = {"email": "mail.jsonl", "lihuaworld": "docs.jsonl"}
_HALVES = {"opened": "open", "unopened": "closed"}
_NOW = {
    "sample": "2026-11-20T18:00:00+01:00",
    "email": "2002-08-30T10:00:00+01:00",
    "lihuaworld": "2026-12-31T20:00:00+00:00",
}
_ZONE = {"sample": "Europe/Rome", "email": "Europe/Dublin"}
_NEED_MODEL = {"qmsum": 75, "email": 141, "nq_passages": 142, "lihuaworld": 142}
_FREE = ("formal", "casual")


@dataclass(slots=True)
class Replied:
    """The replies to questions, by the questions' ids: the text and whether it abstains; for replies by a rule, the
    milliseconds.
    """

    replies: dict[str, tuple[str, bool]] = field(default_factory=dict)
    ms: dict[str, float] = field(default_factory=dict)


def run(arguments: Namespace) -> dict[str, Any]:
    """Return the figures: by kind; of each half of the questions (the half that the rules' authors may read, and the
    half that nobody reads); of phrasings; of questions that need the model; and which limits were `missed`.
    """
    if not arguments.data:
        raise CannotRun("the benchmark needs --data with email, lihuaworld, qmsum and nq_passages")
    fetched = weights("all-minilm-l6-v2") if arguments.quick else weights("smollm2-135m", "all-minilm-l6-v2")
    of_phrasings = OnnxEmbedder(fetched.path(find("all-minilm-l6-v2")), threads=arguments.threads)
    embedder: Embedder = FakeEmbedder() if arguments.quick else of_phrasings
    with tempfile.TemporaryDirectory() as room:
        folders = _folders(arguments.data)
        devices = {name: _device(Path(room) / name, each, embedder, of_phrasings) for name, each in folders}
        halves, tables, counted = {}, {}, dict[str, list[tuple[str, State]]]()
        replied = Replied()
        for half, file in _HALVES.items():
            items = _read(f"everyday_{file}")
            step(f"{len(items)} questions, {half}")
            _ask(items, devices, replied, by_model=not arguments.quick)
            states = judged(items, replied.replies)
            kinds = {each["id"]: each["kind"] for each in items}
            for identity, state in states.items():
                counted.setdefault(kinds[identity], []).append((identity, state))
            halves[half] = _figures([*states.items()], replied)
            tables[half] = _by_kind(_read(f"tables_{file}"), devices, replied, by_model=not arguments.quick)
        later = {name: _later(name, devices, by_model=not arguments.quick) for name in _LATER}
        free = {name: _by_kind(_read(f"free_{name}"), devices, Replied(), by_model=False) for name in _FREE}
        step("phrasings")
        phrasings = {half: _phrasings(_read(f"phrasings_{file}"), devices) for half, file in _HALVES.items()}
        step("questions that need the model")
        needs_model = _needs_model(arguments.data, devices)
        for device in devices.values():
            device.__exit__()
    everything = [each for some in counted.values() for each in some]
    figures = {kind: _figures(states, replied) for kind, states in counted.items()}
    figures |= {
        "all": _figures(everything, replied),
        "halves": halves,
        "tables": tables,
        "phrasings": phrasings,
        **later,
        "free": free,
        "needs_model": needs_model,
    }
    return figures | {"missed": list(_missed(figures, by_model=not arguments.quick))}


def _missed(figures: Mapping[str, Any], *, by_model: bool) -> Iterator[str]:
    total, taken = figures["all"], sum(each["taken"] for each in figures["needs_model"].values())
    if by_model and (total["right"] < LEAST_RIGHT or total["wrong_shown"] > MOST_WRONG):
        yield "over all"
    if total["right_by_rule"] < LEAST_RIGHT_BY_RULE:
        yield "share of right answers among those by rules"
    if total["ms"] > MOST_MS:
        yield "milliseconds of an answer by a rule"
    if taken > MOST_TAKEN:
        yield "questions answered by a rule although they need the model"
    if statistics.mean(each["taken"] for each in figures["phrasings"].values()) < LEAST_TAKEN:
        yield "phrasings"


def _folders(data: Path) -> Iterator[tuple[str, Path]]:
    yield "sample", _SAMPLE
    yield "tables", _BLIND / "tables"
    for name, file in _FILES.items():
        if not (path := data / name / file).is_file():
            raise CannotRun(f"there is no {path}")
        yield name, path


def _device(home: Path, files: Path, embedder: Embedder, of_phrasings: Embedder) -> Device:
    """Return a device that has read the files with `embedder`; its rules compare phrasings by `of_phrasings`."""
    paths = Paths.locate({HOME_VARIABLE: str(home)})
    paths.create()
    device = Device(paths, Settings(), embedder=lambda: embedder)
    device.weights = weights()
    step(f"reading {files.name}")
    device.ingestion().run([files.resolve()])
    phrasings = Phrasings(lambda: of_phrasings, paths.phrasings)
    device.everyday = everyday(device.knowledge, device.people, phrasings)
    return device


def _read(name: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = json.loads((_BLIND / f"{name}.json").read_text(encoding="utf-8"))
    return items


def _ask(
    items: Sequence[Mapping[str, Any]], devices: Mapping[str, Device], replied: Replied, *, by_model: bool
) -> None:
    for item in items:
        device, now = devices[item["set"]], _moment(item)
        since = time.perf_counter()
        ruled = device.everyday.answer(Asked(query.parse(item["question"], now.date()), now))
        if ruled:
            replied.ms[item["id"]] = (time.perf_counter() - since) * 1000
            replied.replies[item["id"]] = ruled.text, False
        elif by_model:
            room = replace(device.assistant, clock=partial(_moment, item))
            *_, answer = room.ask(item["question"], device.options(public=False))
            assert isinstance(answer, Answer)
            replied.replies[item["id"]] = answer.text, answer.abstained


def _moment(item: Mapping[str, Any]) -> datetime:
    """Return the moment of a question as a time in the person's time zone, whose offset from UTC may differ on other
    days.
    """
    moment = datetime.fromisoformat(item["now"])
    zoned = moment.astimezone(ZoneInfo(_ZONE[item["set"]])) if item["set"] in _ZONE else moment
    return zoned if zoned.utcoffset() == moment.utcoffset() else moment


def _later(name: str, devices: Mapping[str, Device], *, by_model: bool) -> dict[str, Any]:
    """Return the figures of a later set: of its questions, over all and by kind, of its tables and its phrasings."""
    figures = _by_kind(_read(f"{name}_everyday"), devices, Replied(), by_model=by_model)
    tables = _by_kind(_read(f"{name}_tables"), devices, Replied(), by_model=by_model)
    return figures | {"tables": tables, "phrasings": _phrasings(_read(f"{name}_phrasings"), devices)}


def _by_kind(
    items: Sequence[Mapping[str, Any]], devices: Mapping[str, Device], replied: Replied, *, by_model: bool
) -> dict[str, Any]:
    """Ask the questions, and return their figures over all and by kind."""
    step(f"{len(items)} more questions")
    _ask(items, devices, replied, by_model=by_model)
    by_kind: dict[str, list[tuple[str, State]]] = {}
    states = judged(items, replied.replies)
    for item in items:
        by_kind.setdefault(item["kind"], []).append((item["id"], states[item["id"]]))
    return {"all": _figures([*states.items()], replied)} | {
        kind: _figures(some, replied) for kind, some in by_kind.items()
    }


def _figures(states: Sequence[tuple[str, State]], replied: Replied) -> dict[str, Any]:
    shares = {name: _share([state == name for _, state in states]) for name in ("right", "wrong_shown", "abstained")}
    by_rule = [(identity, state) for identity, state in states if identity in replied.ms]
    times = [replied.ms[identity] for identity, _ in by_rule]
    return {
        "asked": len(states),
        **shares,
        "by_rule": len(by_rule),
        "right_by_rule": _share([state == "right" for _, state in by_rule]),
        "ms": round(statistics.median(times), 1) if times else 0.0,
        "slowest_ms": round(max(times, default=0.0), 1),
    }


def _phrasings(items: Sequence[Mapping[str, Any]], devices: Mapping[str, Device]) -> dict[str, Any]:
    taken = [(item, _is_taken(item["text"], item["set"], devices)) for item in items]
    by_kind: dict[str, list[bool]] = {}
    by_pattern: dict[int, list[bool]] = {}
    for item, is_taken in taken:
        by_kind.setdefault(item["kind"], []).append(is_taken)
        by_pattern.setdefault(item["pattern"], []).append(is_taken)
    return {
        "phrasings": len(taken),
        "taken": _share([is_taken for _, is_taken in taken]),
        "patterns": len(by_pattern),
        "taken_of_patterns": round(statistics.mean(map(_share, by_pattern.values())), 4),
        "kinds": {kind: _share(some) for kind, some in by_kind.items()},
    }


def _needs_model(data: Path, devices: Mapping[str, Device]) -> dict[str, Any]:
    meetings = (json.loads(path.read_text(encoding="utf-8")) for path in sorted((data / "qmsum").glob("*.json")))
    chats = [line["question"] for line in lines(data / "lihuaworld" / "queries.jsonl")]
    sets = {
        "qmsum": ("lihuaworld", [each["query"] for meeting in meetings for each in meeting["specific_query_list"]]),
        "email": ("email", [line["query"] for line in lines(data / "email" / "queries.jsonl")]),
        "nq_passages": ("lihuaworld", [line["question"] for line in lines(data / "nq_passages" / "questions.jsonl")]),
        "lihuaworld": ("lihuaworld", [each for each in chats if each.split()[0].lower() not in ("who", "when")]),
    }
    figures = {}
    for name, (store, questions) in sets.items():
        some = questions[:: max(1, len(questions) // _NEED_MODEL[name])][: _NEED_MODEL[name]]
        taken = [each for each in some if _is_taken(each, store, devices)]
        figures[name] = {"questions": len(some), "taken": len(taken), "examples": taken[:MOST_TAKEN]}
    return figures


def _is_taken(text: str, store: str, devices: Mapping[str, Device]) -> bool:
    now = datetime.fromisoformat(_NOW[store])
    return devices[store].everyday.answer(Asked(query.parse(text, now.date()), now)) is not None


def _share(some: Sequence[bool]) -> float:
    return round(sum(some) / len(some), 4) if some else 0.0
