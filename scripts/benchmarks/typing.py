"""Reading a question's passages while it is typed: the app in a terminal, at 40 words a minute, alternately with and
without such reading.

Two apps run on two homes with the same files; the passages' states are dropped before each question. Times are measured
from outside, from the key press on: the time to the first token is the time until the answer was seen, minus the
durations of the steps in the answer's trace that come after the first token.
"""

import os
import shutil
import statistics
import tempfile
import time
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from device_app.device import Device
from device_app.english import discourse
from device_app.settings import Settings
from models.catalog import find
from models.embedder import OnnxEmbedder
from scripts.benchmarks.terminal import APP, PAINTED, Terminal, terminal
from scripts.datasets.retrieval_sets import RetrievalSet, load
from scripts.datasets.stores import filled
from scripts.places import CannotRun, step, weights
from storage.paths import HOME_VARIABLE, Paths

SETS = ("lihuaworld", "email")
QUESTIONS, QUICK_QUESTIONS = 20, 3
QUICK_DOCUMENTS = 150

KEY_S = 60 / (40 * 5)
"""Seconds between two key presses at 40 words a minute, of five characters each."""

TTFT_RATIO, KEY_RATIO, MOST_IN_VAIN = 0.4, 1.2, 2.5
"""The required limits: the mean first-token time and the 99th percentile of key echoes, each with reading relative to
without; and the most passages that were read and not used.
"""

ANSWER_S = 600.0
"""The most seconds to wait for an answer, as the machine may be busy."""

_READY = b"ready"
_NEW, _ENTER = "\x0e", "\r"
_BEHIND = ("decode", "check", "evidence")
"""The steps of an answer's trace that come after its first token."""


@dataclass(slots=True)
class Arm:
    """An app, the device with the app's home, and its measurements.

    `first` are ms from Enter to the first token, `shown` to the answer on the screen, `keys` from a key to its echo.
    Passages are counted for every typed question, times for the questions that a model answers.
    """

    app: Terminal
    device: Device
    first: list[float] = field(default_factory=list)
    shown: list[float] = field(default_factory=list)
    keys: list[float] = field(default_factory=list)
    in_vain: list[int] = field(default_factory=list)
    read: list[int] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)

    def ask(self, question: str) -> bool:
        """Type and send a question; return whether a model answered it."""
        self._empty()
        self.app.types(_NEW)
        self.app.drain(1.0)
        self._types(question)
        entered, before = time.perf_counter(), len(self.app.written)
        self.app.types(_ENTER)
        self.app.awaits(b"answering", _READY, within_s=ANSWER_S, since=before)
        shown = (time.perf_counter() - entered) * 1000
        self.app.drain(0.5)
        record = self._record()
        trace = record.get("trace", {"steps": ()})  # without one, if the answer failed
        steps = {item["name"]: item["ms"] for item in trace["steps"]}
        read = trace.get("read_while_typing", {"passages": 0, "served": 0})
        self.in_vain.append(read["passages"] - read["served"])
        self.read.append(read["passages"])
        if "prefill" not in steps:
            return False
        self.shown.append(shown)
        self.first.append(shown - sum(steps.get(name, 0.0) for name in _BEHIND))
        self.answers.append(record["answer"])
        return True

    def drop_last(self) -> None:
        """Drop the last question's figures, because the other app answered it without a model."""
        for values in (self.shown, self.first, self.answers):
            values.pop()

    def _types(self, question: str) -> None:
        due = time.perf_counter()
        for key in question:
            self.app.drain(max(0.0, due - time.perf_counter()))
            pressed, before = time.perf_counter(), len(self.app.written)
            self.app.types(key)
            self.app.awaits(b"\x1b", within_s=30.0, since=before)
            self.keys.append((time.perf_counter() - pressed) * 1000)
            due = pressed + KEY_S
        self.app.drain(max(0.0, due - time.perf_counter()))

    def _empty(self) -> None:
        tree = self.device.qkv_tree
        names = [row.name for row in tree.rows.all() if row.passage_id is not None]
        tree.rows.forget(names)
        for name in names:
            tree.blobs.delete(name)

    def _record(self) -> Mapping[str, Any]:
        (latest,) = self.device.conversations.recent(1)
        return self.device.conversations.turns(latest.id)[-1].record


def run(arguments: Namespace) -> dict[str, Any]:
    """Return the figures by set; `missed` names the required limits that were missed."""
    if arguments.data is None:
        raise CannotRun("the benchmark needs --data, with lihuaworld or email in it")
    sets = load(arguments.data, *SETS)
    if not sets:
        raise CannotRun(f"there is no {' or '.join(SETS)} in {arguments.data}")
    folder = weights("smollm2-135m", "all-minilm-l6-v2")
    figures: dict[str, Any] = {}
    for name, data in sets.items():
        chosen = _quick(data) if arguments.quick else data
        with tempfile.TemporaryDirectory() as room:
            step(f"reading {name}")
            store = Path(room) / "store.db"
            embedder = OnnxEmbedder(folder.path(find("all-minilm-l6-v2")), threads=arguments.threads)
            filled(store, chosen.files, embedder).database.close()
            questions = _spread(chosen, QUICK_QUESTIONS if arguments.quick else QUESTIONS)
            figures[name] = measured(Path(room), store, folder.folder, questions, arguments.threads)
    return figures | {"missed": _missed(figures)}


def measured(room: Path, store: Path, folder: Path, questions: Sequence[str], threads: int) -> dict[str, Any]:
    """Return the figures of one set: every question is typed into both apps, each going first in turn."""
    with ExitStack() as stack:
        arms = [
            stack.enter_context(_app(room / name, store, folder, threads, reads=reads))
            for name, reads in (("with", True), ("without", False))
        ]
        for number, question in enumerate(questions):
            step(f"{number + 1} of {len(questions)}")
            order = arms if number % 2 == 0 else arms[::-1]
            answered = [arm for arm in order if arm.ask(question)]
            if len(answered) == 1:
                answered[0].drop_last()
        return _figures(*arms)


def _figures(reading: Arm, without: Arm) -> dict[str, Any]:
    if not reading.first:
        raise CannotRun("no question was answered by a model")
    with_ms, without_ms = statistics.mean(reading.first), statistics.mean(without.first)
    key, key_without = (float(np.percentile(arm.keys, 99)) for arm in (reading, without))
    shown, shown_without = statistics.mean(reading.shown), statistics.mean(without.shown)
    return {
        "questions": len(reading.first),
        "typed": len(reading.read),
        "ttft_ms": round(with_ms, 1),
        "ttft_without_ms": round(without_ms, 1),
        "ttft_ratio": round(with_ms / without_ms, 3),
        "ttft_p50_ms": round(statistics.median(reading.first), 1),
        "ttft_p50_without_ms": round(statistics.median(without.first), 1),
        "shown_ms": round(shown, 1),
        "shown_without_ms": round(shown_without, 1),
        "shown_ratio": round(shown / shown_without, 3),
        "read_passages": round(statistics.mean(reading.read), 2),
        "wasted_passages": round(statistics.mean(reading.in_vain), 2),
        "key_p99_ms": round(key, 1),
        "key_p99_without_ms": round(key_without, 1),
        "key_p50_ms": round(statistics.median(reading.keys), 1),
        "key_p50_without_ms": round(statistics.median(without.keys), 1),
        "key_ratio": round(key / key_without, 3),
        "keys": len(reading.keys),
        "same_answers": round(statistics.mean(map(str.__eq__, reading.answers, without.answers)), 3),
    }


def _missed(figures: Mapping[str, Mapping[str, Any]]) -> list[str]:
    bars = (("ttft_ratio", TTFT_RATIO), ("key_ratio", KEY_RATIO), ("wasted_passages", MOST_IN_VAIN))
    return [f"{name}.{bar}" for name, values in figures.items() for bar, most in bars if values[bar] > most]


@contextmanager
def _app(home: Path, store: Path, folder: Path, threads: int, *, reads: bool) -> Iterator[Arm]:
    """Yield the app, running on a home with a copy of the store. No cached answer is served, and neither power, heat
    nor load stops the reading.
    """
    own = {name: value for name, value in os.environ.items() if not name.startswith(("JACKDAW_", "TEXTUAL_"))}
    own |= {
        HOME_VARIABLE: str(home),
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "JACKDAW_ANSWER_READ_WHILE_TYPING": str(reads).lower(),
        "JACKDAW_CACHE_THRESHOLD": "1",
        "JACKDAW_ANSWER_MAX_TOKENS": "48",
        "JACKDAW_DAEMON_MAINS": "false",
        "JACKDAW_DAEMON_TEMPERATURE": "150",
        "JACKDAW_DAEMON_LOAD": "1",
        **{f"JACKDAW_{part}_THREADS": str(threads) for part in ("MODEL", "EMBEDDER")},
    }
    paths = Paths.locate(own)
    paths.create()
    shutil.copyfile(store, paths.database)
    paths.weights.symlink_to(folder)
    with Device(paths, Settings()) as device, terminal(APP, own) as app:
        app.awaits(PAINTED)
        app.awaits(_READY, within_s=120.0, since=0)
        yield Arm(app, device)


def _spread(data: RetrievalSet, count: int) -> list[str]:
    """Return `count` questions that a model answers, spread evenly over the set; other questions are answered by
    quotations.
    """
    texts = [" ".join(question.text.split()) for question in data.questions]
    answered = [text for text in texts if text.isascii() and not discourse.subject(text)]
    return answered[:: max(1, len(answered) // count)][:count]


def _quick(data: RetrievalSet) -> RetrievalSet:
    """Return the set reduced to its first documents, and the questions that these documents answer."""
    files = {name: documents[:QUICK_DOCUMENTS] for name, documents in data.files.items()}
    keys = {document.key for documents in files.values() for document in documents}
    return RetrievalSet(files, [question for question in data.questions if question.relevant & keys])
