"""The questions suggested to a new user: only questions whose answers are already kept."""

from pathlib import Path

from device_app.ahead import suggestions
from device_app.ahead.suggestions import Suggested, choose, suggest
from device_app.device import Device
from models.fake import FakeEngine
from tests.device_app.cache.conftest import made


def unused() -> FakeEngine:
    raise AssertionError("a model was loaded")


def test_a_rule_and_what_passages_prove_are_suggested_without_a_model(device: Device, notes: Path) -> None:
    (notes / "wifi.md").write_text('# Guests\n\nThe guest password is "jackdaw42".\n')
    (notes / "maybe.md").write_text("# Maybe\n\nThe parcel from Oslo is of no use to anybody, says 12.\n")
    (notes / "2026-03-01_rain.md").write_text("# Rain\n\nIt rained all day.\n")
    device.ingestion().run([notes])
    device._engine = unused
    suggested = suggest(device.assistant, device.options(), 3)
    assert suggested[0] == "What is my latest note?"
    assert "What is the guest password?" in suggested


def test_without_files_nothing_is_suggested(tmp_path: Path) -> None:
    empty = made(tmp_path / "empty")
    assert suggest(empty.assistant, empty.options(), 3) == []


def test_what_is_not_answered_is_passed_over_and_only_so_many_are_tried() -> None:
    some = [Suggested(f"{number}", number, "note", 1 - number / 100) for number in range(40)]
    tried: list[str] = []

    def is_answered(candidate: Suggested) -> bool:
        tried.append(candidate.question)
        return candidate.question in ("1", "3", "30")

    assert choose(some, 2, is_answered) == ["1", "3"]
    assert tried == ["0", "1", "2", "3"]
    assert choose(some, 3, is_answered) == ["1", "3"]
    assert len(tried) == 4 + suggestions._MOST_TRIED
