"""The server's log: every entry is one line, whatever its text, and no entry contains terminal control sequences."""

import json
import logging
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloud_server.monitoring.logs import MOST_ALIKE, MOST_OF_ALL, JsonLines, PlainLines, RateLimitFilter

FOUL = "a\x1b[31mb\x9bc\u2028d\u202ee\x7ff\x85g\u200bh\ud800i"


def record(question: str) -> logging.LogRecord:
    return logging.makeLogRecord({"msg": "asked", "levelname": "INFO", "question": question})


@given(st.text(st.characters(codec=None)))
def test_what_was_said_forges_no_entry(text: str) -> None:
    for said in (text, FOUL, f"{text}\n2026-11-01T00:00:00.000+00:00 error forged"):
        line = JsonLines().format(record(said))
        assert line.isascii()
        assert line.isprintable()
        assert json.loads(line)["question"] == said
        first, *rest = PlainLines().format(record(said)).split("\n")
        assert all(line.isprintable() for line in (first, *rest))
        assert all(line.startswith("    ") for line in rest)
        assert " info asked question=" in first


@pytest.mark.parametrize(("said", "shown"), [("Wie heißt er? 日本", "Wie heißt er? 日本"), ("\x1b[31m", r"\x1b[31m")])
def test_a_person_reads_what_can_be_read(said: str, shown: str) -> None:
    assert PlainLines().format(record(said)).endswith(f"question={shown}")


@pytest.fixture
def sparingly(monkeypatch: pytest.MonkeyPatch) -> RateLimitFilter:
    """A rate-limiting log filter with a stopped clock: all entries fall into one minute until the test changes the
    time.
    """
    monkeypatch.setattr(time, "monotonic", lambda: 0.0)
    return RateLimitFilter()


def written(sparingly: RateLimitFilter, **facts: str) -> logging.LogRecord | None:
    said = logging.makeLogRecord({"msg": "connection refused", **facts})
    return said if sparingly.filter(said) else None


@pytest.mark.parametrize("field", ["client", "peer"])
def test_one_that_is_refused_often_hides_nobody_else(sparingly: RateLimitFilter, field: str) -> None:
    facts: dict[str, Any] = {field: "192.0.2.1"}
    assert sum(bool(written(sparingly, **facts)) for _ in range(2 * MOST_OF_ALL)) == MOST_ALIKE
    assert written(sparingly, **{field: "192.0.2.2"})


def test_many_together_are_bounded_too_and_what_was_left_out_is_counted(
    sparingly: RateLimitFilter, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (
        sum(bool(written(sparingly, peer=f"2001:db8::{number:x}")) for number in range(2 * MOST_OF_ALL)) == MOST_OF_ALL
    )
    monkeypatch.setattr(time, "monotonic", lambda: 60.0)
    later = written(sparingly, peer="192.0.2.1")
    assert later
    assert later.__dict__["left_out_of_all"] == MOST_OF_ALL
    assert "left_out" not in later.__dict__
