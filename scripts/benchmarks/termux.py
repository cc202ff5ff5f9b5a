"""Compares the time of `jackdaw ask` for a cached answer on a simulated phone (`tests/termux.py`, an environment as in
Termux) with the time on a laptop, and measures the memory of a new answer on the phone. Each has a home of its own with
the same files and the same cached answer. The processes of both alternate.
"""

import contextlib
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from typing import Any

import psutil

from scripts.places import CannotRun
from storage.paths import HOME_VARIABLE, Paths
from tests.termux import ROOT, Phone

QUESTION = "Who has Runa's blue drill?"
MOST = 1.2
"""The most time that a cached answer may take on the simulated phone, as a multiple of the time on a laptop."""

MOST_MB = 420
"""The most memory, in MB, that a process which writes an answer with the default model may take on the phone."""


@dataclass(frozen=True, slots=True)
class _Home:
    """A person's home: the environment of its processes, and their working directory."""

    environment: Mapping[str, str]
    folder: Path


def measure(weights: Path, threads: int, repeats: int) -> dict[str, Any]:
    """Return medians of `repeats` runs in each home: wall time, and processor time including that of started commands,
    in ms; the phone's times as multiples of the laptop's; the most memory of a new answer on the phone, in MB; and the
    names of the figures over their limits.

    `weights` is the folder of the default models' files. Raises CannotRun if a home caches no answer.
    """
    with tempfile.TemporaryDirectory() as folder:
        phone = Phone(Path(folder, "phone"))
        own = {
            "JACKDAW_ANSWER_MAX_TOKENS": "24",
            "JACKDAW_MODEL_THREADS": str(threads),
            "JACKDAW_EMBEDDER_THREADS": str(threads),
        }
        laptop = os.environ | own | {HOME_VARIABLE: str(Path(folder, "laptop")), "PYTHONPATH": str(ROOT)}
        homes = {"laptop": _Home(laptop, ROOT), "phone": _Home(phone.environment | own, phone.home)}
        asked = phone.command("ask", QUESTION, "--json", fakes=False)
        data = Paths.locate(laptop).data
        data.mkdir(parents=True)
        (data / "weights").symlink_to(weights.resolve())
        _output(phone.command("add", str(ROOT / "scripts" / "sample_life"), fakes=False), homes["laptop"])
        shutil.copytree(data, phone.home / ".local" / "share" / "jackdaw", symlinks=True)
        for home in homes.values():
            _output(asked, home)
        runs: dict[str, list[tuple[float, float]]] = {name: [] for name in homes}
        _, most = watched_answer(phone, QUESTION, own)
        for _ in range(repeats + 1):
            for name, home in homes.items():
                runs[name].append(_kept(asked, home))
    # The first round is a warm-up.
    wall, cpu = (
        {name: statistics.median(run[part] for run in islice(values, 1, None)) for name, values in runs.items()}
        for part in range(2)
    )
    ratio = wall["phone"] / wall["laptop"]
    limits = {"wall_ratio": (ratio, MOST), "ask_mb": (most / 1e6, MOST_MB)}
    return {
        "wall_ms": {name: round(ms, 1) for name, ms in wall.items()},
        "cpu_ms": {name: round(ms, 1) for name, ms in cpu.items()},
        "wall_ratio": round(ratio, 3),
        "cpu_ratio": round(cpu["phone"] / cpu["laptop"], 3),
        "ask_mb": round(most / 1e6, 1),
        "missed": [name for name, (figure, limit) in limits.items() if figure > limit],
    }


def watched_answer(phone: Phone, question: str, own: Mapping[str, str]) -> tuple[dict[str, Any], int]:
    """Ask the default model on the phone, under the settings `own`.

    Return the answer as `jackdaw ask --json` prints it, and the most bytes of memory that its process took.
    """
    command, most = phone.command("ask", question, "--fresh", "--json", fakes=False), 0
    with subprocess.Popen(
        command, env={**phone.environment, **own}, cwd=phone.home, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        watched = psutil.Process(process.pid)
        while process.poll() is None:
            with contextlib.suppress(psutil.Error):  # it ends meanwhile
                most = max(most, watched.memory_info().rss)
            time.sleep(0.01)
        assert process.stdout
        return json.loads(process.stdout.read()), most


def _kept(ask: list[str], home: _Home) -> tuple[float, float]:
    """Return the wall time and the processor time, in ms, of a process that shows a cached answer."""
    used, began = getrusage(RUSAGE_CHILDREN), time.perf_counter()
    answer = _output(ask, home)
    wall, now = time.perf_counter() - began, getrusage(RUSAGE_CHILDREN)
    if json.loads(answer)["origin"] != "qa_bank":
        raise CannotRun(f"no answer to {QUESTION!r} is kept")
    return wall * 1000, (now.ru_utime - used.ru_utime + now.ru_stime - used.ru_stime) * 1000


def _output(command: list[str], home: _Home) -> bytes:
    done = subprocess.run(
        command, env=home.environment, cwd=home.folder, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    if done.returncode:
        raise CannotRun(f"{' '.join(command[2:])} ended with {done.returncode}: {done.stderr.decode()[-300:]}")
    return done.stdout
