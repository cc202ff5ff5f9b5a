"""The speed of the terminal app in a pseudo-terminal: time to the first frame and to a key's echo, freezes, cost of a
long history.

Runs the process that users start, with the real model.
"""

import asyncio
import gc
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
from argparse import Namespace
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from scripts.benchmarks import app_echo, app_quoted
from scripts.benchmarks.app_echo import KEYS
from scripts.benchmarks.terminal import APP, COLUMNS, QUESTION, ROWS, terminal
from scripts.places import step, weights
from storage.conversations import ConversationStore
from storage.database import Database
from storage.paths import HOME_VARIABLE, Paths

CONVERSATIONS, TURNS = 2_000, 50
OPENING = "opening …".encode()
_BARE = "import textual.app, textual.widgets._text_area"
"""Code that imports what any app of the library Textual imports: a lower bound for the start-up time."""


def run(arguments: Namespace) -> dict[str, Any]:
    """Return the figures of the app; times in ms."""
    folder = weights("smollm2-135m", "all-minilm-l6-v2")
    repeats = 5 if arguments.quick else 15
    with tempfile.TemporaryDirectory() as room:
        own = {name: value for name, value in os.environ.items() if not name.startswith(("JACKDAW_", "TEXTUAL_"))}
        own |= {HOME_VARIABLE: room, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
        own |= {f"JACKDAW_{part}_THREADS": str(arguments.threads) for part in ("MODEL", "EMBEDDER")}
        paths = Paths.locate(own)
        shutil.copytree(folder.folder, paths.weights)
        step("reading the sample life")
        subprocess.run(
            [sys.executable, "-c", APP, "add", "scripts/sample_life"], env=own, check=True, capture_output=True
        )
        step("starting the app")
        starts = [(*_start(own), _process(_BARE, own)) for _ in range(repeats + 1)][1:]
        first, ready, bare = zip(*starts, strict=True)
        echoes = app_echo.echoes(own, Path(room), 100 if arguments.quick else 400)
        quoted = app_quoted.quoted(own, Path(room), 24 if arguments.quick else 200)
    step("a long history")
    return {
        "first_paint_ms": round(statistics.median(first), 1),
        "first_paint_worst_ms": round(max(first), 1),
        "ready_ms": round(statistics.median(ready), 1),
        "ready_worst_ms": round(max(ready), 1),
        "import_textual_ms": round(statistics.median(bare), 1),
        "ready_ratio": round(statistics.median(least_one / least for _, least_one, least in starts), 2),
        "key_echo_ms": echoes,
        "quoted": quoted,
        **_history(repeats),
        **asyncio.run(_memory(2_000)),
    }


def _start(environment: Mapping[str, str]) -> tuple[float, float]:
    """Return the ms from the process's start to its first frame, and to the echo of a key pressed at that frame."""
    start = time.perf_counter()
    with terminal(APP, environment) as app:
        app.awaits(OPENING)
        first = time.perf_counter()
        app.types(KEYS[0])
        app.awaits(KEYS[0].encode())
        return (first - start) * 1000, (time.perf_counter() - start) * 1000


def _process(code: str, environment: Mapping[str, str]) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], env=dict(environment), check=True)
    return (time.perf_counter() - start) * 1000


def _history(repeats: int) -> dict[str, Any]:
    """Return the times of listing and searching among many conversations."""
    with tempfile.TemporaryDirectory() as room:
        database = Database(Path(room) / "jackdaw.db")
        store = ConversationStore(database)
        _fill(database)
        calls: dict[str, Callable[[], object]] = {
            "list": lambda: store.recent(50),
            "list_end": lambda: store.recent(50, CONVERSATIONS - 50),
            "open": lambda: store.turns(CONVERSATIONS // 2),
            "search_rare": lambda: store.search("cistern", 50, prefix=True),
            "search_common": lambda: store.search("the", 50, prefix=True),
            "search_letter": lambda: store.search("t", 50, prefix=True),
            "search_two": lambda: store.search("the tile", 50, prefix=True),
        }
        worst = {}
        for name, call in calls.items():
            times = []
            for _ in range(repeats):
                start = time.perf_counter()
                call()
                times.append((time.perf_counter() - start) * 1000)
            worst[name] = round(max(times), 1)
        database.close()
    return {"conversations": CONVERSATIONS, "turns": CONVERSATIONS * TURNS, "search_ms": worst}


def _fill(database: Database) -> None:
    chance = random.Random(7)
    files = (Path(__file__).parent.parent / "sample_life").rglob("*.md")
    words = " ".join(file.read_text("utf-8") for file in sorted(files)).split()

    def some(count: int) -> str:
        begin = chance.randrange(len(words) - count)
        return " ".join(words[begin : begin + count])

    record = '{"padding": "' + "x" * 2_000 + '"}'
    with database.transaction():
        for number in range(CONVERSATIONS):
            moment = f"2026-01-01T00:00:00.{number:06}+00:00"
            conversation = database.insert(
                "INSERT INTO conversations (title, created_at, updated_at) VALUES (?, ?, ?)", (some(8), moment, moment)
            )
            database.execute_many(
                "INSERT INTO turns (conversation_id, question, answer, complete, record, asked_at) "
                "VALUES (?, ?, ?, 1, ?, ?)",
                [(conversation, some(9), some(60), record, moment) for _ in range(TURNS)],
            )


async def _memory(tokens: int) -> dict[str, Any]:
    """Return the bytes of memory per displayed token: in one answer of many paragraphs, and in a conversation of many
    turns.
    """
    return {
        "bytes_per_token_shown": await _held(tokens, tokens),
        "bytes_per_token_of_many_turns": await _held(tokens, 100),
    }


async def _held(tokens: int, in_one: int) -> int:
    """Return the bytes of memory that remain in use per token of streamed answers, each of `in_one` tokens."""
    from device_app.tui import messages
    from device_app.tui.app import JackdawApp
    from device_app.tui.chat.screen import ChatScreen
    from device_app.tui.edge.answers import Answers, Request
    from device_app.tui.edge.facts import Turn

    waiting: list[Request] = []
    with tempfile.TemporaryDirectory() as room:
        app = JackdawApp({**os.environ, HOME_VARIABLE: room})
        async with app.run_test(size=(COLUMNS, ROWS)) as pilot:
            chat = app.screen
            assert isinstance(chat, ChatScreen)
            Answers.ask = lambda _, request: waiting.append(request)  # type: ignore[assignment, method-assign]
            tracemalloc.start()
            held = []
            written = ""
            for number in range(3 * tokens):  # the first two thirds fill bounded caches
                if number % in_one == 0:
                    if waiting:
                        turn = Turn(number, 1, QUESTION, written, True, {}, "2026-01-01T00:00:00+00:00")
                        chat.post_message(messages.Finished(waiting[-1].ticket, turn))
                        await pilot.pause()
                    written = ""
                    chat.composer.begin(QUESTION)
                    await pilot.press("enter")
                    await pilot.pause()
                written += (word := "word " if number % 80 else "word.\n\n")
                chat.post_message(messages.Wrote(waiting[-1].ticket, word))
                if number % 50 == 0:
                    await pilot.pause()
                if number + 1 in (2 * tokens, 3 * tokens):
                    await pilot.pause(0.5)  # distant messages are folded a little later
                    gc.collect()
                    held.append(tracemalloc.get_traced_memory()[0])
            tracemalloc.stop()
    return round((held[1] - held[0]) / tokens)
