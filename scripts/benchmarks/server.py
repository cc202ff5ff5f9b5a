"""The companion server with the real model, over real sockets: the protocol's cost, memory per device, throughput of
one engine for many devices, and accuracy of the announced waiting times.

The server is a process as users start it, except that answers never end early, so that each arm decodes equally many
tokens. The bare engine decodes equally many sequences from prompts of equal length, in a process of its own, in turn.
"""

import asyncio
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import psutil
from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Subprotocol

from scripts.places import step, weights
from shared.protocol import messages as m
from shared.protocol.device import DeviceSession
from storage.paths import HOME_VARIABLE, Paths

STREAMS = (1, 4, 16)
QUESTION = "Tell me, in as many words as you like, what a jackdaw is and how it lives with others of its kind."
SERVER = "from cloud_server.cli import main; main()"
_ENDLESS = (
    "import models.llama_cpp as engine, shared.ending as ending; "
    "engine.LlamaCppEngine.is_end = lambda *_: False; "
    "ending.Ending.feed = lambda *_: []; " + SERVER
)
_BARE = """
import json, sys, time
from pathlib import Path
import numpy as np
from cloud_server.settings import Model
from models.llama_model import LlamaModel
from models.llama_cpp import LlamaCppEngine
path, threads, rows, tokens, prompt = Path(sys.argv[1]), *map(int, sys.argv[2:])
own = Model()
engine = LlamaCppEngine(LlamaModel(path), context=own.context, sequences=16, threads=threads, kv_type=own.kv)
ids = engine.tokenize("word " * prompt)[:prompt]
last = {row: int(np.argmax(engine.prefill(row, ids))) for row in range(rows)}
begun = time.perf_counter()
for _ in range(tokens):
    last = {row: int(np.argmax(logits)) for row, logits in engine.decode(last).items()}
print(json.dumps(rows * tokens / (time.perf_counter() - begun)))
"""


def run(arguments: Namespace) -> dict[str, Any]:
    """Return tokens a second, µs of the server's event loop per token, KB per device, and waiting times."""
    folder = weights("smollm2-135m", "all-minilm-l6-v2")
    tokens, repeats = (64, 2) if arguments.quick else (192, 5)
    with tempfile.TemporaryDirectory() as room:
        own = {name: value for name, value in os.environ.items() if not name.startswith("JACKDAW_")}
        own |= {HOME_VARIABLE: room}
        shutil.copytree(folder.folder, Paths.locate(own).weights)
        process = subprocess.run(
            [sys.executable, "-c", SERVER, "token", "create", "bench", "--json"],
            env=own,
            check=True,
            capture_output=True,
        )
        token = json.loads(process.stdout)["token"]
        # Quotas are irrelevant here.
        own |= {f"JACKDAW_SERVER_LIMITS_{name}": "1000000" for name in ("TOKENS_PER_MINUTE", "CONNECTS_PER_MINUTE")}
        own |= {"JACKDAW_SERVER_LIMITS_CONNECTIONS": "5000", "JACKDAW_SERVER_MODEL_SEQUENCES": "16"}
        own |= {"JACKDAW_SERVER_LIMITS_WAITING_EACH": "256", "JACKDAW_SERVER_LOG_LEVEL": "error"}
        with running(_ENDLESS, own, arguments.threads, token) as place:
            figures = asyncio.run(_throughput(place, tokens, repeats, arguments.threads, folder))
            figures |= asyncio.run(_queue(place, 24 if arguments.quick else 64))
        with running(SERVER, own, arguments.threads, token) as place:
            figures |= asyncio.run(_idle(place, 200 if arguments.quick else 1_000))
    return figures


@dataclass(frozen=True)
class RunningServer:
    """A running server's URL and process, and the token of this benchmark's device."""

    url: str
    token: str
    pid: int


@contextmanager
def running(program: str, environment: Mapping[str, str], threads: int, token: str) -> Iterator[RunningServer]:
    """Run a server with this Python, until the end of the block."""
    command = [sys.executable, "-c", program, "serve", "--port", "0", "--metrics-port", "0", "--json"]
    process = subprocess.Popen(
        [*command, "--threads", str(threads)], env=dict(environment), stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        line = json.loads(process.stdout.readline())
        yield RunningServer(line["url"], token, line["pid"])
    finally:
        process.terminate()
        process.wait()


class _Device:
    """A device that reads events as fast as it can."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._session = DeviceSession(m.Hello(m.VERSIONS, "", "", "bench"))
        self.first: float | None = None
        self.promised: float | None = None
        self.prompt = 0

    async def begin(self) -> None:
        for frame in self._session.connect():
            await self._socket.send(frame)
        self._session.receive(await self._socket.recv())

    async def ask(self, tokens: int) -> int:
        """Send a question and read the answer to its end. Return the number of tokens received."""
        start, got = time.perf_counter(), 0
        ask = m.Ask(self._session.next_request, QUESTION, True, 0, tokens, tokens)
        for frame in self._session.send(ask):
            await self._socket.send(frame)
        while True:
            received = self._session.receive(await self._socket.recv())
            for frame in received.frames:
                await self._socket.send(frame)
            for event in received.events:
                match event:
                    case m.Tokens():
                        if self.first is None:
                            self.first = time.perf_counter() - start
                        got += len(event.ids)
                    case m.Queued():
                        self.promised = event.wait_ms / 1000
                    case m.Finished():
                        self.prompt = event.usage.prompt
                        return got
                    case m.Failed():
                        raise RuntimeError(event.message)


async def _devices(place: RunningServer, count: int, cleanup: AsyncExitStack) -> list[_Device]:
    devices = []
    for _ in range(count):
        socket = await cleanup.enter_async_context(
            connect(
                place.url,
                additional_headers={"Authorization": f"Bearer {place.token}"},
                subprotocols=[Subprotocol(m.SUBPROTOCOL)],
                compression=None,
                proxy=None,
                ping_interval=None,
                max_queue=64,
            )
        )
        devices.append(_Device(socket))
        await devices[-1].begin()
    return devices


async def _throughput(place: RunningServer, tokens: int, repeats: int, threads: int, folder: Any) -> dict[str, Any]:
    """Measure the decode speed of all streams together, in turn with the bare engine, and the event loop's time per
    token.
    """
    from models.catalog import find

    path = str(folder.path(find("smollm2-135m")))
    rates: dict[int, list[float]] = {count: [] for count in STREAMS}
    bare: list[float] = []
    costs = []
    for number in range(repeats):
        step(f"streams, round {number + 1} of {repeats}")
        for count in STREAMS:
            async with AsyncExitStack() as cleanup:
                devices = await _devices(place, count, cleanup)
                await asyncio.gather(*(device.ask(2) for device in devices))  # caches the prompt's states
                before, start = _loop_s(place.pid), time.perf_counter()
                got = sum(await asyncio.gather(*(device.ask(tokens) for device in devices)))
                rates[count].append(got / (time.perf_counter() - start))
                if count == max(STREAMS):
                    costs.append((_loop_s(place.pid) - before) / got * 1e6)
        arguments = [path, str(threads), str(max(STREAMS)), str(tokens), str(devices[0].prompt)]
        done = await asyncio.to_thread(
            subprocess.run, [sys.executable, "-c", _BARE, *arguments], capture_output=True, text=True, check=True
        )
        bare.append(json.loads(done.stdout.splitlines()[-1]))
    many = max(STREAMS)
    return {
        "tok_s": {str(count): round(statistics.median(speeds), 1) for count, speeds in rates.items()},
        "bare_tok_s": {str(many): round(statistics.median(bare), 1)},
        "share_of_bare": round(statistics.median(a / b for a, b in zip(rates[many], bare, strict=True)), 3),
        "times_one_stream": round(statistics.median(a / b for a, b in zip(rates[many], rates[1], strict=True)), 2),
        "per_token_us": round(statistics.median(costs), 1),
    }


def _loop_s(pid: int) -> float:
    """Return the CPU seconds of the server's main thread, which runs nothing but the event loop."""
    times = next(thread for thread in psutil.Process(pid).threads() if thread.id == pid)
    return float(times.user_time + times.system_time)


async def _queue(place: RunningServer, requests: int) -> dict[str, Any]:
    """Let all devices ask at once; return the announced waiting times and the times to first token."""
    step(f"{requests} requests at once")
    async with AsyncExitStack() as cleanup:
        devices = await _devices(place, requests, cleanup)
        await asyncio.gather(*(device.ask(32) for device in devices))
    first = [device.first or 0.0 for device in devices]
    promised = [device.promised or 0.0 for device in devices]
    return {
        "queue": {
            "requests": requests,
            "ttft_p50_ms": round(float(np.quantile(first, 0.5)) * 1000),
            "ttft_p99_ms": round(float(np.quantile(first, 0.99)) * 1000),
            "promised_p99_ms": round(float(np.quantile(promised, 0.99)) * 1000),
        }
    }


async def _idle(place: RunningServer, count: int) -> dict[str, Any]:
    """Return the server's memory for a connected device that asks nothing."""
    step(f"{count} idle devices")
    process = psutil.Process(place.pid)
    async with AsyncExitStack() as cleanup:
        await _devices(place, 20, cleanup)  # one-time costs of the first devices
        before = process.memory_info().rss
        await _devices(place, count, cleanup)
        await asyncio.sleep(1)
        return {"idle_kb_per_device": round((process.memory_info().rss - before) / count / 1000, 1)}
