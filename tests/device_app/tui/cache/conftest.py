"""A store with full caches: three weeks of questions, cached answers of every kind, and cached KV states."""

import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from device_app.ahead.daemon import Status
from device_app.ahead.work import Step
from device_app.cache.answers.bank import scope
from device_app.cli import run
from device_app.commands.opening import opened
from device_app.device import Device
from device_app.english.query import Query
from models.fake import FakeEmbedder
from storage import kv_slices, qa_entries
from storage.paths import Paths
from storage.private import write_private
from tests.devices import fake_device

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
SCOPE = scope(Query(""))
Keep = Callable[..., int]


@pytest.fixture
def device(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> Iterator[Device]:
    """A device over the app's data; its cached rows are dated a day before the app's clock."""
    monkeypatch.setattr("device_app.tui.cache.screen.LOOK_S", 3600.0)
    for module in (qa_entries, kv_slices):
        monkeypatch.setattr(module, "_now", lambda: (NOW - timedelta(days=1)).isoformat(timespec="microseconds"))
    with opened(os.environ, fake_device) as device:
        yield device


@pytest.fixture
def keep(device: Device, record: Callable[..., dict[str, Any]]) -> Keep:
    """Store a cached answer or, without an answer, a question that waits for one."""

    def keep(question: str, answer: str = "", *, source: int = 1, origin: str = "predicted", uses: int = 0) -> int:
        entries, fingerprint = device.qa_bank.entries, device.options().fingerprint
        vector = FakeEmbedder().embed([question])[0]
        if not answer:
            return entries.wait(question, SCOPE, fingerprint, vector, origin)  # type: ignore[arg-type]
        facts = record(question, answer)
        facts["sources"] = [{**facts["sources"][0], "id": source, "title": f"Note {source}"}]
        newest = device.knowledge.newest_passage()
        kept = entries.put(
            question,
            SCOPE,
            fingerprint,
            vector,
            origin,  # type: ignore[arg-type]
            answer=answer,
            record=facts,
            sources=[source],
            newest_passage=newest,
            cost_ms=2400.0,
        )
        for _ in range(uses):
            entries.used(kept)
        return kept

    return keep


@pytest.fixture
def life(device: Device, keep: Keep, notes: Path) -> Device:
    """A device with everything that the cache screen can show."""
    (notes / "ladder.md").write_text("# Ladder\n\nBen brings the ladder back after the weekend.")
    (notes / "garden.md").write_text("# Garden\n\nMarta planted tulips beside the shed.")
    assert run(["add", str(notes)], fake_device) == 0
    _ask(device)
    keep("Who has the blue drill?", "Petra has borrowed the blue drill.", origin="asked", uses=6)
    keep("When is the dentist?", "On Tuesday 14 March at nine.", source=2, origin="asked", uses=2)
    keep("Who has the old saw?", "Anna has the old saw.", source=1)
    keep("Who brings the ladder back?", "Ben.", source=3)
    keep("What did Marta plant beside the shed?", "Tulips.", source=4)
    keep("Where is the ladder that Ben wanted to bring back?")
    stale = keep("What did Petra borrow?", "The blue drill.", origin="asked", uses=1)
    device.qa_bank.entries.check(stale, 9, stale=True)
    rows = device.qkv_tree.rows
    for name, parent, passage, tokens in (
        ("a", None, None, 36),
        ("b", "a", 1, 140),
        ("c", "b", 2, 120),
        ("d", "a", 2, 120),
    ):
        rows.put(name, parent, "fake", passage, tokens, tokens * 23_000)
    rows.used(["a", "a", "a", "b", "b", "c"])
    device.counters.set("predicted_passage", 1)
    did = Step("answer", "Who has the old saw?", "predicted from Tools; with its answer", 240, 12, 900.0)
    write_private(device.paths.daemon_status, msgspec.json.encode(Status(4711, "waiting", "all is done", did)).decode())
    at = (NOW - timedelta(minutes=40)).timestamp()
    os.utime(device.paths.daemon_status, (at, at))
    return device


def _ask(device: Device) -> None:
    began = (NOW - timedelta(days=20)).isoformat()
    device.database.insert(
        "INSERT INTO conversations (title, created_at, updated_at) VALUES ('Of tools', ?, ?)", (began, began)
    )
    for back in range(21):
        at, questions = NOW - timedelta(days=back), (back * 5) % 8
        hits = sum(number < (21 - back) / 6 for number in range(questions))
        device.database.execute_many(
            "INSERT INTO turns (conversation_id, question, answer, complete, record, asked_at) "
            "VALUES (1, 'Who has the blue drill?', 'a', 1, '{}', ?)",
            [(at.isoformat(timespec="microseconds"),)] * questions,
        )
        did = {
            "questions": questions,
            "qa_hits": hits,
            "qa_ms_saved": 2_388 * hits,
            "kv_tokens_saved": 60 * (questions - hits),
            "kv_tokens_computed": 140 * (questions - hits),
        }
        device.database.execute_many(
            "INSERT INTO cache_days VALUES (?, ?, ?)", [(at.date().isoformat(), *item) for item in did.items()]
        )
