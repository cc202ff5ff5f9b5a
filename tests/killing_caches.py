"""A data folder whose processes do background work with fake models and are killed, or run side by side.

Run as a program, this file is the parent of those processes.
"""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

from device_app.ahead.population import Population
from device_app.ahead.prediction import Predicted
from device_app.answering.assistant import Assistant
from device_app.cache.answers.bank import QABank
from device_app.cache.states.tree import QKVTree
from device_app.knowledge.ingest import Ingestion
from device_app.question.answer import Answer
from device_app.question.options import Options, Plan
from device_app.settings import Cache, Settings
from models import kv_file
from models.fake import FakeEmbedder, FakeEngine
from models.sampling import SamplingSettings
from storage.database import Database
from storage.kv_slices import SliceRow
from storage.paths import HOME_VARIABLE, Paths
from tests.devices import fake_device

KV_LIMIT = 20_000
"""The limit of the cache of KV states in bytes, which about eight slices of the fake engine fill."""

OPTIONS = Options(Plan(2, "prompt"), SamplingSettings(), 60, 0.1, evidence=False, bare="one")
TOOLS = ["drill", "saw", "lamp", "ladder", "hammer", "rake", "kettle", "tent", "radio", "bicycle", "piano", "globe"]
NAMES = ["Petra", "Anna", "Runa", "Ivo", "Marek", "Zora"]
SENTENCES = [f"{NAMES[number % len(NAMES)]} has borrowed the {tool}." for number, tool in enumerate(TOOLS)]


@dataclass(frozen=True)
class Home:
    """The device's parts that use one data folder, with fake models."""

    database: Database
    assistant: Assistant
    bank: QABank
    tree: QKVTree

    def ask(self, question: str, **changed: Any) -> Answer:
        """Return the answer to a question; it is stored as the program stores it."""
        *_, last = self.assistant.ask(question, replace(OPTIONS, **changed))
        assert isinstance(last, Answer)
        return last


def home(folder: Path, engine: FakeEngine | None = None, limit: int = KV_LIMIT) -> Home:
    """Open the data folder in this process, with fake models."""
    cache = Cache(threshold=0.999, qa_mb=1000.0, kv_mb=limit / 1_000_000, eviction="lfu")
    paths = Paths.locate({HOME_VARIABLE: str(folder)})
    device = fake_device(paths, Settings(cache=cache), lambda: engine or FakeEngine())
    return Home(device.database, device.assistant, device.qa_bank, device.qkv_tree)


class Guesses:
    """Makes predicted questions without end, each of them different."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._seed = seed

    def questions(self) -> Iterator[Predicted]:
        for number in count():
            tools = " or the ".join(self._random.sample(TOOLS, 2))
            yield Predicted(f"Who has the {tools}, guess {number} of {self._seed}?", "a test")


def populate(folder: Path, seed: int, steps: int, limit: int) -> None:
    """Do background work; append each answer's question to a file once the answer counts as kept."""
    parts = home(folder, limit=limit)
    guesses: Any = Guesses(seed)
    work = Population(parts.assistant, OPTIONS, parts.bank, parts.tree, parts.bank.counters, guesses, cutoff=1.0)
    notes = os.open(folder / "kept", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for number, step in enumerate(work.steps()):
        if number == steps:
            return
        if step.action == "answer":
            os.write(notes, f"{step.subject}\n".encode())


def child(folder: Path, seed: int, steps: int, limit: int = KV_LIMIT) -> int:
    """Start a process that does background work; return its id."""
    if process := os.fork():
        return process
    code = 1
    try:
        populate(folder, seed, steps, limit)
        code = 0
    finally:
        os._exit(code)  # not what belongs to the parent


def kill_again_and_again(folder: Path, kills: int) -> None:
    """Kill `kills` processes that do background work, one after the other, each at a random moment."""
    chance = random.Random(1)
    began = time.monotonic()
    os.waitpid(child(folder, kills, steps=3), 0)
    # Measured here and now: on a busy machine, a fixed time would end before the process works.
    longest = 2 * (time.monotonic() - began)
    for seed in range(kills):
        process = child(folder, seed, steps=10**9)
        time.sleep(chance.uniform(0.05, 1) * longest)
        os.kill(process, signal.SIGKILL)
        _, status = os.waitpid(process, 0)
        assert os.WTERMSIG(status) == signal.SIGKILL, f"ended by itself: {status}"


def run_side_by_side(folder: Path, processes: int) -> None:
    """Run several processes at once, each with a different limit of the cache of KV states."""
    children = [child(folder, seed, steps=60, limit=KV_LIMIT // (seed + 1)) for seed in range(processes)]
    for process in children:
        _, status = os.waitpid(process, 0)
        assert status == 0, "a process failed"


def run(what: str, folder: Path, number: int) -> None:
    """Run this file as a program: processes forked from a process with threads would inherit their locks."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, __file__, what, str(folder), str(number)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def read_notes(folder: Path) -> None:
    """Write a note about each tool, and read all notes into the store."""
    notes = folder / "notes"
    notes.mkdir()
    for tool, sentence in zip(TOOLS, SENTENCES, strict=True):
        (notes / f"{tool}.md").write_text(sentence)
    parts = home(folder)
    Ingestion(parts.assistant.retriever.store, FakeEmbedder()).run([notes])
    parts.database.close()


def join_all(tree: QKVTree) -> int:
    """Load the state of every row of the table, after its parents' states, into an engine; return the number
    of rows.
    """
    rows = {row.name: row for row in tree.rows.all()}

    def chain(row: SliceRow) -> list[SliceRow]:
        return [*(chain(rows[row.parent]) if row.parent else ()), row]

    for row in rows.values():
        engine = FakeEngine()
        engine.join(0, [kv_file.unpack(tree.blobs.read(slice_row.name)) for slice_row in chain(row)])
        assert engine.length(0) == sum(slice_row.tokens for slice_row in chain(row))
    return len(rows)


def announced(folder: Path) -> set[str]:
    """Return the questions that a killed process had reported as answered and stored."""
    return set((folder / "kept").read_text().splitlines())


def lost(folder: Path, parts: Home) -> set[str]:
    """Return the announced questions that have no answer."""
    questions = announced(folder)
    assert questions
    return questions - {entry.question for entry in parts.bank.entries.all() if entry.answer}


if __name__ == "__main__":
    {"kill": kill_again_and_again, "side by side": run_side_by_side}[sys.argv[1]](Path(sys.argv[2]), int(sys.argv[3]))
