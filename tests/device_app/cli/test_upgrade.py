"""A data folder that an earlier revision made: answers, cache hits and lists are as before."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from storage.paths import Paths
from tests.older_homes import make_store, write_notes

ASKED = "Who has borrowed the blue drill?"
MARKED = "How many milligrams of medicine does the cat take?"
pytestmark = pytest.mark.usefixtures("without_weights")


@pytest.fixture
def older_home(tmp_path: Path) -> Path:
    """Set up the data folder of revision f013dfc (schema 6); return the folder that it has read."""
    paths = Paths.locate(os.environ)
    paths.create()
    write_notes(tmp_path / "notes")
    make_store(paths.database, 6, tmp_path / "notes")
    return tmp_path / "notes"


def output(jackdaw: Any, *command: str) -> Any:
    return json.loads(jackdaw(*command, "--json").out)


def test_what_an_earlier_revision_answered_is_served(older_home: Path, jackdaw: Any) -> None:
    answer = output(jackdaw, "ask", ASKED)
    assert (answer["origin"], answer["answer"]) == ("qa_bank", "Petra has borrowed the blue drill.")
    assert answer["cache"]["qa"]["matched"] == ASKED


def test_an_answer_that_was_marked_wrong_stays_marked(older_home: Path, jackdaw: Any) -> None:
    assert output(jackdaw, "ask", MARKED)["marked_wrong"]


def test_nothing_is_read_again(older_home: Path, jackdaw: Any) -> None:
    report = output(jackdaw, "add", str(older_home))
    assert (report["documents"], report["unchanged"]) == (0, 2)


def test_lists_and_statistics_are_those_of_before(older_home: Path, jackdaw: Any) -> None:
    assert output(jackdaw, "knowledge", "list")["files"] == [
        {
            "path": str(older_home / name),
            "size": size,
            "documents": 1,
            "passages": 1,
            "ingested_at": "2026-11-23T22:20:55+00:00",
            "complete": True,
        }
        for name, size in (("cat.md", 54), ("drill.md", 50))
    ]
    assert output(jackdaw, "knowledge", "list")["skipped"] == [
        {"path": str(older_home / "broken.pdf"), "reason": "broken PDF"}
    ]
    assert [(row["id"], row["title"], row["turns"]) for row in output(jackdaw, "history", "list")["conversations"]] == [
        (3, MARKED, 1),
        (2, ASKED, 1),
        (1, ASKED, 1),
    ]
    stats = output(jackdaw, "cache", "stats")
    assert stats["questions"] == 3
    assert (stats["qa"]["entries"], stats["qa"]["answered"], stats["qa"]["hits"]) == (1, 1, 1)
    assert (stats["kv"]["slices"], stats["kv"]["tokens"], stats["kv"]["bytes"]) == (3, 195, 4281)
    (entry,) = output(jackdaw, "cache", "list")["entries"]
    assert entry == {
        "question": ASKED,
        "answer": "Petra has borrowed the blue drill.",
        "origin": "asked",
        "stale": False,
        "uses": 1,
        "answered_at": "2026-11-23T22:20:55.386898+00:00",
    }
    status = output(jackdaw, "status")
    assert (status["conversations"], status["knowledge"]["passages"]) == (3, 2)


def test_asking_in_a_home_that_is_up_to_date_needs_no_sqlite_utils(
    notes: Path, jackdaw: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sqlite_utils", None)
    assert output(jackdaw, "ask", ASKED)["found"]
    assert output(jackdaw, "ask", ASKED)["origin"] == "qa_bank"
