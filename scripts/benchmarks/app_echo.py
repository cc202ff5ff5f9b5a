"""The time from a key press to its echo on the screen: in the idle app, while an answer is written, and while mails are
read.

Keys are letters that occur nowhere else on the screen: each is sent alone and awaited in the app's output. The app
never ends an answer, so that there is time to type; while mails are read, typing ends with the reading.
"""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from scripts.benchmarks.terminal import APP, PAINTED, QUESTION, Terminal, terminal
from scripts.places import CannotRun, step
from storage.database import Database
from storage.knowledge import KnowledgeStore
from storage.paths import Paths

KEYS = "ξψζδφβγλθ"
"""The letters that are typed. They do not occur in the sample files, so that each appears on the screen only as an
echo.
"""

MAILS, PARAGRAPHS = 300, 12
_LEAST = 50
"""The fewest key presses for a meaningful 99th percentile."""

_ENDLESS = (
    "import device_app.answering.generation as writing, models.llama_cpp as engine; "
    "writing.ended = lambda pieces: pieces; engine.LlamaCppEngine.is_end = lambda *_: False; " + APP
)
_ESCAPE, _CLEAR = "\x1b", "\x15"


def echoes(environment: dict[str, str], room: Path, count: int) -> dict[str, dict[str, float]]:
    """Return quantiles in ms, by activity: idle, an answer, mails read by the app, and mails read by a separate daemon.

    `room` is a folder for the mails; the app's home is beside it.
    """
    step("typing")
    echoes = {"idle": _echoes(environment, count // 4)}
    step("typing while it answers")
    echoes["answering"] = _echoes(environment | {"JACKDAW_ANSWER_MAX_TOKENS": "2000"}, count, _ask)
    step("typing while it reads mails")
    mails = _mails(room / "read by the app", seed=1)
    echoes["ingesting"] = _echoes(environment, count, lambda app: _add(app, mails), _unread(environment, MAILS))
    step("typing while a daemon reads mails")
    mails = _mails(room / "read by a daemon", seed=2, count=1)
    subprocess.run([sys.executable, "-c", APP, "add", str(mails)], env=environment, check=True, capture_output=True)
    unread = _unread(environment, MAILS - 1)
    _mails(mails, seed=2)
    with _daemon(environment):
        echoes["beside_daemon"] = _echoes(environment, count, until=unread)
    return echoes


def _echoes(
    environment: Mapping[str, str],
    count: int,
    begin: Callable[[Terminal], None] = lambda _: None,
    until: Callable[[], bool] = lambda: True,
) -> dict[str, float]:
    """Type `count` keys and measure their echoes; stop earlier once `until` returns False."""
    with terminal(_ENDLESS, environment) as app:
        app.awaits(PAINTED)
        app.awaits(b"ready")
        begin(app)
        times: list[float] = []
        while len(times) < count and until():
            times += [_echo(app, key) for key in KEYS]
            app.types(_CLEAR)  # empties the composer, so that each letter is new
            app.drain(0.1)
    if len(times) < min(count, _LEAST):
        raise CannotRun(f"there was time for {len(times)} keys only")
    return {"p50": _quantile(times, 0.5), "p99": _quantile(times, 0.99), "keys": len(times)}


def _echo(app: Terminal, key: str) -> float:
    app.drain(0.02)
    start = time.perf_counter()
    app.types(key)
    app.awaits(key.encode())
    return (time.perf_counter() - start) * 1000


def _quantile(times: list[float], share: float) -> float:
    return round(float(np.quantile(times, share)), 1)


def _ask(app: Terminal) -> None:
    app.types(f"{QUESTION}\r")
    app.awaits(b"writing")


def _add(app: Terminal, folder: Path) -> None:
    """Let the app read the folder, and return to its chat screen."""
    app.types(f"/add {folder}\r")
    app.awaits(f"of {MAILS} files".encode())
    app.types(_ESCAPE)
    app.awaits(PAINTED)


def _unread(environment: Mapping[str, str], count: int) -> Callable[[], bool]:
    """Return a function that says whether some of the next `count` documents have not been read yet."""
    database = Database(Paths.locate(environment).database)
    store = KnowledgeStore(database)
    before = store.totals().documents
    return lambda: store.totals().documents < before + count


def _mails(folder: Path, seed: int, count: int = MAILS) -> Path:
    """Write mails that all differ, with words from the sample files, into a folder."""
    chance = random.Random(seed)
    files = (Path(__file__).parent.parent / "sample_life").rglob("*.md")
    words = " ".join(file.read_text("utf-8") for file in sorted(files)).split()
    folder.mkdir(exist_ok=True)
    for number in range(count):
        body = "\n\n".join(" ".join(chance.choices(words, k=60)) + "." for _ in range(PARAGRAPHS))
        head = f"From: Anna <anna@example.org>\nTo: me@example.org\nSubject: {' '.join(chance.choices(words, k=5))}\n"
        head += f"Date: Mon, 2 Nov 2026 09:{number // 60:02}:{number % 60:02} +0000\nMessage-ID: <{seed}.{number}@x>\n"
        (folder / f"{number}.eml").write_text(f"{head}Content-Type: text/plain; charset=utf-8\n\n{body}\n", "utf-8")
    return folder


@contextmanager
def _daemon(environment: Mapping[str, str]) -> Iterator[None]:
    """Run Jackdaw's background process (the daemon) within the block, in a session of its own, like a service."""
    command = [sys.executable, "-c", APP, "daemon", "run-once", "--minutes", "10"]
    process = subprocess.Popen(command, env=dict(environment), stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        yield
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
