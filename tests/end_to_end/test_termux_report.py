"""`jackdaw doctor --report` on a terminal: it is shown before it is written, and holds nothing private."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.termux import Phone

SECRET = "Zanzibar"


@pytest.mark.parametrize("agreed", [True, pytest.param(False, marks=pytest.mark.long)])
def test_a_person_sees_the_report_and_then_decides(phone: Phone, terminal: Callable[..., Any], agreed: bool) -> None:
    phone.home = phone.home / SECRET
    phone.home.mkdir()
    note = phone.home / f"{SECRET}.md"
    note.write_text(f"# {SECRET}\n\n{SECRET} has borrowed the blue drill.\n")
    assert phone.json("add", str(note))["documents"] == 1
    assert SECRET in phone.json("ask", "Who has the blue drill?")["answer"]
    file = phone.home / "jackdaw-report.json"
    screen = terminal(phone.command("doctor", "--report"), phone.environment, 200, 50)
    screen.awaits(r"Write this to .*jackdaw-report\.json\?")
    shown, _, question = screen.written.rpartition("Write this to ")
    assert not file.exists()
    screen.types("y\r" if agreed else "n\r")
    assert screen.ends() == 0
    text = shown[shown.index("{") : shown.rindex("}") + 1]
    report = json.loads(text)
    assert report["terminal"]["is_terminal"] is True
    assert (report["platform"]["system"], report["platform"]["chip"]) == ("android", "SM8550")
    assert report["model"]["read_tokens_per_s"] > 0
    for private in (SECRET, str(phone.files), "drill"):
        assert private not in shown
    assert str(file) in question
    assert file.exists() is agreed
    if agreed:
        assert json.loads(file.read_text()) == report
        assert file.stat().st_mode & 0o777 == 0o600
