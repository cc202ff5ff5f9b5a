"""What is shown before the app's modules are imported, and that the terminal is restored whatever happens
until then.
"""

import os
import re
import signal
import subprocess
import sys
import termios
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from device_app.tui.opening import COLOURS, frame
from device_app.tui.themes import THEMES

APP = "from device_app.cli import main; main()"
OPENING = "opening …"
SIZES = ((90, 40), (80, 24), (48, 18), (40, 20), (20, 8))

Start = Callable[..., Any]


@pytest.fixture
def start(terminal: Start) -> Start:
    """Starts the app; the code `held` runs at the point where the app would import its screens."""
    slow = "import sys, time\nclass Slow:\n def find_spec(self, name, *_):\n  if name == 'device_app.tui.run': {}\n"
    program = slow + "sys.meta_path.insert(0, Slow())\n" + APP
    return lambda held="pass", columns=80, rows=24, **environment: terminal(
        [sys.executable, "-c", program.format(held)],
        os.environ | {"PYTHONPATH": str(Path.cwd())} | environment,
        columns,
        rows,
    )


@pytest.fixture
def untouched(terminal: Start) -> list[Any]:
    """The modes of a terminal that no program has changed."""
    idle = terminal([sys.executable, "-c", "print('here')"], os.environ)
    idle.awaits("here")
    return _modes(idle)


def _modes(terminal: Any) -> list[Any]:
    return termios.tcgetattr(terminal._fd)


def _is_whole(app: Any, untouched: list[Any]) -> None:
    with suppress(OSError):  # it has ended
        app.until(lambda: False)
    assert _modes(app) == untouched
    assert app.written.count("\x1b[?1049h") == app.written.count("\x1b[?1049l") == 1
    assert app.written.rfind("\x1b[?1049l") > app.written.rfind("\x1b[?1049h")


def test_what_was_typed_while_it_opened_stands_in_the_composer(start: Start) -> None:
    app = start("time.sleep(0.3)")
    app.types("ab")
    app.awaits(OPENING)
    app.types("c")
    app.awaits("│ abc")
    app.types("\x11")
    assert app.ends() == 0
    opened = app.written.find("\x1b[?1049h")
    assert "c" not in app.written[opened : app.written.find("\x1b[?25l")].replace("jackdaw", "")


@pytest.mark.parametrize(
    ("how", "code"), [("\x03", 130), (signal.SIGTERM, 143), (signal.SIGINT, 130)], ids=["Ctrl-C", "SIGTERM", "SIGINT"]
)
def test_ended_while_it_opens_it_leaves_the_terminal_whole(
    start: Start, untouched: list[Any], how: str | signal.Signals, code: int
) -> None:
    app = start("[time.sleep(0.01) for _ in range(6_000)]")  # a signal just before a sleep acts after it
    app.awaits(OPENING)
    assert _modes(app) != untouched
    if isinstance(how, str):
        app.types(how)
    else:
        os.kill(app._pid, how)
    _is_whole(app, untouched)
    assert app.ends() == code


def test_an_import_that_fails_is_told_on_a_whole_terminal(start: Start, untouched: list[Any]) -> None:
    app = start("raise ImportError('it is broken')")
    app.awaits("it is broken")
    _is_whole(app, untouched)
    assert app.written.find("\x1b[?1049l") < app.written.find("it is broken")
    assert app.ends() == 1


def test_the_app_gives_back_what_the_opening_found(start: Start, untouched: list[Any]) -> None:
    app = start()
    app.awaits("sk about your files")
    app.types("\x11")
    _is_whole(app, untouched)
    assert app.ends() == 0


def test_an_app_that_is_asked_to_end_leaves_the_terminal_whole(start: Start, untouched: list[Any]) -> None:
    app = start()
    app.awaits("sk about your files")
    os.kill(app._pid, signal.SIGTERM)
    _is_whole(app, untouched)
    assert "Traceback" not in app.written
    assert app.ends() == 143


def test_a_setting_that_is_wrong_is_told_before_anything_is_drawn(start: Start) -> None:
    app = start(JACKDAW_APP_THEME="pink")
    app.awaits("app.theme cannot be 'pink'")
    assert app.ends() == 2
    assert "\x1b[?1049h" not in app.written


@pytest.mark.parametrize(("columns", "rows"), SIZES)
async def test_it_draws_what_the_app_draws_first(person: Any, columns: int, rows: int) -> None:
    drawn = re.split(r"\x1b\[\d+;1H", re.sub(r"\x1b\[[\d;]*m", "", frame(columns, rows, COLOURS["dark"])))[1:]
    async with person.at(columns, rows):
        composer, area = person.chat.composer.region, person.chat.composer.content_region
        seen = person.sees().splitlines()
    assert [len(line) for line in drawn[:-1]] == [columns] * (rows - 1)
    assert composer.bottom == rows - 1
    for row in range(composer.y, composer.bottom):
        empty = re.sub(r"Ask( [^ │]+)+", lambda hint: " " * len(hint[0]), seen[row])
        assert empty.rstrip() == drawn[row].rstrip()
    assert drawn[-1].endswith(f"\x1b[{area.y + 1};{area.x + 1}H")
    if rows >= 12:
        assert drawn[0].rstrip() == " jackdaw" == seen[0][:8]


def test_its_colours_are_the_themes() -> None:
    assert {
        theme.name: (theme.background, theme.surface, theme.primary, theme.variables["quiet"]) for theme in THEMES
    } == COLOURS


def test_without_colours_it_draws_in_the_terminals_own(start: Start) -> None:
    app = start("time.sleep(60)", NO_COLOR="1")
    app.awaits(OPENING)
    assert not re.search(r"\x1b\[[\d;]*[34]8;", app.written)


def test_it_imports_the_standard_library_alone() -> None:
    code = (
        "import sys; before = set(sys.modules); import device_app.tui.opening; "
        "print(*{name.partition('.')[0] for name in set(sys.modules) - before} - sys.stdlib_module_names)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == {"device_app", "shared"}  # what switches telemetry off comes before anything


def test_the_first_screen_imports_no_database_and_no_search() -> None:
    later = {"json", "sqlite3", "sqlite_utils", "numpy", "device_app.english.query", "device_app.english.lexicon"}
    code = f"import sys, device_app.tui.run; print(*sorted({later!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not done.stdout.split()


async def test_the_first_screen_on_a_home_that_is_up_to_date_needs_no_sqlite_utils(
    person: Any, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sqlite_utils", None)
    async with person.at(120, 40):
        await person.until(lambda: "sk about your files" in person.sees())
