"""The lines below an answer: its sources and notes."""

from datetime import UTC, datetime
from typing import Any

import pytest

from device_app.question.abstention import NEAREST, NOT_TOLD
from device_app.tui.chat.support import about

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
NEARBY = {"source": 2, "sentence": "Petra has a drill.", "share": 0.6}
QUOTE = "“Petra has borrowed the blue drill.” [1]"


@pytest.mark.parametrize(
    ("different", "shown"),
    [
        ({"support": "word for word"}, "✓ word for word in [1]"),
        ({"support": "proven"}, QUOTE),
        ({"support": "near", "evidence": None, "nearest": NEARBY}, "nearest sentence: Petra has a drill. [2]"),
        ({"support": "near"}, "nearest sentence: Petra has borrowed the blue drill. [1]"),  # of an earlier version
        ({"support": "near", "evidence": None}, None),
        ({"support": None, "evidence": None}, None),
        ({"support": "word for word", "evidence": None, "quoted": True}, "✓ quoted from your files"),
    ],
)
def test_how_far_the_sources_carry_it(record: Any, different: dict[str, Any], shown: str | None) -> None:
    lines = about(record("Who has it?", "Petra has borrowed the blue drill.", **different), 120, NOW).plain.splitlines()
    assert [line.strip() for line in lines[1:-4]] == ([shown] if shown else [])


@pytest.mark.parametrize("width", [30, 40, 120])
def test_an_abstention_shows_the_nearest_passages(record: Any, width: int) -> None:
    facts = record("Where?", NOT_TOLD, abstained=True, evidence=None, support=None)
    badge, *rest = about(facts, width, NOW).plain.splitlines()
    assert badge.startswith("● no answer · 551 ms")
    nearest = rest.index(f"  {NEAREST}")
    assert [line[:4] for line in rest[nearest + 1 : nearest + 3]] == ["  1 ", "  2 "]


def test_a_source_of_the_server_is_marked_at_any_width(record: Any) -> None:
    facts = record("Where?", "There.")
    facts["sources"][0] |= {"side": "server", "title": "A title that is longer than a narrow screen has room for"}
    assert all("· the server" in about(facts, width, NOW).plain for width in (40, 50, 120))


def test_a_guess_is_folded_below_the_passages_that_stand_for_an_answer(record: Any) -> None:
    facts = record("Where?", NOT_TOLD, abstained=True, evidence=None, support="none", guess="in\x1b[31m Bergen")
    for source in facts["sources"]:
        source["text"] = "The drill lies on the shelf. " * 20
    folded, shown = (about(facts, 80, NOW, shows_guess=shows).plain for shows in (False, True))
    assert "The drill lies on the shelf." in folded
    assert "Bergen" not in folded
    assert "▸ the model's guess" in folded
    assert "▾ the model's guess, of which it is not sure, or which no source proves: in" in shown
    assert "Bergen" in shown
    assert "\x1b" not in shown
