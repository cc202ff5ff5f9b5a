"""`jackdaw doctor`: each problem is reported with the file or setting in which it lies."""

import json
import shlex
import subprocess
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from device_app.cli import doctor
from device_app.cli.doctor import Finding
from device_app.cli.drafting import explained
from device_app.inference.local import LocalSource
from models.exact_loading import Setting, finish
from models.exactness import CHECKS
from models.fake import FakeEngine
from models.speculative.costs import DraftCosts, PassCosts
from models.speculative.draft_model import DraftModel
from models.speculative.draft_setting import WithoutModel
from models.speculative.drafting import Drafting
from models.speculative.lookup import Lookup
from models.verdict import EXACT, Verdict
from shared.prompt import CHATML
from storage.paths import Paths
from storage.private import write_private
from tests.inexact import Inexact, PassesOff


@pytest.fixture(autouse=True)
def without_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    for check in ("_engine", "_embedder"):
        monkeypatch.setattr(doctor, check, lambda _: iter([Finding("model", "ok", "not looked at")]))


def remedy(jackdaw: Any, said: str) -> Any:
    findings = json.loads(jackdaw("doctor", "--json").out)["findings"]
    return next(finding["mend"] for finding in findings if said in finding["said"])


def test_a_model_that_is_none_is_mended_where_it_is_named(
    jackdaw: Any, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_private(paths.config_file, '[model]\nname = "bogus"\n')
    assert remedy(jackdaw, "no model bogus") == (
        f"{paths.config_file} names this model. Choose another: jackdaw config set model.name NAME"
    )
    monkeypatch.setenv("JACKDAW_EMBEDDER_NAME", "smollm2-135m")
    assert remedy(jackdaw, "no embedder smollm2-135m") == (
        "The environment variable JACKDAW_EMBEDDER_NAME names this model. Correct or unset the variable."
    )


def test_a_model_that_is_not_here_is_to_be_pulled(jackdaw: Any) -> None:
    assert remedy(jackdaw, "smollm2-135m") == "Run: jackdaw models pull smollm2-135m"


def test_the_library_that_computes_is_named_and_states_of_an_unknown_version_are_warned_of(
    jackdaw: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    findings = json.loads(jackdaw("doctor", "--json").out)["findings"]
    (said,) = [finding["said"] for finding in findings if finding["check"] == "llama.cpp"]
    assert "libllama" in said
    monkeypatch.setattr("models.llama_bindings.STATE_VERSIONS", frozenset((4,)))
    assert "Update Jackdaw" in remedy(jackdaw, "attention states in a form that Jackdaw does not know")


def test_what_telemetry_left_behind_is_named_with_the_command_that_removes_it(
    jackdaw: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    report = json.loads(jackdaw("doctor", "--json").out)["findings"]
    assert [message["level"] for message in report if message["check"] == "telemetry"] == ["ok"]
    left = tmp_path / ".cache" / "Microsoft" / "DeveloperTools" / ".onnxruntime"
    left.mkdir(parents=True)
    report = json.loads(jackdaw("doctor", "--json").out)["findings"]
    assert [message["level"] for message in report if message["check"] == "telemetry"] == ["warn"]
    command = remedy(jackdaw, str(left)).removeprefix("Run: ")
    assert command.startswith("rm -r ")
    subprocess.run(shlex.split(command), check=True)
    assert not left.exists()


INFO = FakeEngine().info
CHEAP, FAST = PassCosts(((1, 1.0), (4, 1.3)), is_exact=True), DraftCosts(0.1, 0.02)


@pytest.mark.parametrize(
    ("mode", "costs", "draft_costs", "failed", "refused", "said"),
    [
        ("off", CHEAP, None, "", "", ["ok answers are not drafted: model.draft is off"]),
        ("auto", None, None, "", "", ["ok not measured yet"]),
        ("auto", replace(CHEAP, is_exact=False), FAST, "", "", ["ok answers are not drafted: with f16"]),
        (
            "auto",
            CHEAP,
            FAST,
            "",
            "",
            ["ok reading 4 tokens at once takes 1.3", "ok small drafts, too: a token takes 0.10"],
        ),
        (
            "auto",
            CHEAP,
            None,
            "",
            "",
            ["ok reading 4", "ok small can draft tokens, too; how long it takes is"],
        ),
        ("auto", CHEAP, DraftCosts(1.2, 0.1), "", "", ["ok reading 4", "warn small drafts, too"]),
        ("auto", CHEAP, FAST, "small drafts no more", "", ["ok reading 4", "warn small drafts no more"]),
        ("auto", None, None, "", "small does not draft", ["ok not measured yet", "warn small does not draft"]),
    ],
)
def test_what_drafts_and_why_not_is_told(
    mode: WithoutModel,
    costs: PassCosts | None,
    draft_costs: DraftCosts | None,
    failed: str,
    refused: str,
    said: list[str],
) -> None:
    model = None if refused else DraftModel("small", "small", Lookup, print, draft_costs, failed)  # type: ignore[arg-type]
    lines = [
        f"{level} {fact}"
        for level, fact, _ in explained(Drafting(mode, None, costs, model=model, refused=refused), INFO)
    ]
    assert all(line.startswith(begin) for line, begin in zip(lines, said, strict=True))


@pytest.mark.parametrize(
    ("setting", "verdict", "level", "words"),
    [
        (Setting("f16"), EXACT, "ok", "give exactly the computed results"),
        (Setting("q8_0"), EXACT, "ok", "q8_0 attention states are used in place of f16"),
        (Setting("f16", repacks=False), EXACT, "ok", "weights are used as they are in the file"),
        (Setting("f16"), Verdict(frozenset({"passes"})), "warn", "reading only the rest of a prompt would change"),
        (Setting("f16"), Verdict(frozenset({"rows", "rollback"})), "warn", "several passages at once and rolling back"),
    ],
)
def test_what_is_not_exact_is_told_in_plain_words(setting: Setting, verdict: Verdict, level: str, words: str) -> None:
    engine = Inexact(setting)
    engine.restrict(verdict)
    (finding,) = doctor._exactness(LocalSource(engine, CHATML), "f16")
    assert (finding.check, finding.level) == ("exactness", level)
    assert words in finding.said
    assert bool(finding.mend) == (level == "warn")


def test_doctor_runs_the_checks_that_are_left(tmp_path: Path) -> None:
    engine: Any = PassesOff()
    engine.restrict(Verdict(untested=frozenset(CHECKS)))
    source = LocalSource(engine, CHATML, finish_checks=partial(finish, engine, tmp_path))
    (finding,) = doctor._exactness(source, "f16")
    assert finding.level == "warn"
    assert engine.info.verdict == Verdict(frozenset({"passes"}))


def test_a_remedy_is_not_said_twice(jackdaw: Any) -> None:
    lines = jackdaw("doctor").out.splitlines()
    assert "     Run: jackdaw models pull smollm2-135m" in lines
    assert not any("is not on this machine. Run:" in line for line in lines)
    assert any("nothing is saved yet" in line for line in lines)
