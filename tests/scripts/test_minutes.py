"""The benchmark of quotations from meetings, on a small transcript."""

import json
from argparse import Namespace
from pathlib import Path

import pytest

from scripts.benchmarks import minutes
from scripts.places import CannotRun

TURNS = [
    {"speaker": "Anna", "content": "So we decided to repair the roof before winter. Fine."},
    {"speaker": "Tom", "content": "I'll send the invoice to Petra on Monday morning."},
]


def test_sentences_without_a_verdict_are_counted_and_not_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "qmsum").mkdir()
    path = tmp_path / "qmsum" / "roof.json"
    path.write_text(json.dumps({"meeting_transcripts": TURNS}))
    [(_, decided), _] = minutes.quoted(path)
    verdicts = tmp_path / "verdicts.json"
    verdicts.write_text(json.dumps({minutes.key("roof", decided): True}))
    monkeypatch.setattr(minutes, "_VERDICTS", verdicts)
    assert minutes.run(Namespace(data=tmp_path)) == {
        "meetings": 1,
        "quoted": {"decision": 1, "action": 1},
        "judged": 1,
        "right": 1.0,
        "missed": [],
    }


def test_it_says_which_data_it_takes(tmp_path: Path) -> None:
    with pytest.raises(CannotRun, match="qmsum"):
        minutes.run(Namespace(data=tmp_path))
