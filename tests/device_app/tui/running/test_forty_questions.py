"""Forty questions of every kind at each of three sizes: each key that is typed between them or while an answer comes is
seen at once, and each answer appears.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from device_app.cli import run
from shared.prompt import NOT_FOUND
from storage.conversations import ConversationStore

Start = Callable[..., Any]

SIZES = ((40, 20), (80, 24), (120, 40))
ECHO_S = 3.0
"""In which a key has to be seen: far more than it takes on a loaded machine, and nothing beside a freeze."""

PROMPT = "sk about your"
LETTERS = "ξψζδφβγλθ"
"""Nothing else on the screen holds them: what shows one is the echo of its key."""

TOPICS = ("quay", "loft", "ferry", "orchard", "cellar", "belfry", "jetty", "paddock")
"""Of the first, one thing is said, of the second two, and so on."""

QUOTED = tuple((f"What was said about the {topic}?", f"{topic}{count}") for count, topic in enumerate(TOPICS, 1))
ANSWERED = "● "
QUESTIONS = (
    *QUOTED,
    ("Summarize the discussion about the jetty", "jetty7"),
    ("Give me a short summary of the talk about the orchard", "orchard4"),
    ("What did we talk about on 14 March 2026?", ANSWERED),
    ("Who has the blue drill?", "Petra"),
    ("Who has the old saw?", "saw"),
    ("When is the dentist?", "Tuesday"),
    ("And the saw?", ANSWERED),
    ("What about the dentist?", ANSWERED),
    ("Who has the blue drill?", "answered before"),
    ("from:anna what about the keys?", ANSWERED),
    ("in:mail after:2026-03 the drill", ANSWERED),
    ("What happened on 14 March 2026?", ANSWERED),
    ("What is on tomorrow?", ANSWERED),
    ("Hi", "nothing found"),
    ("thanks!", ANSWERED),
    ("2+2", ANSWERED),
    ("What did my zither cost?", "no answer"),
    ("Where is Atlantis?", "nothing found"),
    ("qwertz uiop asdf", ANSWERED),
    ("\x1b[200~Who has the drill " + "that is blue and long " * 120 + "\x1b[201~", "nothing found"),
    ("Wer hat die blaue Bohrmaschine? 🐦 naïve — 漢字 e\u0301", ANSWERED),
    ("من لديه المثقاب؟", ANSWERED),
    ("**bold** `code` <b>html</b> [link](http://localhost)", ANSWERED),
    ("Who has the blue drill, then?", "Petra"),
    ("/regen", ANSWERED),
    ("/why", "Why this answer"),
    ("/sources 1", "Source 1 of"),
    ("/copy", "copied"),
    ("/search drill", "drill"),
    ("/nonsense", "nonsense"),
    ("/new", "answers from your"),
    ("What was said about the paddock?", "paddock8"),
)
assert len(QUESTIONS) == 40

WINDOWS = ("/why", "/sources 1", "/search drill")
"""What opens a window, in which letters are keys."""


@pytest.fixture
def life(notes: Path, tmp_path: Path) -> None:
    """Files that hold answers of every kind."""
    folder = tmp_path / "talks"
    folder.mkdir()
    for count, topic in enumerate(TOPICS, 1):
        lines = [f"The {topic} needs {topic}{number} urgently." for number in range(1, count + 1)]
        (folder / f"{topic}.md").write_text(f"# {topic.capitalize()}\n\n" + "\n\n".join(lines))
    (folder / "zither.md").write_text(f"# My zither\n\nWhat it cost, my zither.\n\n{NOT_FOUND}")
    (folder / "2026-03-14.md").write_text("# 14 March 2026\n\nWe walked to the lighthouse on that Saturday.")
    assert run(["add", str(folder)]) == 0


class Typist:
    """Types letters that are seen at once, and questions."""

    def __init__(self, app: Any) -> None:
        self._app = app

    def asks(self, question: str, awaited: str) -> None:
        """Ask, type while it is answered and afterwards, see the answer, and clear what was typed."""
        self._types(LETTERS[:2])
        self._sees("\x15", PROMPT, ECHO_S)
        begin = len(self._app.written)
        self._app.types(f"{question}\r")
        if question not in WINDOWS:
            self._types(LETTERS[:3])
        self._until(begin, awaited, 30.0, question)
        if question in WINDOWS:
            self._app.types("\x1b")
            time.sleep(0.3)  # a key that follows Esc at once is taken for a key with Alt
            self._app.settles()
        self._types(LETTERS[3:6])
        self._sees("\x15", PROMPT, ECHO_S)

    def _types(self, letters: str) -> None:
        for letter in letters:
            self._sees(letter, letter, ECHO_S)

    def _sees(self, keys: str, awaited: str, within_s: float) -> None:
        begin = len(self._app.written)
        self._app.types(keys)
        self._until(begin, awaited, within_s, keys)

    def _until(self, begin: int, awaited: str, within_s: float, typed: str) -> None:
        end = time.monotonic() + within_s
        self._app.until(lambda: awaited in self._app.written[begin:] or time.monotonic() > end)
        assert awaited in self._app.written[begin:], f"no {awaited!r} after {typed[:60]!r}"


@pytest.mark.parametrize(("columns", "rows"), SIZES)
def test_no_question_freezes_it(start: Start, life: None, store: ConversationStore, columns: int, rows: int) -> None:
    app = start(columns=columns, rows=rows)
    app.awaits("ready")
    typist = Typist(app)
    for question, awaited in QUESTIONS:
        typist.asks(question, awaited)
    assert store.count()
    app.types("\x11")
    assert app.ends() == 0
