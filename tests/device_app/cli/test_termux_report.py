"""`jackdaw doctor` and its report on a simulated phone: the report is shown before it is written, and contains nothing
private.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.termux import Phone, Wrong

SECRET = "Zanzibar"


@pytest.fixture(autouse=True)
def _on_a_phone(phone: Phone, monkeypatch: pytest.MonkeyPatch, without_weights: None, tmp_path: Path) -> None:
    phone.enter(monkeypatch)
    monkeypatch.setenv("JACKDAW_HOME", str(tmp_path / SECRET))
    monkeypatch.setattr("device_app.commands.report._STARTS", 1)


def findings(jackdaw: Any, check: str) -> list[tuple[str, str]]:
    listed = json.loads(jackdaw("doctor", "--json").out)["findings"]
    return [(finding["level"], finding["said"]) for finding in listed if finding["check"] == check]


def test_a_sound_phone_is_said_to_be_sound(jackdaw: Any) -> None:
    (termux, battery, storage) = findings(jackdaw, "phone")
    assert termux == ("ok", "Termux 0.119.0-beta.3, from F-Droid")
    assert battery[0] == "ok"
    assert storage[0] == "ok"


@pytest.mark.parametrize(
    ("how", "said"),
    [
        (Wrong.HANGS, "did not answer within 0.1 seconds"),
        (Wrong.DENIES, "Android denies termux-battery-status its permission"),
        (Wrong.NONSENSE, "prints no valid answer"),
        (Wrong.MISSING, "termux-battery-status missing"),
    ],
)
def test_a_command_that_goes_wrong_deserves_a_look(
    jackdaw: Any, phone: Phone, monkeypatch: pytest.MonkeyPatch, how: Wrong, said: str
) -> None:
    monkeypatch.setattr("device_app.system.termux.SECONDS", 0.1 if how is Wrong.HANGS else 60.0)
    phone.goes_wrong(how, "termux-battery-status")
    assert any(level == "warn" and said in text for level, text in findings(jackdaw, "phone"))


def test_the_report_says_which_command_is_silent(
    jackdaw: Any, phone: Phone, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("device_app.system.termux.SECONDS", 0.1)
    phone.goes_wrong(Wrong.HANGS, "termux-battery-status")
    report = json.loads(jackdaw("doctor", "--to", str(tmp_path / "report.json"), "--json").out)
    assert report["commands"]["termux-battery-status"] == "is silent: it did not answer another check in time"


def test_a_build_of_the_play_store_deserves_a_look(jackdaw: Any, phone: Phone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERMUX_VERSION", "googleplay.2026.02.11")
    assert findings(jackdaw, "phone")[0][0] == "warn"
    assert "lacks messages" in findings(jackdaw, "phone")[0][1]


def test_the_report_is_shown_and_written_and_holds_nothing_private(jackdaw: Any, phone: Phone, tmp_path: Path) -> None:
    folder = phone.home / SECRET
    folder.mkdir()
    (folder / f"{SECRET}.md").write_text(f"{SECRET} has borrowed the blue drill.")
    assert jackdaw("add", str(folder)).code == 0
    assert jackdaw("ask", f"Who is {SECRET}?").code in (0, 3)
    jackdaw("config", "set", "model.name", f"file:{folder / SECRET}.gguf")
    outcome = jackdaw("doctor", "--report")
    assert outcome.code == 0
    assert not (phone.home / "jackdaw-report.json").exists()
    report = json.loads(outcome.out)
    assert report["platform"]["system"] == "android"
    assert [report["platform"][name] for name in ("android", "api", "chip")] == ["14", "34", "SM8550"]
    assert report["platform"]["apps"] == {"com.termux": "org.fdroid.fdroid", "com.termux.api": "org.fdroid.fdroid"}
    assert report["commands"]["termux-battery-status"].startswith("answers in ")
    assert report["model"]["name"] == "a file"
    assert report["model"]["exact"] is True
    assert report["start_ms"] > 0
    assert {"check": "phone", "level": "ok"} in report["checks"]

    file = tmp_path / "report.json"
    outcome = jackdaw("doctor", "--to", str(file), "--json")
    assert json.loads(file.read_text()).keys() == json.loads(outcome.out).keys() == report.keys()
    assert file.stat().st_mode & 0o777 == 0o600
    for private in (SECRET, str(phone.home), str(tmp_path), os.environ["HOME"], "drill"):
        assert private not in file.read_text() + json.dumps(report)
