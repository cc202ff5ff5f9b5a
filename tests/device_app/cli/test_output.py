"""The output of commands on the terminal: JSON, tables and progress bars."""

import dataclasses
import io
import json
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from device_app.cli.knowledge import ingestion_progress
from device_app.knowledge.ingest import Progress
from shared.cli.output import (
    console,
    print_blocks,
    print_json,
    print_table,
    progress,
)

ROWS = [("a-name-of-some-length", "what it is, in rather many words", 17), ("日本語", "short", 2)]


@dataclasses.dataclass(frozen=True)
class Fact:
    where: Path
    when: datetime


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_json_is_one_line_in_a_pipe_and_takes_facts(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"fact": Fact(Path("/x"), datetime(2026, 1, 2, tzinfo=UTC)), "text": "é\n"})
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    assert json.loads(out) == {"fact": {"where": "/x", "when": "2026-01-02T00:00:00Z"}, "text": "é\n"}


def test_json_is_indented_for_a_person(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setattr(Terminal, "encoding", "utf-8")
    print_json({"a": {"b": 1}})
    assert screen.getvalue() == '{\n  "a": {\n    "b": 1\n  }\n}\n'


@pytest.mark.parametrize("encoding", ["ascii", "utf-8", "latin-1"])
@pytest.mark.parametrize("text", ["日本", "caf\udce9"])
def test_json_is_whole_in_any_encoding(encoding: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding, errors="replace")
    monkeypatch.setattr(sys, "stdout", stream)
    print_json({"text": text})
    stream.flush()
    assert json.loads(raw.getvalue().decode(encoding)) == {"text": text}


@pytest.mark.parametrize("columns", [40, 59, 60, 80, 200])
def test_a_table_fits_the_terminal_and_loses_nothing(
    columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    print_table(("Name", "About", "Size"), ROWS)
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= columns
    words = out.split()
    for row in ROWS:
        assert all(word in words for cell in row for word in str(cell).split())


def test_a_table_in_a_pipe_is_not_folded(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    print_table(("A", "B"), [("x" * 300, "y" * 300)])
    assert len(capsys.readouterr().out.splitlines()) == 2


def test_cells_are_one_safe_line_and_blocks_keep_their_lines(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("A", "B"), [("two\nlines", "[bold]\x1b[1m")])
    assert "two lines" in (out := capsys.readouterr().out)
    assert "[bold][1m" in out
    print_blocks([[("Text", "two\nlines")], [("Text", "more")]])
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        *(["Text", "two"], ["lines"], [], ["Text", "more"])
    ]


@pytest.mark.parametrize(("variable", "coloured"), [(None, True), ("NO_COLOR", False)])
def test_colours_honour_no_color(variable: str | None, coloured: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setenv("TERM", "xterm-256color")
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    if variable:
        monkeypatch.setenv(variable, "1")
    console().print("x", style="red")
    assert screen.getvalue() == ("\x1b[31mx\x1b[0m\n" if coloured else "x\n")


def test_progress_is_silent_where_nobody_looks(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("Reading") as report:
        report(1, 2, "More")
    assert capsys.readouterr() == ("", "")


def terminal_on_stderr(monkeypatch: pytest.MonkeyPatch, columns: int) -> Terminal:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "xterm-256color")
    return terminal


@pytest.mark.parametrize(("columns", "share"), [(40, "50%"), (100, "0.5/1.0 MB")])
def test_progress_shows_the_share_on_a_terminal(
    columns: int, share: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    screen = terminal_on_stderr(monkeypatch, columns)
    with progress("Reading \x1b[31m") as report:
        report(0)
        report(500_000, 1_000_000)
    assert "Reading [31m" in screen.getvalue()
    assert share in screen.getvalue()
    assert capsys.readouterr().out == ""


def test_progress_may_be_turned_off(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = terminal_on_stderr(monkeypatch, 80)
    with progress("Reading", enabled=False) as report:
        report(1, 2)
    assert screen.getvalue() == ""


def test_ingestion_progress_counts_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = terminal_on_stderr(monkeypatch, 80)
    with ingestion_progress() as on_progress:
        on_progress(Progress("a.md", 500_000, 1_000_000, 1234))
    assert "1,234 documents" in screen.getvalue()


def test_a_table_of_many_rows_is_printed_without_folding_them(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "70")
    print_table(("File", "Passages"), [(f"/home/runa/{'日本' * 30}/{number}", number) for number in range(1_001)])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1_002
    assert lines[1].endswith("/0     0")
    assert lines[-1].endswith("/1000  1000")
