"""The effect of attacking devices, with or without a token, on others: the time to an honest device's first token,
alone and under each attack by one and by several tokens, and the server's memory and log.

The server is a process as users start it, with 1,024 descriptors, except for three settings: the attackers' quotas are
lifted, to measure how the server shares; the prefix cache is small, so that growing memory is not the cache; and cut
sessions are forgotten within a second, so that each attack ends before the next. Each attacker is a process with its
own token and address, on cores other than the server's if there are any.
"""

import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from websockets.sync.client import connect
from websockets.typing import Subprotocol

from scripts.benchmarks.attackers import NAMES
from scripts.places import step, weights
from shared.protocol import messages as m
from shared.protocol.device import DeviceSession
from storage.paths import HOME_VARIABLE, Paths

DESCRIPTORS = 1024
MANY = 3
BARS = {"honest_ratio": 3.0, "honest_ratio_n": MANY + 2.0, "memory_mb": 20.0, "log_mb_min": 1.0}
"""The upper limit of each figure."""

SETTLES_S = 3.0
"""Seconds for which an attack runs before measuring starts."""

_SERVER = "from cloud_server.cli import main; main()"
_QUOTAS = ("TOKENS_PER_MINUTE", "SEARCHES_PER_MINUTE")
_QUESTION = "How long is the Danube, and through how many countries does it flow? I ask for the {}th time. "


def run(arguments: Namespace) -> dict[str, Any]:
    """Return the figures as NAME.{alone_ms,honest_ratio,honest_ratio_n,worst_ratio,memory_mb,log_mb_min}, by name of
    the attack, and which of them exceed their limits.
    """
    folder = weights("smollm2-135m", "all-minilm-l6-v2")
    asked = 3 if arguments.quick else 11
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as room, _served(Path(room), folder.folder, arguments.threads) as place:
        honest = Honest(place)
        for _ in range(5):
            honest.first_token_s()
        for name in NAMES:
            step(name)
            figures[name] = _measured(place, honest, name, asked)
            step(json.dumps(figures[name]))
    missed = [
        f"{name}.{key}" for name, values in figures.items() for key, bar in BARS.items() if values.get(key, 0.0) > bar
    ]
    return {**figures, "attackers": MANY, "missed": ", ".join(missed)}


@dataclass(frozen=True)
class RunningServer:
    """A running server's port, process and log, and the tokens of the honest device and the attackers."""

    port: int
    process: psutil.Process
    log: Path
    honest: str
    attackers: Sequence[str]
    others: Sequence[int]  # cores not used by the server


@contextmanager
def _served(room: Path, kept: Path, threads: int) -> Iterator[RunningServer]:
    own = {name: value for name, value in os.environ.items() if not name.startswith("JACKDAW_")}
    own |= {HOME_VARIABLE: str(room), "JACKDAW_SERVER_MODEL_PREFIX_MB": "4", "JACKDAW_SERVER_SERVE_RESUME_S": "1"}
    own |= {f"JACKDAW_SERVER_LIMITS_{name}": "1000000" for name in _QUOTAS}
    shutil.copytree(kept, Paths.locate(own).weights)
    index = Path(__file__).parents[1] / "sample_public.jsonl"
    _output(own, "index", "build", str(index))
    tokens = [_output(own, "token", "create", name)["token"] for name in ("honest", *map(str, range(MANY)))]
    cores = sorted(os.sched_getaffinity(0))
    ours, others = cores[: len(cores) // 2] or cores, cores[len(cores) // 2 :]
    log = room / "log"

    def begin() -> None:
        os.sched_setaffinity(0, ours)
        resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))

    command = [sys.executable, "-c", _SERVER, "serve", "--port", "0", "--metrics-port", "0", "--json"]
    with log.open("wb") as written:
        process = subprocess.Popen(
            [*command, "--threads", str(min(threads, len(ours)))],
            env=own,
            stdout=subprocess.PIPE,
            stderr=written,
            preexec_fn=begin,  # noqa: PLW1509  (no thread runs here yet)
        )
    os.sched_setaffinity(0, others)
    try:
        assert process.stdout is not None
        port = int(json.loads(process.stdout.readline())["url"].rstrip("/").rpartition(":")[2])
        yield RunningServer(port, psutil.Process(process.pid), log, tokens[0], tokens[1:], others)
    finally:
        process.terminate()
        process.wait()
        os.sched_setaffinity(0, cores)


def _output(environment: dict[str, str], *command: str) -> Any:
    done = subprocess.run(
        [sys.executable, "-c", _SERVER, *command, "--json"], env=environment, check=True, capture_output=True
    )
    return json.loads(done.stdout)


class Honest:
    """An honest device that connects, asks and disconnects."""

    def __init__(self, place: RunningServer) -> None:
        self._place = place
        self._asked = 0

    def first_token_s(self) -> float:
        """Return the seconds from the first packet to the answer's first token."""
        self._asked += 1
        start = time.perf_counter()
        with connect(
            f"ws://127.0.0.1:{self._place.port}/",
            additional_headers={"Authorization": f"Bearer {self._place.honest}"},
            subprotocols=[Subprotocol(m.SUBPROTOCOL)],
            compression=None,
            proxy=None,
            ping_interval=None,
            open_timeout=60,
            close_timeout=0.5,
        ) as socket:
            session = DeviceSession(m.Hello(m.VERSIONS, "", "", "honest"))
            frames = session.connect()
            asked = False
            while True:
                for frame in frames:
                    socket.send(frame)
                received = session.receive(socket.recv(timeout=300))
                frames = received.frames
                if not asked:
                    asked = True
                    question = _QUESTION.format(self._asked) * 4
                    frames = [*frames, *session.send(m.Ask(session.next_request, question, True, 3, 4, 4))]
                for event in received.events:
                    if isinstance(event, m.Failed):
                        raise RuntimeError(event.message)  # noqa: TRY004
                    if isinstance(event, m.Tokens):
                        return time.perf_counter() - start


def _measured(place: RunningServer, honest: Honest, name: str, asked: int) -> dict[str, float]:
    alone = [honest.first_token_s() for _ in range(asked)]
    before, log_before = place.process.memory_info().rss, place.log.stat().st_size
    start, peak, ratios = time.monotonic(), before, {}
    worst = 0.0
    for count in (1, MANY):
        with _attacked(place, name, count):
            time.sleep(SETTLES_S)
            reports = []
            for _ in range(asked):
                reports.append(honest.first_token_s())
                peak = max(peak, place.process.memory_info().rss)
                time.sleep(0.2)
        ratios[count] = statistics.median(reports) / statistics.median(alone)
        worst = max(worst, max(reports) / statistics.median(alone))
        time.sleep(SETTLES_S)
    minutes = (time.monotonic() - start) / 60
    return {
        "alone_ms": round(statistics.median(alone) * 1000, 1),
        "honest_ratio": round(ratios[1], 2),
        "honest_ratio_n": round(ratios[MANY], 2),
        "worst_ratio": round(worst, 2),
        "memory_mb": round((peak - before) / 1e6, 1),
        "log_mb_min": round((place.log.stat().st_size - log_before) / 1e6 / minutes, 3),
    }


@contextmanager
def _attacked(place: RunningServer, name: str, count: int) -> Iterator[None]:
    command = [sys.executable, "-m", "scripts.benchmarks.attackers", name]
    processes = [
        subprocess.Popen(
            [*command, str(place.port), place.attackers[number], f"127.0.0.{number + 2}", "240"],
            stderr=subprocess.DEVNULL,
        )
        for number in range(count)
    ]
    try:
        yield
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait()
