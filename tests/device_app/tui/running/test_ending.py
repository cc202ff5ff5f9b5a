"""SIGTERM, SIGHUP, a closed terminal or Ctrl-Q end the app, whatever it is doing; terminal and store are undamaged."""

import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from storage.conversations import ConversationStore
from tests.device_app.tui.running.conftest import BEFALL

Start = Callable[..., Any]

PROMPT = "sk about your files"
UNSEEN = "from device_app.tui.running import pumps; pumps.died = lambda _: None; ending.LOOP_LOOKS = 1_000_000"
"""Code that turns off the check for a hung app, so that only the tested signal or key ends it."""

CLOSING = """
    import sys
    def closes(app):
        print("closing", file=sys.__stderr__, flush=True)
        time.sleep(0.6)
        print("closed", file=sys.__stderr__, flush=True)
        app.parts.close()
    JackdawApp.on_unmount = closes
"""
"""Code that makes the app take some time to close, and print when it begins and ends closing."""

MOMENTS = {
    "the import": ("pass", "[time.sleep(0.05) for _ in range(10_000)]", "opening …", ""),
    "a destructor during the import": (
        "pass",
        "type('D', (), {'__del__': lambda self: time.sleep(2)})(); [time.sleep(0.05) for _ in range(10_000)]",
        "opening …",
        "",
    ),
    "the start": ("pass", "pass", "opening …", ""),
    "the model's load": ("pass", "global loads; loads = lambda: time.sleep(600)", "loading the model", ""),
    "a window": ("pass", UNSEEN, "ready", "/help\r"),
    "a quoted answer": ("pass", UNSEEN, "ready", "What was said about the blue drill?\r"),
    "a dead screen": ("raise asyncio.CancelledError", UNSEEN, "ready", BEFALL),
    "a deaf screen": ("await asyncio.Event().wait()", UNSEEN, "ready", BEFALL),
    "a deaf app": ("app.call_later(asyncio.Event().wait)", UNSEEN, "ready", BEFALL),
    "a stuck event loop": ("time.sleep(600)", UNSEEN, "ready", BEFALL),
    "an event loop that spins": ("[None for _ in iter(int, 1)]", UNSEEN, "ready", BEFALL),
    "a thread that never ends": ("asyncio.create_task(asyncio.to_thread(time.sleep, 600))", UNSEEN, "ready", BEFALL),
}  # fmt: skip
_LONG = [pytest.mark.long]
STUCK = ("a deaf screen", "an event loop that spins", "a deaf app", "a stuck event loop")
"""The cases in which ending the app takes seconds.

The default run ends the first two by the key and the others by a signal.
"""


def _at(start: Start, moment: str) -> Any:
    befall, preparation, seen, typed = MOMENTS[moment]
    app = start(befall, preparation)
    app.awaits(seen)
    app.types(typed)
    if typed == BEFALL:
        app.settles()
    return app


def _is_whole(app: Any, store: ConversationStore) -> None:
    assert app.echoes
    for mode in ("\x1b[?1049l", "\x1b[?25h", "\x1b[?1003l", "\x1b[?2004l"):
        if (on := mode.translate({ord("l"): "h", ord("h"): "l"})) in app.written:
            assert app.written.rfind(mode) > app.written.rfind(on)
    assert store.database.problems() == []


@pytest.mark.long
@pytest.mark.parametrize(
    ("moment", "how"),
    [
        *(pytest.param(moment, signal.SIGTERM, marks=_LONG if moment in STUCK[:2] else ()) for moment in MOMENTS),
        *((moment, signal.SIGHUP) for moment in ("the import", "the start", "a quoted answer", "a stuck event loop")),
    ],
)
def test_a_signal_ends_it(
    start: Start, store: ConversationStore, notes: Path, moment: str, how: signal.Signals
) -> None:
    app = _at(start, moment)
    assert app.ends(how) == 128 + how
    _is_whole(app, store)


@pytest.mark.parametrize(
    "moment", [pytest.param(moment, marks=_LONG if moment in STUCK[1:] else ()) for moment in MOMENTS][2:]
)
def test_the_key_ends_it(start: Start, store: ConversationStore, notes: Path, moment: str) -> None:
    app = _at(start, moment)
    app.types("\x11")
    is_deaf = moment in ("a deaf screen", "a deaf app", "a stuck event loop", "an event loop that spins")
    assert app.ends() == (1 if is_deaf else 0)
    assert ("The app did not end when it was asked to" in app.written) == is_deaf
    _is_whole(app, store)


@pytest.mark.long
@pytest.mark.parametrize("moment", ["the start", "a window", "a dead screen", "a stuck event loop"])
def test_a_terminal_that_is_closed_ends_it(start: Start, store: ConversationStore, notes: Path, moment: str) -> None:
    assert _at(start, moment).hangs_up() == 128 + signal.SIGHUP
    assert store.database.problems() == []


def test_ctrl_c_ends_what_is_still_being_imported(start: Start) -> None:
    app = _at(start, "the import")
    app.types("\x03")
    assert app.ends() == 130
    assert app.echoes


@pytest.mark.long
@pytest.mark.parametrize(("how", "code"), [("\x11", 0), (signal.SIGTERM, 128 + signal.SIGTERM)])
def test_a_process_that_is_stopped_while_it_ends_ends_in_an_orderly_way(
    start: Start, store: ConversationStore, notes: Path, how: str | signal.Signals, code: int
) -> None:
    app = start(preparation=CLOSING)
    app.awaits("ready")
    app.types(how) if isinstance(how, str) else app.signals(how)
    app.awaits("closing")
    app.signals(signal.SIGSTOP)
    time.sleep(2.5)  # more than the hurried looks allow
    app.signals(signal.SIGCONT)
    app.awaits("closed")
    assert app.ends() == code
    assert "The app did not end" not in app.written
    _is_whole(app, store)
