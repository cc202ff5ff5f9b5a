"""Which questions are suggested, and how the planned background work is described."""

import json
import os
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from pathlib import Path

import pytest

from device_app.ahead.outlook import ahead, likely, suggested
from device_app.cli import run
from device_app.device import Device
from tests.devices import fake_device

TODAY = date(2026, 11, 20)
"""The day on which the fixture's answers were made."""


@pytest.fixture
def files(notes: Path, device: Device) -> Device:
    """Four files, a passage each."""
    (notes / "ladder.md").write_text("# Ladder\n\nBen brings the ladder back after the weekend.")
    (notes / "garden.md").write_text("# Garden\n\nMarta planted tulips beside the shed.")
    assert run(["add", str(notes)], fake_device) == 0
    return device


def test_before_the_first_question_the_newest_comes_first_one_of_a_document(
    files: Device, keep: Callable[..., int]
) -> None:
    keep("Who has the old saw?", "Anna.", source=1)
    keep("Who brings the ladder back?", "Ben.", source=3)
    keep("When does Ben bring the ladder?", "After the weekend.", source=3)
    assert likely(files, 3, TODAY) == ["When does Ben bring the ladder?", "Who has the old saw?"]


def test_what_is_near_to_the_last_question_comes_first(files: Device, keep: Callable[..., int]) -> None:
    keep("What did Marta plant beside the shed?", "Tulips.", source=4)
    keep("Who has the old saw?", "Anna.", source=1)
    turn = files.conversations.begin("What grows beside the shed of Marta?")
    files.conversations.write(turn.id, "Tulips.", {})
    keep("What grows beside the shed of Marta?", "Tulips.", source=4, origin="asked")
    assert likely(files, 1, TODAY) == ["What did Marta plant beside the shed?"]


def test_what_would_not_be_served_is_not_suggested(files: Device, keep: Callable[..., int]) -> None:
    keep("What must I do tomorrow?", "Nothing.", source=1)
    keep("Who waits for an answer?")
    keep("Who has a passage that is gone?", "Nobody.", source=99)
    keep("Who was asked already?", "Ben.", source=3, uses=1)
    keep("What did Marcus Beil write about Café on Friday?", "Marcus Beil wrote about Café on Friday.", source=4)
    assert likely(files, 3, TODAY + timedelta(days=1)) == []


def test_only_what_is_proven_is_suggested_and_rules_answer_the_rest(
    files: Device, keep: Callable[..., int], notes: Path
) -> None:
    now = datetime.combine(TODAY, time(12)).astimezone()
    assert suggested(files, 3, now) == []
    (notes / "2026-11-19_rain.md").write_text("# Rain\n\nIt rained all day.")
    assert run(["add", str(notes)], fake_device) == 0
    assert suggested(files, 3, now) == ["What is my latest note?"]
    keep("Who has the old saw?", "Anna.", source=1)
    guess = keep("Who brings the ladder back?", "Petra.", source=3)
    facts = json.dumps(files.qa_bank.entries.get([guess])[guess].record | {"support": "near"})
    files.database.execute("UPDATE qa_entries SET record = ? WHERE id = ?", (facts, guess))
    assert suggested(files, 3, now) == ["Who has the old saw?", "What is my latest note?"]
    assert suggested(files, 1, now) == ["Who has the old saw?"]


def test_a_threshold_that_serves_nothing_suggests_nothing(
    files: Device, keep: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    from device_app.settings import load

    keep("Who has the old saw?", "Anna.", source=1)
    monkeypatch.setenv("JACKDAW_CACHE_THRESHOLD", "1")
    files.go_on_under(load(files.paths, os.environ).settings.cache)
    assert likely(files, 3, TODAY) == []


def test_without_room_nothing_lies_ahead(
    files: Device, keep: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    from device_app.settings import load

    keep("Who waits for an answer?")
    outlook = ahead(files)
    assert (outlook.answers, outlook.passages_unpredicted, outlook.passages_unread) == (1, 4, 4)
    monkeypatch.setenv("JACKDAW_CACHE_QA_MB", "0")
    monkeypatch.setenv("JACKDAW_CACHE_KV_MB", "0")
    files.go_on_under(load(files.paths, os.environ).settings.cache)
    outlook = ahead(files)
    assert (outlook.answers, outlook.passages_unpredicted, outlook.passages_unread, outlook.room) == (0, 0, 0, 0)
