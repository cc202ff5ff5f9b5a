"""The server's log: whatever was said, an entry is a line, and nothing in it drives a terminal."""

import json
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloud_server.logs import JsonLines, PlainLines

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
        assert all(one.isprintable() for one in (first, *rest))
        assert all(one.startswith("    ") for one in rest)
        assert " info asked question=" in first


@pytest.mark.parametrize(("said", "shown"), [("Wie heißt er? 日本", "Wie heißt er? 日本"), ("\x1b[31m", r"\x1b[31m")])
def test_a_person_reads_what_can_be_read(said: str, shown: str) -> None:
    assert PlainLines().format(record(said)).endswith(f"question={shown}")
