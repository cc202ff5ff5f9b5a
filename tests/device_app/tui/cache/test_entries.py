"""How a cached question is described."""

from typing import Any

import pytest

from device_app.tui.cache.entries import origin
from storage.qa_entries import Entry


def entry(kind: Any, *titles: str) -> Entry:
    """Return a cached question of the given kind whose answer has sources with these titles."""
    record = {"sources": [{"title": title} for title in titles]}
    at = "2026-11-21T10:00:00+00:00"
    return Entry(1, "Who?", "", "fake", kind, "Petra.", record, False, 0, 1.0, 9, 0, at, at)


@pytest.mark.parametrize(
    ("kept", "said"),
    [
        (entry("asked", "Tools"), "asked"),
        (entry("predicted"), "predicted"),
        (entry("predicted", "Tools"), "predicted from Tools"),
        (entry("predicted", "Tools", "Tools"), "predicted from Tools"),
        (entry("predicted", "Tools", "Te\x1bth", "House"), "predicted from Tools and 2 more"),
    ],
)
def test_where_a_question_is_from_names_how_many_sources_there_are(kept: Entry, said: str) -> None:
    assert origin(kept) == said
