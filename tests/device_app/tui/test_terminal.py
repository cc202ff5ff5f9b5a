"""The program on a real terminal, checked by the bytes that it writes."""

import os
import re
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from storage.conversations import ConversationStore

APP = "from device_app.cli import main; main()"
SLOW = """
import time
from pathlib import Path
from device_app.device import Device
from device_app.inference.local import LocalSource
from models.catalog import Weights
from models.fake import FakeEmbedder, FakeEngine
from shared.prompt import CHATML
from functools import partial
from models.fake import FakeEngine
from tests.devices import fake_device
class Slow(FakeEngine):
    def decode(self, tokens):
        time.sleep(0.1)
        return super().decode(tokens)
from device_app.cli import main; main(partial(fake_device, engine=Slow))
"""
HOSTILE = "\x1b]52;c;T1dORUQ=\x07\x1b[2J\x1b]0;owned\x07\x9b5mat the end"
PROMPT = "sk about your files"
Start = Callable[..., Any]


@pytest.fixture
def start(terminal: Start) -> Start:
    """Starts the app."""
    return lambda *arguments, program=APP, **environment: terminal(
        [sys.executable, "-c", program, *arguments], os.environ | {"PYTHONPATH": str(Path.cwd())} | environment
    )


def test_it_opens_and_leaves_the_terminal_as_it_was(start: Start) -> None:
    app = start()
    app.awaits(PROMPT)
    app.types("\x11")
    assert app.ends() == 0
    assert app.written.rfind("\x1b[?1049l") > app.written.rfind("\x1b[?1049h") >= 0
    assert "\x1b[?1000h" in app.written


def test_without_mouse_and_colours_it_sends_none(start: Start) -> None:
    app = start("--no-mouse", NO_COLOR="1")
    app.awaits(PROMPT)
    app.types("\x11")
    app.ends()
    assert "\x1b[?1000h" not in app.written
    colours = set(re.findall(r"38;2;(\d+);(\d+);(\d+)", app.written))
    assert all(len(set(colour)) == 1 for colour in colours)


def test_no_escape_of_an_answer_reaches_the_terminal(start: Start, store: ConversationStore, record: Any) -> None:
    facts = record(HOSTILE, HOSTILE)
    facts["sources"][0]["title"] = HOSTILE
    store.write(store.begin(HOSTILE).id, HOSTILE, facts)
    app = start()
    app.awaits(PROMPT)
    app.types("\x0f")
    app.awaits("2 h ago|1 turn")
    app.types("\r")
    app.awaits("nothing left this device")
    app.types("\x11")
    app.ends()
    assert "T1dORUQ=" in app.written
    for escape in ("\x1b]52", "\x1b[2J", "\x1b]0", "\x9b"):
        assert escape not in app.written, escape


def test_a_killed_app_leaves_what_was_written_marked(start: Start, notes: Path, store: ConversationStore) -> None:
    app = start(program=SLOW)
    app.awaits("ready")
    app.types("Who has the blue drill?\r")
    app.until(lambda: store.count() and store.turns(1)[0].answer.startswith("Petra"))
    app.ends(signal.SIGKILL)
    (turn,) = store.turns(1)
    assert not turn.complete
    assert "Petra has borrowed the blue drill.".startswith(turn.answer)
    again = start(program=SLOW)
    again.awaits("ready")
    again.types("\x0f")
    again.awaits("1 turn")
    again.types("\r")
    again.awaits("stopped before its end")
    assert "Petra" in again.written


@pytest.mark.long
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGHUP, None])
def test_whoever_ends_it_terminal_and_store_are_left_whole(
    start: Start, notes: Path, store: ConversationStore, how: signal.Signals | None
) -> None:
    app = start(program=SLOW)
    app.awaits("ready")
    app.types("Who has the blue drill?\r")
    app.awaits("Petra")
    code = app.hangs_up() if how is None else app.ends(how)
    assert code == 128 + (how or signal.SIGHUP)
    if how:
        for mode in ("\x1b[?1049l", "\x1b[?25h", "\x1b[?1003l", "\x1b[?2004l"):
            assert app.written.rfind(mode) > app.written.rfind(mode.translate({ord("l"): "h", ord("h"): "l"}))
    (turn,) = store.turns(1)
    assert turn.answer
    assert not turn.complete
    assert store.database.problems() == []


@pytest.mark.parametrize("key", ["", "\x1a"])
def test_suspended_it_gives_the_terminal_back_and_paints_anew(start: Start, key: str) -> None:
    app = start()
    app.awaits(PROMPT)
    app.settles()
    if key:
        app.types(key)
    else:
        app.signals(signal.SIGTSTP)

    def painted() -> bool:
        return PROMPT in re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", app.written.rpartition("\x1b[?1049l")[2])

    app.until(lambda: "\x1b[?1049l" in app.written)
    # Where nobody could continue it, the system stops no process: it paints anew by itself.
    app.until(lambda: app.stopped or painted())
    if app.stopped:
        app.signals(signal.SIGCONT)
    app.until(painted)
    app.types("\x11")
    assert app.ends() == 0
