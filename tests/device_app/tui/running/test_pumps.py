"""If Textual lacks the private names that the check for hung parts uses, the check detects less, and the app still
runs.
"""

import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from device_app.tui.running import pumps

Start = Callable[..., Any]

OTHER_TEXTUAL = """
    import textual._context
    from textual.drivers.linux_driver import LinuxDriver
    del textual._context.message_hook, LinuxDriver._sigcont_application
"""


def test_without_the_hook_nothing_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    assert pumps.on_each_message(lambda: None)
    monkeypatch.delattr("textual._context.message_hook")
    assert not pumps.on_each_message(lambda: None)
    monkeypatch.setitem(sys.modules, "textual._context", None)
    assert not pumps.on_each_message(lambda: None)


def test_without_the_flags_no_pump_counts_as_dead() -> None:
    ended: Any = SimpleNamespace(is_running=False)
    assert pumps.died([ended]) is None
    app: Any = SimpleNamespace(return_code=None)
    assert not pumps.ended_alone(app)


def test_the_app_opens_answers_and_ends(start: Start, notes: Path) -> None:
    app = start(preparation=OTHER_TEXTUAL)
    app.awaits("ready")
    app.signals(signal.SIGSTOP)
    app.until(lambda: app.stopped)
    app.signals(signal.SIGCONT)
    app.awaits("sk about your")  # it has the terminal again: keys before that are the shell's
    app.types("Who has the blue drill?\r")
    app.awaits("nothing left this device")
    app.types("\x11")
    assert app.ends() == 0
    assert app.echoes
    assert "Traceback" not in app.written
