"""Runs the app with data of its own, a fake engine and embedder, and a stopped clock."""

import asyncio
import inspect
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from textual import _wait
from textual.events import Key
from textual.pilot import Pilot
from textual.widgets import Input

from device_app.cli import run
from device_app.commands.opening import MakeDevice
from device_app.tui.app import JackdawApp
from device_app.tui.cache.suggestions import Suggestions
from device_app.tui.chat.screen import ChatScreen
from models.catalog import Weights
from storage import conversations
from storage.conversations import ConversationStore
from storage.database import Database
from storage.paths import Paths
from tests.devices import fake_device

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
DRILL = "Who has the blue drill?"
PHONE = pytest.mark.parametrize("size", [(40, 20)], ids=["40x20"])
SIZES = pytest.mark.parametrize("size", [(40, 20), (80, 24), (120, 40)], ids=["40x20", "80x24", "120x40"])
"""Sizes for screens whose layout depends on the size; all others are tested at a phone's size, the tightest."""

# After each key, Textual waits until this process is idle; its checks, each 20 ms apart, add up over all tests.
_wait.SLEEP_GRANULARITY = 1 / 250
_wait.SLEEP_IDLE = _wait.SLEEP_GRANULARITY / 10


@pytest.fixture(autouse=True)
def paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Paths:
    for variable in [name for name in os.environ if name.startswith(("JACKDAW_", "TEXTUAL_"))]:
        if variable != "TEXTUAL_SNAPSHOT_TEMPDIR":
            monkeypatch.delenv(variable)
    for variable in ("NO_COLOR", "COLUMNS", "LINES"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("JACKDAW_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    monkeypatch.setattr("textual.constants.TEXTUAL_ANIMATIONS", "none")
    monkeypatch.setattr("device_app.tui.chat.asking.LATE_S", 0.0)
    monkeypatch.setattr("device_app.tui.keyed.READ_S", 0.0)
    monkeypatch.setattr(Weights, "state", lambda *_: "present")
    monkeypatch.setattr(Weights, "path", lambda *_: tmp_path)
    monkeypatch.setattr(Weights, "adapter", lambda *_: None)
    return Paths.locate(os.environ)


@pytest.fixture
def notes(tmp_path: Path, paths: Paths) -> Path:
    """A folder of notes that the device has read."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "drill.md").write_text("# Tools\n\nAnna has the old saw.\n\nPetra has borrowed the blue drill.")
    (folder / "dentist.md").write_text("# Teeth\n\nThe dentist is on Tuesday 14 March at nine.")
    assert run(["add", str(folder)], fake_device) == 0
    return folder


@pytest.fixture
def store(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> Iterator[ConversationStore]:
    """The stored conversations; a new turn is dated an hour before the app's clock, and each further turn a minute
    earlier.
    """
    minutes = iter(range(100_000))
    monkeypatch.setattr(conversations, "_now", lambda: f"2026-11-21T{10 - next(minutes) // 60 % 10:02}:00:00+00:00")
    paths.create()
    database = Database(paths.database)
    yield ConversationStore(database)
    database.close()


class Person:
    """A simulated user at the keyboard of the app."""

    def __init__(self) -> None:
        self.make: MakeDevice = fake_device
        self.app = self.new_app()
        self.pilot: Pilot[None]
        self._messages: list[str] = []

    def new_app(self) -> JackdawApp:
        """Return another app over the same data."""
        return JackdawApp(dict(os.environ), lambda: NOW, make=self.make)

    @asynccontextmanager
    async def at(self, columns: int = 80, rows: int = 24) -> AsyncIterator["Person"]:
        """Run the app on a terminal of this size, and wait until it has started."""
        self.app = self.new_app()
        self._listen()
        async with self.app.run_test(size=(columns, rows), notifications=True) as self.pilot:
            await self.settled()
            yield self

    @property
    def chat(self) -> ChatScreen:
        """The app's chat screen."""
        screen = self.app.screen_stack[0]
        assert isinstance(screen, ChatScreen)
        return screen

    async def until(self, holds: Callable[[], Any]) -> None:
        """Wait until `holds()` is true."""
        async with asyncio.timeout(60):  # a busy machine takes its time
            await self.pilot.pause()
            while not holds():
                await asyncio.sleep(0.01)
                await self.pilot.pause()
        await self.pilot.pause()

    async def settled(self) -> None:
        """Wait until the app is ready and has no work left."""
        ends = ("ready", "no model yet", "something failed")
        await self.until(
            lambda: self.chat.status.doing in ends and all(each.is_loaded for each in self.chat.query(Suggestions))
        )

    async def sends(self, text: str) -> None:
        """Type a text and press Enter."""
        self.chat.composer.begin(text)
        await self.pilot.pause()
        await self.pilot.press("enter")
        await self.pilot.pause()

    async def asks(self, text: str) -> None:
        """Ask a question, and wait for the answer."""
        await self.sends(text)
        await self.settled()

    async def presses(self, *keys: str) -> None:
        """Press keys, and wait until the app has processed them."""
        await self.pilot.press(*keys)
        await self.until(lambda: not self.chat.transcript.holds)

    def sees(self) -> str:
        """Return the text on the screen."""
        return "\n".join(
            "".join(segment.text for segment in strip) for strip in self.app.screen._compositor.render_strips()
        )

    def _listen(self) -> None:
        self._messages, notify = [], self.app.notify

        def noted(message: str, **how: Any) -> None:
            self._messages.append(message)
            notify(message, **how)

        self.app.notify = noted  # type: ignore[method-assign]

    def messages(self) -> list[str]:
        """Return the texts of all notifications so far."""
        return self._messages


@pytest.fixture
def person(paths: Paths) -> Person:
    return Person()


@pytest.fixture
def looks(snap_compare: Callable[..., bool], person: Person) -> Callable[..., bool]:
    """Returns a function that runs some steps, and compares a picture of the app with the stored one."""

    def compare(size: tuple[int, int], steps: Callable[[Any], Awaitable[None]] | None = None) -> bool:
        async def before(pilot: Pilot[None]) -> None:
            person.pilot = pilot
            await person.settled()
            if steps:
                await steps(person)
            for field in person.app.screen.query(Input):
                field.cursor_blink = False
            await pilot.pause()
            await asyncio.sleep(0.05)
            await pilot.pause()

        person.app = person.new_app()
        return snap_compare(person.app, terminal_size=size, run_before=before)

    return compare


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run tests that are coroutines."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}))
    return True


@pytest.fixture
def record() -> Callable[..., dict[str, Any]]:
    return _record


def _record(question: str, answer: str, **different: Any) -> dict[str, Any]:
    """Return the record of an answer from one passage, as `ask --json` prints it."""
    steps = {"look up": 2.0, "retrieve": 19.0, "load": 0.4, "prefill": 88.0, "decode": 410.0, "evidence": 31.0}
    source = {
        "id": 1,
        "number": 1,
        "path": "/home/runa/notes/drill.md",
        "line": 3,
        "page": None,
        "date": "2026-03-14T00:00:00",
        "title": "Tools",
        "copies": [],
        "snippet": "Anna has the old saw. Petra has borrowed the blue drill.",
        "score": 0.97,
        "similarity": 0.81,
        "side": "device",
    }
    return {
        "answer": answer,
        "found": True,
        "abstained": False,
        "cut": False,
        "origin": "device",
        "sources": [
            source,
            {**source, "number": 2, "id": 2, "title": "Petra Križman, the neighbour on the first floor"},
        ],
        "evidence": {"source": 1, "sentence": "Petra has borrowed the blue drill.", "share": 0.9},
        "support": "proven",
        "cache": {
            "qa": {"hit": False, "similarity": None, "matched": None, "answered_at": None},
            "kv": {"segments_cached": 1, "tokens_cached": 60, "tokens_prefilled": 140},
        },
        "trace": {
            "ttft_ms": 112.0,
            "total_ms": 551.0,
            "steps": [{"name": name, "ms": ms} for name, ms in steps.items()],
            "tokens": 17,
        },
        "egress": {"bytes": 0, "items": []},
        "model": "smollm2-135m",
        "conversation": 1,
        **different,
    }


def burst(person: Any, text: str) -> None:
    """Keys as a fast typist or a slow terminal sends them: all at once."""
    for sign in text:
        key = {" ": "space", "\n": "enter", "?": "question_mark", "/": "slash"}.get(sign, sign)
        person.app.post_message(Key(key, "\r" if sign == "\n" else sign))
