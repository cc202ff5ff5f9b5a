"""Quoted answers of one to eight bullets, at three terminal sizes: freezes of the app, and time to a key's echo while
the answer arrives.

A quoted answer's whole text and its end arrive at once, which once made the app freeze.
"""

import itertools
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from device_app.tui.wording import QUOTED
from scripts.benchmarks.terminal import APP, PAINTED, Terminal, terminal
from scripts.places import CannotRun, step
from storage.conversations import ConversationStore
from storage.database import Database
from storage.paths import Paths

SIZES = ((40, 20), (80, 24), (120, 40))
KEYS = "ξψζ"
"""The letters that are typed, which do not occur in the files; the first is typed as soon as the question is sent."""

FROZEN_S = 10.0
"""Seconds without an expected key echo or answer after which the app counts as frozen."""

THINGS = (
    "fresh paint", "strong locks", "brighter lamps", "longer ropes", "drier timber", "cleaner floors", "wider windows",
    "cheaper tickets",
)  # fmt: skip
TOPICS = ("windmill", "aquarium", "cathedral", "tramway", "observatory", "brewery", "racecourse", "planetarium")
"""The topics of the files: the file about the n-th topic contains n statements."""

_CLEAR, _NEW = "\x15", "\x0e"
_WELCOME = b"answers from your"
_PROMPT = PAINTED[:13]
"""The part of the app's prompt that is visible even at the narrowest size."""


def quoted(environment: Mapping[str, str], room: Path, count: int) -> dict[str, Any]:
    """Ask `count` questions and return figures; times in ms. `room` is a folder for the quoted files."""
    step("quoted answers")
    folder = room / "talks"
    folder.mkdir()
    for number, topic in enumerate(TOPICS, 1):
        lines = [f"The {topic} needs {item} soon." for item in THINGS[:number]]
        (folder / f"{topic}.md").write_text(f"# The {topic}\n\n" + "\n\n".join(lines) + "\n", "utf-8")
    subprocess.run(
        [sys.executable, "-c", APP, "add", str(folder)], env=dict(environment), check=True, capture_output=True
    )
    database = Database(Paths.locate(environment).database)
    known = {conversation.id for conversation in ConversationStore(database).recent(1_000)}
    asking = _Asking(environment, count)
    for place, size in enumerate(SIZES):
        asking.at(size, count // len(SIZES) + (place < count % len(SIZES)))
    answers = _answers(database, known)
    database.close()
    return {
        "answers": sum(answers.values()),
        "freezes": asking.freezes,
        "bullets": {str(bullets): answers[bullets] for bullets in sorted(answers)},
        "key_echo_ms": _quantiles(asking.echoes) | {"keys": len(asking.echoes)},
        "answer_ms": _quantiles(asking.times),
    }


class _Asking:
    """Asks about each topic in turn, and types while the answers arrive. Counts the app's freezes, and restarts a
    frozen app.
    """

    def __init__(self, environment: Mapping[str, str], count: int) -> None:
        self._environment = environment
        self._topics = itertools.islice(itertools.cycle(TOPICS), count)
        self.freezes = 0
        self.echoes: list[float] = []
        self.times: list[float] = []

    def at(self, size: tuple[int, int], count: int) -> None:
        """Ask `count` questions at this terminal size."""
        topics = list(itertools.islice(self._topics, count))
        while topics:
            with terminal(APP, self._environment, *size) as app:
                app.awaits(_PROMPT)
                app.awaits(b"ready")
                try:
                    while topics:
                        self._ask(app, topics.pop())
                except (CannotRun, OSError) as error:  # OSError: the app noticed the freeze itself, and exited
                    step(f"a freeze at {size[0]}x{size[1]}: {error}")
                    self.freezes += 1

    def _ask(self, app: Terminal, topic: str) -> None:
        started, before = time.perf_counter(), len(app.written)
        app.types(f"What was said about the {topic}?\r")
        for key in KEYS:
            pressed = time.perf_counter()
            app.types(key)
            app.awaits(key.encode(), within_s=FROZEN_S)
            self.echoes.append((time.perf_counter() - pressed) * 1000)
        app.awaits(QUOTED.encode(), within_s=FROZEN_S, since=before)
        self.times.append((time.perf_counter() - started) * 1000)
        app.types(_CLEAR + _NEW)  # a new conversation, so that the next answer is not already on the screen
        app.awaits(_WELCOME, within_s=FROZEN_S)
        app.drain(0.05)


def _answers(database: Database, known: set[int]) -> Counter[int]:
    """Return the number of quoted answers in the store by their number of bullets; the given conversations are left
    out.
    """
    store = ConversationStore(database)
    counts: Counter[int] = Counter()
    for conversation in store.recent(1_000):
        if conversation.id not in known:
            for turn in store.turns(conversation.id):
                if turn.complete and turn.record.get("quoted"):
                    counts[sum(line.startswith("- ") for line in turn.answer.splitlines())] += 1
    return counts


def _quantiles(times: list[float]) -> dict[str, float]:
    return {f"p{share}": round(float(np.percentile(times, share)), 1) for share in (50, 99)} if times else {}
