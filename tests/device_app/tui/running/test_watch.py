"""A message pump that has died or does not react, and a stuck event loop, end the app with a message and a restored
terminal; high load does not.
"""

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from storage.conversations import ConversationStore
from storage.paths import Paths
from tests.device_app.tui.running.conftest import BEFALL

Start = Callable[..., Any]
DEATHS = {
    "raise asyncio.CancelledError": "The message loop of ChatScreen has ended",
    "app._chat.title_bar._task.cancel()": "The message loop of TitleBar has ended",
    "app.call_later(cancelled)": "The message loop of the app has ended",
    "await asyncio.Event().wait()": "ChatScreen no longer handles messages",
    "app.call_later(asyncio.Event().wait)": "JackdawApp no longer handles messages",
    "time.sleep(600)": "The event loop was stuck in befall",
    "threading.Event().wait()": "The event loop was stuck in ",
    "[None for _ in iter(int, 1)]": "The event loop was stuck in ",
}


@pytest.mark.long
@pytest.mark.parametrize(("befall", "fault"), DEATHS.items())
def test_what_no_longer_works_is_named_on_a_terminal_that_is_whole(
    start: Start, store: ConversationStore, paths: Paths, notes: Path, befall: str, fault: str
) -> None:
    app = start(befall)
    app.awaits("ready")
    app.types("Who has the blue drill?\r")
    app.awaits("nothing left this device")
    app.types(BEFALL)
    assert app.ends() == 1
    shown = app.written.rpartition("\x1b[?1049l")[2]
    assert f"jackdaw: {fault}" in shown
    assert "Your conversations are kept. Run `jackdaw` again" in shown
    assert str(paths.app_report) in shown.replace("\r\n", "")
    assert fault in paths.app_report.read_text()
    assert "Thread MainThread:" in paths.app_report.read_text()
    assert "blue drill" not in paths.app_report.read_text()
    assert app.echoes
    for mode in ("\x1b[?1049l", "\x1b[?25h", "\x1b[?1003l", "\x1b[?2004l"):
        assert app.written.rfind(mode) > app.written.rfind(mode.translate({ord("l"): "h", ord("h"): "l"}))
    (turn,) = store.turns(1)
    assert turn.complete
    assert store.database.problems() == []


@pytest.mark.long
def test_neither_sleep_nor_many_keys_nor_a_loaded_machine_raises_an_alarm(start: Start, notes: Path) -> None:
    app = start()
    app.awaits("ready")
    app.signals(signal.SIGSTOP)
    time.sleep(2.5)  # more than any of the hurried looks allow
    app.signals(signal.SIGCONT)
    app.awaits("sk about your files")
    burning = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(8)]
    try:
        end = time.monotonic() + 3.0
        while time.monotonic() < end:
            app.types("ξ")
            app.awaits("ξ")
    finally:
        for process in burning:
            process.kill()
            process.wait()
    app.types("\x15Who has the blue drill?\r")
    app.awaits("nothing left this device")
    app.types("many keys at once " * 30 + "ψ")
    app.awaits("ψ")
    app.types("\x11")
    assert app.ends() == 0
    assert app.echoes
