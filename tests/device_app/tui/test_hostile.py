"""Malicious text on a real terminal: on all screens, the app writes only the escape sequences that it intends."""

import os
import re
import sys
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.segment import Segment
from textual.color import Color

from device_app.ahead.daemon import Status
from device_app.ahead.work import Step
from device_app.cli import run
from device_app.tui.harmless import Harmless
from storage.conversations import ConversationStore
from storage.paths import Paths
from storage.private import write_private
from tests.devices import fake_device

EVIL = (
    "\x1b]52;c;T1dORUQ=\x07 \x1b]8;;evil:x\x1b\\link \x1b[2J\x1b[5m\x1b]0;owned\x07\x1bPq#0~\x1b\\\x1b_G=\x1b\\ "
    "\x9b5m\x9d0;c1\x9c \u202egnp.exe\u2069 in\u200bvis\u2060ible\U000e0041 \x07\x08\x0b\x0c\x0e\x7f end"
)
NAME = EVIL.replace("/", "") + "\udcff"  # no UTF-8
PROGRAM = f"""
from pathlib import Path
from device_app.device import Device
from device_app.inference.local import LocalSource
from models import fake
from tests.devices import fake_device
ANSWER = {("**Petra** has the blue drill. " + EVIL)!r}.encode()
def following(held):
    said = bytes(token if token < fake.END else 0 for token in held).rpartition(b"assistant\\n")[2]
    return ANSWER[len(said)] if len(said) < len(ANSWER) else fake.END
fake._next = following
from device_app.cli import main; main(fake_device)
"""
MEANT = re.compile(
    r"\x1b(\[((0|1|2|3|4|7|9|22|[34]8;2;\d+;\d+;\d+)(;|(?=m)))+m|\[\d+;\d+H|\[<u|\[>\d+u"
    r"|\[\?(7|25|100[0346]|101[56]|1049|2004|2026|2048)[hl]|\[\?(2026|2048)\$p"
    r"|\]22;[a-z-]+\x07|\]52;c;(?!T1dORUQ=)[A-Za-z0-9+/=]+\x07)"
)
"""The escape sequences that the app intends to write: styles, positions, modes, the pointer's shape, and copied text in
base64.
"""

ESCAPE, ENTER = "\x1b", "\r"
PASTED = f"\x1b[200~{EVIL.replace(ESCAPE, '')}\x1b[201~"
"""A malicious text as a terminal sends it when it is pasted: without ESC, which terminals remove."""
WALK = (
    ("Who has the blue drill?", "drill"),
    (PASTED, r"drill\?\]52"),
    (ENTER, "nothing left this device"),
    ("\x1b[Z", "y copy"),
    ("y", "answer is copied"),
    ("1", "Source 1 of"),
    ("y", "passage is copied"),
    ("q", "y copy"),
    ("w", "Why this answer"),
    ("q", "y copy"),
    (ESCAPE, r"\^n new"),
    ("/export pdf" + ENTER, "Choose a format"),
    ("/conversations end" + ENTER, r"\*\*Petra"),
    ("\x0e", "your own files"),
    ("/knowledge" + ENTER, "unreadable"),
    (ENTER, "broken PDF"),
    (ENTER, "could not be read"),
    ("\x1b[B" + ENTER, "Passages"),
    ("q", "Esc back"),
    ("d", "Press y"),
    ("a", "~/"),
    (PASTED, r"~/\]52"),
    (ENTER, "There is no file"),
    (ESCAPE, "remove"),
    (ESCAPE, "unreadable"),
    (ESCAPE, "ready"),
    ("/cache" + ENTER, "Background work"),
    ("l", "Megabytes"),
    (PASTED + ENTER, "is not a limit"),
    (ESCAPE, "w work now"),
    ("a", "asked"),
    (ENTER, "If you asked this question now"),
    ("q", "Enter opens"),
    (PASTED, r"with “\]52"),
    (ESCAPE, "1 question"),
    ("\t", "reused"),
    (ENTER, "reused   +1 time"),
    ("q", "reused 1 time"),
    (ESCAPE, "ready"),
    ("/settings temperature" + ENTER, "likeliest"),
    (ENTER, "Enter saves"),
    (PASTED + ENTER, "cannot be"),
    (ESCAPE, "Enter edits"),
    (PASTED, "No setting"),
    (ESCAPE, "sections|model"),
    (ESCAPE, "ready"),
    ("/model \x1b[200~\x9b5m\x9d0;c1\x9c\x1b[201~" + ENTER, "There is no model"),
    (ESCAPE, "ready"),
    ("/private" + ENTER, "left this device"),
    ("q", "ready"),
    ("/help" + ENTER, "Where you write"),
    ("q", "ready"),
    ("\x10", "Search for"),
    (PASTED, r"\]52"),
)
"""The steps of the test through all screens: pairs of what is typed and what the app then shows.

No pattern matches what else is on the screen, which may be drawn again before or after the step. Of a pasted text, the
beginning is awaited: a field takes only the first line.
"""


def unmeant(written: str) -> list[str]:
    """Return the surroundings of each harmful control character that is not part of an intended escape sequence."""
    rest = MEANT.sub("", written)
    return [rest[max(place - 9, 0) : place + 30] for place, sign in enumerate(rest) if _is_harmful(sign)]


def _is_harmful(sign: str) -> bool:
    # Joiners are needed, and signs of Arabic, Syriac and Kaithi that stand before a number are visible.
    before_numbers = "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
    is_meant = sign in f"\r\n\u200d\u200c{before_numbers}"
    return unicodedata.category(sign) in ("Cc", "Cf", "Cs") and not is_meant


@given(st.text())
def test_nothing_that_is_drawn_steers_the_terminal(text: str) -> None:
    (drawn,) = Harmless().apply([Segment(text)], Color(0, 0, 0))
    assert not unmeant(drawn.text)
    assert not {"\n", "\t"} & set(drawn.text)


def test_the_harm_in_this_text_would_be_seen() -> None:
    assert unmeant("\x1b[0mfine\x1b[1;38;2;1;2;3m\x1b]52;c;YQ==\x07\x1b[2;3H") == []
    assert len(unmeant(EVIL)) > 20
    for sequence in ("\x1b[5m", "\x1b[2J", "\x1b]52;c;T1dORUQ=\x07", "\x1b]0;x\x07", "\x1b]8;;x\x1b\\", "\x1bPq\x1b\\"):
        assert unmeant(sequence), sequence


@pytest.fixture
def foreign(tmp_path: Path, paths: Paths, store: ConversationStore, record: Any) -> None:
    """Put malicious text into everything that comes from outside: files and their names, mails, conversations, cached
    answers.
    """
    folder = tmp_path / NAME
    folder.mkdir()
    mail = f"From: {EVIL} <a@b.example>\nSubject: {EVIL}\nDate: Mon, 2 Mar 2026 10:00:00 +0000\n\nPetra: {EVIL} drill"
    note = f"# {EVIL}\n\nPetra has borrowed the blue drill {EVIL}"
    for ending, text in ((".eml", mail), (".md", note), (".pdf", EVIL)):
        (folder / f"{NAME}{ending}").write_text(text)
    assert run(["add", str(folder)], fake_device) == 0
    facts = record(EVIL, EVIL)
    facts["sources"][0] |= {"title": EVIL, "path": EVIL, "snippet": EVIL}
    store.write(store.begin(EVIL).id, EVIL, facts)
    step = Step(EVIL, EVIL, EVIL, 1, 1, 1.0)
    write_private(paths.daemon_status, msgspec.json.encode(Status(4711, "waiting", EVIL, step)).decode())


@pytest.mark.long
def test_no_byte_of_foreign_text_steers_the_terminal(terminal: Callable[..., Any], foreign: None) -> None:
    environment = os.environ | {"PYTHONPATH": str(Path.cwd())}
    app = terminal([sys.executable, "-c", PROGRAM], environment, columns=120, rows=40)
    app.awaits("ready")
    for keys, seen in WALK:
        app.types(keys)
        app.awaits(seen)
        app.settles()
    app.types("\x11")
    assert app.ends() == 0
    assert unmeant(app.written) == []
    assert app.written.count("T1dORUQ=") > 20
