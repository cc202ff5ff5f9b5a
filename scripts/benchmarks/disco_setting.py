"""The environment of the benchmark `disco`'s live races: a device in this process on one half of the cores, a server
process on the other half, and recorded first-token times replayed on the link between them.

The device has the default model. The server has the fake engine: all that is used of its answers is when they begin,
which is replayed, and a real model would slow the device down on a small machine.
"""

import asyncio
import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue
from signal import SIG_IGN, SIGINT, signal
from typing import Any, Final, cast

from cloud_server.access.tokens import TokenFile
from cloud_server.engine.batch import Batch
from cloud_server.engine.prefix_cache import PrefixCache
from cloud_server.pipelines.answering import Answering
from cloud_server.serving.server import CompanionServer
from cloud_server.settings import Limits, Log, Serve, Settings
from device_app.companion.link.credentials import Credentials
from device_app.companion.link.link import Link
from device_app.companion.link.request import OnEvent, RemoteRequest, RequestEvent
from device_app.inference.local import LocalSource
from models.catalog import Weights
from models.chat_template import parse
from models.fake import FakeEmbedder, FakeEngine
from scripts.benchmarks.disco_data import Device
from scripts.benchmarks.dragon_server import end_with_parent
from scripts.benchmarks.dragon_setting import device_engine, pinned
from scripts.benchmarks.pacing import Pace, paced
from scripts.places import step
from shared.prompt import CHATML
from shared.protocol import messages as m
from shared.protocol.device import Lost

STARTS_S: Final = 60.0
"""The most seconds in which the server starts."""

_SPAWN = get_context("spawn")
_LIMITS = Limits(connects_per_minute=1e6, tokens_per_minute=1e9, waiting_each=256)


@dataclass(frozen=True, slots=True)
class Setting:
    """A device with a phone's pace, connected to a server whose first tokens are delayed."""

    source: LocalSource
    link: "DelayedLink"


class DelayedLink:
    """A link whose requests get their first token no sooner than `delay_s` seconds after they were sent.

    Everything but the tokens passes at once. `arrived_s` is after how many seconds the first token of the last request
    came from the server itself; None if none has come. Has the interface of `Link`.
    """

    def __init__(self, link: Link) -> None:
        self.delay_s = 0.0
        self._link = link
        self._last: _Delayed | None = None

    @property
    def arrived_s(self) -> float | None:
        """The seconds after which the last request's first token came from the server itself, before the link delayed
        it; None if it has not come.
        """
        return self._last.arrived_s if self._last else None

    def forget(self) -> None:
        """Forget the last request: `arrived_s` becomes None."""
        self._last = None

    def ask(self, ask: m.Ask, on_event: OnEvent) -> RemoteRequest:
        """Send a question, as `Link.ask` does."""
        self._last = _Delayed(on_event, self.delay_s)
        return self._link.ask(ask, self._last.receive)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._link, name)


class _Delayed:
    """The events of one request, passed on in order by a thread of their own."""

    def __init__(self, on_event: OnEvent, delay_s: float) -> None:
        self.arrived_s: float | None = None
        self._on_event = on_event
        self._asked_at = time.monotonic()
        self._due = self._asked_at + delay_s
        self._events: SimpleQueue[tuple[RemoteRequest, RequestEvent]] = SimpleQueue()
        threading.Thread(target=self._pass_on, name="delayed", daemon=True).start()

    def receive(self, request: RemoteRequest, event: RequestEvent) -> None:
        if isinstance(event, m.Tokens) and self.arrived_s is None:
            self.arrived_s = time.monotonic() - self._asked_at
        self._events.put((request, event))

    def _pass_on(self) -> None:
        event: RequestEvent | None = None
        while not isinstance(event, m.Finished | m.Failed | Lost):
            request, event = self._events.get()
            if isinstance(event, m.Tokens) and (left := self._due - time.monotonic()) > 0:
                time.sleep(left)
            self._on_event(request, event)


@contextmanager
def ready(folder: Weights, room: Path, device: Device) -> Iterator[Setting]:
    """Yield the running setting, the device reading and writing at the pace of `device`. Raises CannotRun."""
    with pinned() as halves, ExitStack() as opened:
        pace = Pace()
        pace.prompt_token_s, pace.step_s = 1 / device.prefill, 1 / device.decode
        own = paced(device_engine(folder, len(halves.device), sequences=1), pace)
        opened.callback(own.close)
        source = LocalSource(own, parse(own.info.chat_template, own.info.bos))
        step("starting the server")
        credentials = opened.enter_context(_served(room, halves.server))
        link = Link(credentials, m.Hello(m.VERSIONS, own.vocabulary_hash(), FakeEmbedder.fingerprint, "bench"))
        opened.callback(link.close)
        if not link.wait(STARTS_S).connected:
            raise RuntimeError(f"there is no link to the server: {link.state.why_not()}")
        yield Setting(source, DelayedLink(link))


def as_link(link: DelayedLink) -> Link:
    """Return the delayed link under the type `Link`, for the product's parts, which use only the interface of
    `Link`.
    """
    return cast(Link, link)


@contextmanager
def _served(room: Path, cores: Sequence[int]) -> Iterator[Credentials]:
    """Run a server process; yield its address and a token."""
    token = TokenFile(room / "tokens.json").create("bench", datetime.now(UTC))[1]
    receiver, sender = _SPAWN.Pipe()
    process = _SPAWN.Process(target=_serve, args=(room / "tokens.json", cores, sender), daemon=True)
    process.start()
    try:
        if not receiver.poll(STARTS_S):
            raise RuntimeError("the server did not start")
        yield Credentials(f"ws://127.0.0.1:{receiver.recv()}/", token)
    finally:
        process.terminate()
        process.join(10)
        process.kill()


def _serve(tokens: Path, cores: Sequence[int], sender: Connection) -> None:
    signal(SIGINT, SIG_IGN)
    threading.Thread(target=end_with_parent, daemon=True).start()
    os.sched_setaffinity(0, cores)
    settings = Settings(serve=Serve(port=0, metrics_port=0, drain_s=0.0), limits=_LIMITS, log=Log(level="error"))
    engine = FakeEngine()
    answering = Answering(engine, CHATML, FakeEmbedder(), None, 0.0)
    server = CompanionServer(settings, TokenFile(tokens), answering, Batch(engine, PrefixCache(0)))
    asyncio.run(server.run(lambda _host, port, _probes: sender.send(port), signals=False))
