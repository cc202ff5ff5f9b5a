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
from tests.devices import fake_device

Start = Callable[..., Any]

SIZES = ((40, 20), *(pytest.param(*size, marks=pytest.mark.long) for size in ((80, 24), (120, 40))))
ECHO_S = 3.0
"""The time within which a key must be seen: more than a loaded machine needs, and far less than a freeze lasts."""
ANSWER_S = 30.0

PROMPT = "sk about your"
LETTERS = "ξψζδφβγλθ"
"""Letters that appear nowhere else on the screen, so that a letter shown is the echo of its key."""

TOPICS = ("quay", "loft", "ferry", "orchard", "cellar", "belfry", "jetty", "paddock")
"""The topics of the files: the file about the first topic has one statement, the file about the second has two, and so
on.
"""

QUOTED = tuple((f"What was said about the {topic}?", f"{topic}{count}") for count, topic in enumerate(TOPICS, 1))
NOTHING = "nothing found"
PASTE, END_OF_PASTE = "\x1b[200~", "\x1b[201~"
QUESTIONS = (
    *QUOTED,
    ("Summarize the discussion about the jetty", "jetty7"),
    ("Give me a short summary of the talk about the orchard", "orchard4"),
    ("What did we talk about on 14 March 2026?", "lighthouse"),
    ("Who has the blue drill?", "Petra"),
    ("Who has the old saw?", "Petra"),
    ("When is the dentist?", "Tuesday"),
    ("And the saw?", "no answer"),
    ("What about the dentist?", "no answer"),
    ("Who has the blue drill?", "answered before"),
    ("from:anna what about the keys?", NOTHING),
    ("in:mail after:2026-03 the drill", NOTHING),
    ("What happened on 14 March 2026?", "lighthouse"),
    ("What is on tomorrow?", NOTHING),
    ("Hi", "Hello!"),
    ("thanks!", "You're welcome"),
    ("2+2", "= 4"),
    ("What did my zither cost?", "no answer"),
    ("Where is Atlantis?", NOTHING),
    ("qwertz uiop asdf", NOTHING),
    (f"{PASTE}Who has the drill {'that is blue and long ' * 120}{END_OF_PASTE}", NOTHING),
    ("Wer hat die blaue Bohrmaschine? 🐦 naïve — 漢字 e\u0301", NOTHING),
    ("من لديه المثقاب؟", NOTHING),
    ("**bold** `code` <b>html</b> [link](http://localhost)", NOTHING),
    ("Who has the blue drill, then?", "Petra"),
)
"""Pairs of a typed question and a text that the app shows for it, which the question does not contain."""

COMMANDS = (
    ("/regen", "Petra"),
    ("/why", "Why this answer"),
    ("/sources 1", "Source 1 of"),
    ("/copy", "copied"),
    ("/conversations tuesday", "the dentist?"),
    ("/nonsense", "There is no command"),
    ("/new", "answers from your"),
)
IN_ANOTHER_CONVERSATION = ("What was said about the paddock?", "paddock8")
INPUTS = (*QUESTIONS, *COMMANDS, IN_ANOTHER_CONVERSATION)
assert len(INPUTS) == 40
assert not any(awaited in typed for typed, awaited in INPUTS)

ASKED = [typed.removeprefix(PASTE).removesuffix(END_OF_PASTE).strip() for typed, _ in QUESTIONS]
WINDOWS = ("/why", "/sources 1", "/conversations tuesday")
"""Commands that open a window in which letters are keys rather than text."""


@pytest.fixture
def life(notes: Path, tmp_path: Path) -> None:
    """Add files with answers of every kind."""
    folder = tmp_path / "talks"
    folder.mkdir()
    for count, topic in enumerate(TOPICS, 1):
        lines = [f"The {topic} needs {topic}{number} urgently." for number in range(1, count + 1)]
        (folder / f"{topic}.md").write_text(f"# {topic.capitalize()}\n\n" + "\n\n".join(lines))
    (folder / "zither.md").write_text(f"# My zither\n\nWhat it cost, my zither.\n\n{NOT_FOUND}")
    (folder / "2026-03-14.md").write_text("# 14 March 2026\n\nWe walked to the lighthouse on that Saturday.")
    assert run(["add", str(folder)], fake_device) == 0


class Typist:
    """Types questions, commands and single letters, and checks that each letter is shown at once."""

    def __init__(self, app: Any, store: ConversationStore) -> None:
        self._app, self._store = app, store

    def asks(self, typed: str, awaited: str) -> None:
        """Type a question, or the command that answers it again; check that `awaited` is shown and that the answer is
        stored.
        """
        before = self._last_answered()
        self.enters(typed, awaited)
        end = time.monotonic() + ANSWER_S
        self._app.until(lambda: self._last_answered() > before or time.monotonic() > end)
        assert self._last_answered() > before, f"no answer is kept of {typed[:60]!r}"

    def enters(self, typed: str, awaited: str) -> None:
        """Enter a line; type letters meanwhile and afterwards; check that `awaited` is shown, and clear the input."""
        self._types(LETTERS[:2])
        self._sees("\x15", PROMPT, ECHO_S)
        begin = len(self._app.written)
        self._app.types(f"{typed}\r")
        if typed not in WINDOWS:
            self._types(LETTERS[:3])
        self._until(begin, awaited, ANSWER_S, typed)
        if typed in WINDOWS:
            self._app.types("\x1b")
            time.sleep(0.3)  # a key that follows Esc at once is taken for a key with Alt
            self._app.settles()
        self._types(LETTERS[3:6])
        self._sees("\x15", PROMPT, ECHO_S)

    def _last_answered(self) -> int:
        """The id of the last turn with a complete answer; 0 before the first."""
        return max((turn for turn, _ in self._store.questions(1)), default=0)

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


@pytest.mark.long
@pytest.mark.parametrize(("columns", "rows"), SIZES)
def test_no_question_freezes_it(start: Start, life: None, store: ConversationStore, columns: int, rows: int) -> None:
    app = start(columns=columns, rows=rows)
    app.awaits("ready")
    typist = Typist(app, store)
    for typed, awaited in INPUTS:
        is_command = (typed, awaited) in COMMANDS and typed != "/regen"
        (typist.enters if is_command else typist.asks)(typed, awaited)
    first, second = (store.turns(conversation.id) for conversation in reversed(store.recent()))
    assert [turn.question for turn in first] == ASKED
    assert [turn.question for turn in second] == [IN_ANOTHER_CONVERSATION[0]]
    assert all(turn.complete and turn.answer for turn in first + second)
    app.types("\x11")
    assert app.ends() == 0
