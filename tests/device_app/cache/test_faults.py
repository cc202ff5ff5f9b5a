"""Faults around the caches: kills, full disks, concurrent processes, another model, damage, wrong clocks, many
deletions.
"""

import datetime as dates
import os
import random
import stat
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from device_app.question.options import Plan
from models import kv_file
from models.fake import FakeEmbedder, FakeEngine
from shared.types import Block, Document, Passage
from storage.knowledge import FileState, PreparedDocument
from storage.paths import HOME_VARIABLE, Paths
from tests.killing_caches import KV_LIMIT, SENTENCES, TOOLS, home, join_all, lost, read_notes, run

KILLS = 12
"""The number of processes that a test kills; `scripts/bench kills` kills more."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data folder whose store has read some notes."""
    read_notes(tmp_path)
    return tmp_path


def later(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Set the clock ahead by `seconds`."""
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + seconds)


def test_kill_9_at_any_moment_loses_no_answer_and_damages_no_slice(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("kill", folder, KILLS)
    parts = home(folder)
    assert parts.database.problems() == []
    assert lost(folder, parts) == set()
    # A killed process may have been about to evict for the path it kept last, of three slices.
    largest = max(row.bytes for row in parts.tree.rows.all())
    assert parts.tree.rows.bytes() <= KV_LIMIT + 3 * largest
    assert join_all(parts.tree) > 0
    later(monkeypatch, 7200)
    parts.tree.prune()
    parts.tree.trim()
    assert sum(path.stat().st_size for path in parts.tree.blobs.folder.iterdir()) <= KV_LIMIT
    assert {row.name for row in parts.tree.rows.all()} == {path.name for path in parts.tree.blobs.folder.iterdir()}
    assert parts.bank.counters.all().get("kv_damaged", 0) == 0


def test_processes_on_one_store_neither_fail_nor_lose_an_answer(folder: Path) -> None:
    run("side by side", folder, 3)
    parts = home(folder, limit=KV_LIMIT // 3)
    assert parts.database.problems() == []
    assert lost(folder, parts) == set()
    parts.tree.prune()
    parts.tree.trim()
    assert join_all(parts.tree) > 0
    assert sum(parts.tree.blobs.sizes().values()) == parts.tree.rows.bytes() <= KV_LIMIT // 3


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_question_is_answered_though_the_disk_is_full(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = home(folder)
    unfinished = folder / "unfinished"

    def on_a_full_disk(**_: object) -> tuple[int, str]:
        unfinished.touch()
        return os.open("/dev/full", os.O_WRONLY), str(unfinished)

    with monkeypatch.context() as full:
        full.setattr(tempfile, "mkstemp", on_a_full_disk)
        assert parts.ask("Who has the drill?").text in SENTENCES
        assert not unfinished.exists()
    assert parts.tree.rows.all() == []
    assert parts.ask("Who has the drill?").matched  # its answer was kept in the database all the same
    parts.ask("Who has the drill?", fresh=True)
    assert parts.ask("Who has the drill?", fresh=True).trace.segments_cached == 3


def test_a_question_is_answered_though_the_folder_cannot_be_made(folder: Path) -> None:
    Paths.locate({HOME_VARIABLE: str(folder)}).kv_slices.write_text("a file where the folder should be")
    assert home(folder).ask("Who has the drill?").text in SENTENCES


def test_what_another_model_left_is_neither_served_nor_joined(folder: Path) -> None:
    before = home(folder)
    old = before.ask("Who has the drill?")

    class Other(FakeEngine):
        def __init__(self) -> None:
            super().__init__()
            self._info = replace(self._info, kv_key="other")

    parts = home(folder, Other())
    answer = parts.ask("Who has the drill?", bare="two")
    assert (answer.matched, answer.trace.segments_cached, answer.text) == (None, 0, old.text)
    assert before.ask("Who has the drill?").matched
    assert parts.tree.prune("other") == 3
    assert parts.ask("Who has the drill?", bare="two", fresh=True).trace.segments_cached == 3
    assert parts.bank.counters.all().get("kv_damaged", 0) == 0


@pytest.mark.parametrize("place", [0, 20, 60, -1])
def test_slices_that_were_tampered_with_are_computed_again(folder: Path, place: int) -> None:
    parts = home(folder)
    first = parts.ask("Who has the drill?")
    for file in parts.tree.blobs.folder.iterdir():
        data = bytearray(file.read_bytes())
        data[place] ^= 0x20
        file.write_bytes(data)
    again = parts.ask("Who has the drill?", fresh=True)
    assert (again.text, again.trace.segments_cached) == (first.text, 0)
    assert parts.bank.counters.all()["kv_damaged"] == 1  # the root; the nodes below it were not read
    for expected in (1, 2, 3):
        assert parts.ask("Who has the drill?", fresh=True).trace.segments_cached == expected
    join_all(parts.tree)


def test_slices_that_changed_places_are_computed_again(folder: Path) -> None:
    parts = home(folder)
    first = [parts.ask(f"Who has the {tool}?", plan=Plan(1, "prompt")).text for tool in ("drill", "saw")]
    former, latter = (parts.tree.blobs.folder / row.name for row in parts.tree.rows.all() if row.parent)
    aside = former.rename(folder / "aside")
    latter.rename(former)
    aside.rename(latter)
    again = [parts.ask(f"Who has the {tool}?", plan=Plan(1, "prompt"), fresh=True).text for tool in ("drill", "saw")]
    assert again == first
    assert parts.bank.counters.all()["kv_damaged"] == 2


def test_a_clock_that_jumps_harms_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chance, now = random.Random(3), time.time()

    class Jumping(dates.datetime):
        @classmethod
        def now(cls, tz: dates.tzinfo | None = None) -> "Jumping":
            return cls.fromtimestamp(now + chance.choice([-1, 0, 1]) * 3e8, tz)

    for module in ("kv_slices", "qa_entries", "conversations"):
        monkeypatch.setattr(f"storage.{module}.datetime", Jumping)
    monkeypatch.setattr(time, "time", lambda: now + chance.choice([-1, 0, 1]) * 3e8)
    parts = home(folder)
    plan = Plan(1, "prompt")
    for tool in TOOLS * 2:
        assert tool in parts.ask(f"Who has the {tool}?", plan=plan, fresh=chance.random() < 0.5).text
        parts.tree.prune()
        assert parts.tree.rows.bytes() <= KV_LIMIT
    assert all(parts.ask(f"Who has the {tool}?").matched for tool in TOOLS)
    assert join_all(parts.tree) > 0


@pytest.mark.long
def test_ten_thousand_passages_that_go_at_once_leave_nothing_to_serve(tmp_path: Path) -> None:
    parts, total = home(tmp_path, limit=10**9), 10_000
    store = parts.assistant.retriever.store
    vector = FakeEmbedder().embed(["Who has the drill?"])[0]
    passages = [Passage(f"The drill, case {number}.", number) for number in range(total)]
    state = FileState(b"/log", 1, 1, "a", "recipe")
    with parts.database.transaction():
        file = store.open_file(state)
        document = Document("", "note", "Log", (Block("The drill."),))
        store.put(file, PreparedDocument(document, "h", passages, np.tile(vector, (total, 1))))
        store.close_file(file, state, {""})
    ids = [passage.id for passage in store.passages_of(b"/log")]
    engine = FakeEngine()
    engine.prefill(0, engine.tokenize("Be short. The drill."))
    root, leaf = (b"".join(kv_file.pack(engine.slice(0, *span))) for span in ((0, 10), (10, 20)))
    size = parts.tree.blobs.write("root", [root])
    parts.tree.rows.put("root", None, "fake", None, 10, size)
    with parts.database.transaction():
        for identity in ids:
            parts.tree.blobs.write(f"leaf{identity}", [leaf])
            parts.tree.rows.put(f"leaf{identity}", "root", "fake", identity, 10, len(leaf))
    for number, identity in enumerate(ids[::20]):
        parts.bank.entries.put(
            f"Who has case {number}?", "", "one", vector, "predicted",
            answer="Petra.", record={}, sources=[identity], newest_passage=max(ids), cost_ms=1.0,
        )  # fmt: skip
    assert parts.bank.nearest(vector) > 0.99
    store.remove_file(b"/log")
    assert all(entry.stale for entry in parts.bank.entries.all())
    assert parts.tree.prune() == total
    assert [row.name for row in parts.tree.rows.all()] == list(parts.tree.blobs.sizes()) == ["root"]
    assert parts.assistant.retriever.vectors.cosines(vector).ids.size == 0
    assert parts.database.problems() == []


def test_what_is_kept_is_its_owners_alone(folder: Path) -> None:
    before = os.umask(0)
    try:
        parts = home(folder)
        parts.ask("Who has the drill?")
    finally:
        os.umask(before)
    files = list(parts.tree.blobs.folder.iterdir())
    assert files
    assert {stat.S_IMODE(path.stat().st_mode) for path in (*files, parts.database.path)} == {0o600}
    for made in (parts.tree.blobs.folder, parts.tree.blobs.folder.parent, parts.database.path.parent):
        assert stat.S_IMODE(made.stat().st_mode) == 0o700
