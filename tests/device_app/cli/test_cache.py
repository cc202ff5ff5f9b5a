"""`jackdaw cache`, and `jackdaw ask` that fills the caches, in this process with a fake engine and embedder."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from device_app.ahead.usefulness import Tally
from device_app.system.activity import Activity
from storage.paths import Paths

QUESTION = "Who has borrowed the blue drill?"
pytestmark = pytest.mark.usefixtures("without_weights")


def figures(jackdaw: Any, *command: str) -> Any:
    return json.loads(jackdaw("cache", *command, "--json").out)


def test_an_empty_cache_says_how_it_is_filled(jackdaw: Any) -> None:
    assert figures(jackdaw, "stats")["qa"]["entries"] == 0
    assert "0 saved" in jackdaw("cache").out
    outcome = jackdaw("cache", "list")
    assert (outcome.code, "jackdaw daemon run-once" in outcome.out) == (3, True)


def test_a_question_asked_again_says_that_it_was_answered_before(jackdaw: Any, notes: Path) -> None:
    first = json.loads(jackdaw("ask", QUESTION, "--json").out)
    again = json.loads(jackdaw("ask", QUESTION, "--json").out)
    assert (first["origin"], again["origin"]) == ("device", "qa_bank")
    assert again["answer"] == first["answer"]
    shown = jackdaw("ask", QUESTION).out
    assert "answered before · “Who has borrowed the blue drill?” (1.00) · just now" in shown
    assert json.loads(jackdaw("ask", "--fresh", QUESTION, "--json").out)["origin"] == "device"
    stats = figures(jackdaw, "stats")
    assert (stats["questions"], stats["qa"]["hits"], stats["qa"]["answered"]) == (4, 2, 1)
    assert stats["kv"]["slices"] == 2
    assert stats["kv"]["hits"] == 2
    assert "4 asked so far, 2 of them answered from saved answers" in jackdaw("cache").out


def test_what_was_predicted_and_never_asked_is_said(jackdaw: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert figures(jackdaw, "stats")["predictions"] == {}
    tallies = {"when": Tally(40, 4), "what": Tally(180, 1)}
    monkeypatch.setattr("device_app.ahead.usefulness.tallies", lambda *_: tallies)
    assert figures(jackdaw, "stats")["predictions"]["what"] == {"predicted": 180, "asked": 1, "share": 0.2}
    assert "5 asked of 220 that had their chance; predicted less: “what” 20%" in jackdaw("cache").out


def test_warm_has_the_answer_ready(jackdaw: Any, notes: Path) -> None:
    assert figures(jackdaw, "warm", QUESTION)["kept"]
    (entry,) = figures(jackdaw, "list")["entries"]
    assert (entry["question"], entry["origin"], entry["uses"]) == (QUESTION, "asked", 0)
    assert QUESTION in jackdaw("cache", "list").out
    assert json.loads(jackdaw("ask", QUESTION, "--json").out)["origin"] == "qa_bank"


def test_whoever_warms_has_the_machine(jackdaw: Any, notes: Path, paths: Paths) -> None:
    assert Activity(paths.activity).last() is None
    jackdaw("cache", "warm", QUESTION)
    assert Activity(paths.activity).last() is not None


def test_warm_finds_nothing_where_there_is_nothing(jackdaw: Any, notes: Path) -> None:
    outcome = jackdaw("cache", "warm", "zeppelin")
    assert (outcome.code, outcome.out[:29]) == (3, "Your files hold nothing relev")


@pytest.mark.parametrize(
    ("flags", "answers", "states"), [((), 1, 2), (("--qa",), 1, 0), (("--kv",), 0, 2), (("--qa", "--kv"), 1, 2)]
)
def test_clear_drops_what_is_named(
    jackdaw: Any, notes: Path, flags: tuple[str, ...], answers: int, states: int
) -> None:
    jackdaw("ask", QUESTION)
    assert figures(jackdaw, "clear", *flags) == {"answers": answers, "states": states}
    left = figures(jackdaw, "stats")
    assert (left["qa"]["entries"], left["kv"]["slices"]) == (1 - answers, 2 - states)


@pytest.mark.parametrize(("flag", "action"), [("--kv", "prefill"), ("--qa", "answer")])
def test_what_was_cleared_is_filled_again(jackdaw: Any, notes: Path, flag: str, action: str) -> None:
    def done() -> set[str]:
        return {step["action"] for step in json.loads(jackdaw("daemon", "run-once", "--json").out)["steps"]}

    done()
    assert done() == set()
    assert jackdaw("cache", "clear", flag).code == 0
    assert action in done()


def test_a_lower_limit_evicts_at_once_and_is_kept(jackdaw: Any, notes: Path) -> None:
    jackdaw("ask", QUESTION)
    assert figures(jackdaw, "limit", "kv", "0.0001") == {"layer": "kv", "limit_mb": 0.0001, "evicted": 2}
    assert figures(jackdaw, "stats")["kv"]["limit_bytes"] == 100
    assert json.loads(jackdaw("config", "get", "cache.kv_mb", "--json").out)["value"] == 0.0001
    assert figures(jackdaw, "limit", "qa", "0")["evicted"] == 1
    assert jackdaw("cache", "limit", "qa", "-1").code == 2


def test_what_a_lower_limit_evicted_is_made_again_once_it_is_as_it_was(jackdaw: Any, notes: Path) -> None:
    jackdaw("ask", QUESTION)
    jackdaw("daemon", "run-once")
    for megabytes in ("0.0001", "1000"):
        jackdaw("cache", "limit", "kv", megabytes)
    steps = json.loads(jackdaw("daemon", "run-once", "--json").out)["steps"]
    assert "there is room for the question's attention states" in {step["why"] for step in steps}


def test_what_is_forgotten_is_nowhere_in_the_caches(jackdaw: Any, notes: Path) -> None:
    jackdaw("ask", QUESTION)
    assert jackdaw("knowledge", "remove", str(notes)).code == 0
    left = Paths.locate(os.environ)
    assert figures(jackdaw, "list")["entries"][0]["answer"] is None
    assert figures(jackdaw, "stats")["kv"]["slices"] == 1  # the instruction
    assert len(list(left.kv_slices.iterdir())) == 1


def test_doctor_drops_and_tells_of_a_damaged_state(jackdaw: Any, notes: Path) -> None:
    jackdaw("ask", QUESTION)

    def report() -> Any:
        findings = json.loads(jackdaw("doctor", "--json").out)["findings"]
        return next(finding for finding in findings if finding["check"] == "cache")

    assert report()["level"] == "ok"
    path = next(iter(sorted(Paths.locate(os.environ).kv_slices.iterdir())))
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    assert (report()["level"], report()["level"]) == ("warn", "ok")
    assert figures(jackdaw, "stats")["kv"]["slices"] == 1
