"""Runs a complete companion server in the test's process, with the fake engine, on a port of its own."""

import asyncio
import logging
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from cloud_server.access.tokens import TokenFile
from cloud_server.engine.batch import Batch
from cloud_server.engine.prefix_cache import PrefixCache
from cloud_server.monitoring.load import VectorUse
from cloud_server.pipelines.answering import Answering
from cloud_server.retrieval.corpus import Vector
from cloud_server.retrieval.early_search import EarlySearch
from cloud_server.serving.pairing_desk import PairingDesk
from cloud_server.serving.server import CompanionServer
from cloud_server.sessions.connection import Connection
from cloud_server.settings import Serve as Serving
from cloud_server.settings import Settings
from models.engine import Logits
from models.fake import FakeEmbedder, FakeEngine
from shared.prompt import CHATML
from shared.protocol import messages as m
from shared.protocol.device import Arrived, DeviceSession

FACTS = (
    ("Rivers", "The Danube flows through ten countries and ends in the Black Sea."),
    ("Mountains", "Mount Kenya is the second highest mountain of Africa."),
    ("Birds", "Jackdaws pair for life and share their food with their partner."),
)

_unheard = logging.getLogger(f"{__name__}.phones")
_unheard.setLevel(logging.CRITICAL)  # a phone's own log is no part of what is tested


class FewPassages:
    """A corpus of a few passages in memory, searched exhaustively."""

    embedder = FakeEmbedder.fingerprint

    def __init__(self, facts: Sequence[tuple[str, str]] = FACTS) -> None:
        self._facts = facts
        self._vectors = FakeEmbedder().embed([text for _, text in facts])
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="early-search")

    def __len__(self) -> int:
        return len(self._facts)

    def refresh(self) -> None:
        """Do nothing: this corpus never changes."""

    def vector_use(self) -> VectorUse:
        return VectorUse(held=self._vectors.nbytes, read=3 * self._vectors.nbytes)

    def relieve(self) -> None:
        """Nothing: it is small."""

    def search(self, vector: Vector, most: int) -> list[m.PublicPassage]:
        nearness = self._vectors @ vector
        return [self._passage(int(place), float(nearness[place])) for place in np.argsort(-nearness)[:most]]

    def passages(self, ids: Sequence[int]) -> list[m.PublicPassage]:
        return [self._passage(place, 1.0) for place in ids if place < len(self)]

    def search_many(self, vectors: Sequence[Vector], most: int) -> list[list[m.PublicPassage]]:
        return [self.search(vector, most) for vector in vectors]

    def provisional(self, vector: Vector, most: int) -> list[m.PublicPassage]:
        return []

    def look_ahead(self, vector: Vector, pipeline: str) -> EarlySearch:
        return EarlySearch(self.search, vector, self._threads)

    def _passage(self, place: int, similarity: float) -> m.PublicPassage:
        title, text = self._facts[place]
        return m.PublicPassage(place, title, f"facts/{title}.txt", text, similarity, max(similarity, 0.0))


class Served:
    """A running companion server in a thread of the test's process."""

    def __init__(self, server: CompanionServer, tokens: TokenFile) -> None:
        self.server = server
        self.tokens = tokens
        self.port = self.metrics_port = 0
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        assert self._ready.wait(30)

    def _run(self) -> None:
        def ready(_host: str, port: int, metrics_port: int | None) -> None:
            self.port, self.metrics_port = port, metrics_port or 0
            self._ready.set()

        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self.server.run(ready, signals=False))

    @property
    def url(self) -> str:
        scheme = "wss" if self.server.settings.serve.certificate else "ws"
        return f"{scheme}://127.0.0.1:{self.port}/"

    def token(self, name: str = "phone") -> str:
        return self.tokens.create(name, datetime.now(UTC))[1]

    def end(self) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self.server.end)
        self._thread.join(30)
        assert not self._thread.is_alive()

    def cuts(self) -> None:
        """Cut every connection without a closing message, as a network fault would."""
        for connection in self._connections():
            self.on_loop(connection.abort)

    def forgets(self) -> None:
        """Forget every session, as a restarted server does."""
        for session in self.server.sessions.all():
            self.on_loop(partial(self.server.sessions.forget, session))

    def dies(self) -> None:
        """Stop at once, without closing sessions or connections in order, like a killed process."""

        def die() -> None:
            for socket in list(self.server.listening[0].sockets):
                self._loop.remove_reader(socket.fileno())
            self.server.listening[0].close(False)

        self.on_loop(die)
        self.cuts()

    def _connections(self) -> list[Connection]:
        return [session.connection for session in self.server.sessions.all() if session.connection]

    def on_loop(self, call: Callable[[], object]) -> None:
        """Run a function on the server's event loop, and wait until it has run."""
        done = threading.Event()

        def run() -> None:
            call()
            done.set()

        self._loop.call_soon_threadsafe(run)
        assert done.wait(30)


class Phone:
    """A scripted device for tests: sends the messages that a test chooses, by default only valid ones."""

    def __init__(self, url: str, token: str, vocabulary: str = "fake", tls: ssl.SSLContext | None = None) -> None:
        self.session = DeviceSession(m.Hello(m.VERSIONS, vocabulary, "fake", "test"))
        self._url, self._token, self._tls = url, token, tls
        self.socket: ClientConnection
        self.inbox: list[Arrived] = []

    def connects(self) -> "Phone":
        self.socket = dial(self._url, self._token, self._tls)
        for frame in self.session.connect():
            self.socket.send(frame)
        while not any(isinstance(event, m.Welcome) for event in self.reads()):
            pass
        return self

    def cuts(self) -> None:
        self.socket.socket.close()
        self.session.cut()

    def says(self, message: m.Ask | m.Start | m.Credit | m.Cancel | m.JointFromDevice | m.Ping) -> None:
        for frame in self.session.send(message):
            self.socket.send(frame)

    def asks(self, question: str, *, generate: bool = True, **rest: object) -> int:
        request = self.session.next_request
        given: dict[str, object] = {"passages": 1, "max_tokens": 200, "credit": 200, **rest}
        self.says(m.Ask(request, question, generate, **given))  # type: ignore[arg-type]
        return request

    def reads(self) -> list[Arrived]:
        received = self.session.receive(self.socket.recv(timeout=30))
        with suppress(ConnectionClosed):  # it may have been the last that the server said
            for frame in received.frames:
                self.socket.send(frame)
        self.inbox += received.events
        return received.events

    def until_ended(self, request: int) -> m.Finished | m.Failed:
        while True:
            for event in self.inbox:
                if isinstance(event, m.Finished | m.Failed) and event.request == request:
                    return event
            self.reads()

    def text(self, request: int) -> str:
        ids = [
            token
            for event in self.inbox
            if isinstance(event, m.Tokens) and event.request == request
            for token in event.ids
        ]
        return bytes(ids).decode()


def dial(url: str, token: str, tls: ssl.SSLContext | None = None) -> ClientConnection:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    opened: ClientConnection = connect(
        url,
        additional_headers=headers,
        subprotocols=[m.SUBPROTOCOL],  # type: ignore[list-item]
        ssl=tls,
        compression=None,
        proxy=None,
        open_timeout=30,
        ping_interval=None,  # its numbers are by chance, in a thread that outlives a test: Hypothesis forbids both
        close_timeout=0.2,
        logger=_unheard,
    ).__enter__()  # it stays open for as long as the test likes
    return opened


class Slow(FakeEngine):
    """A fake engine that takes `seconds` for each decode."""

    def __init__(self, seconds: float, sequences: int = 4) -> None:
        super().__init__(sequences=sequences)
        self.seconds = seconds

    def decode(self, tokens: Mapping[int, int]) -> dict[int, Logits]:
        time.sleep(self.seconds)
        return super().decode(tokens)


class Cursed(Slow):
    """A fake engine that fails while it decodes a prompt with one of the words BREAKS, DIES or ENDS."""

    BREAKS, DIES, ENDS = b"hexed", b"doomed", b"plagued"
    """Words in a prompt: with BREAKS one decode fails, with DIES that and every later computation, with ENDS the thread
    ends.
    """

    def __init__(self, seconds: float = 0.0) -> None:
        super().__init__(seconds)
        self._dead = False

    def prefill(self, sequence: int, tokens: Sequence[int]) -> Logits:
        if self._dead:
            raise RuntimeError("nothing can be computed")
        return super().prefill(sequence, tokens)

    def decode(self, tokens: Mapping[int, int]) -> dict[int, Logits]:
        held = b" ".join(bytes(token for token in self.tokens(sequence) if token < 256) for sequence in tokens)
        if self.ENDS in held:
            raise SystemExit(self.ENDS)
        self._dead |= self.DIES in held
        if self._dead or self.BREAKS in held:
            super().decode(dict(list(tokens.items())[: len(tokens) // 2 or 1]))
            raise RuntimeError(held)
        return super().decode(tokens)


def companion(
    tokens: TokenFile,
    engine: FakeEngine,
    sections: Mapping[str, Mapping[str, object]],
    pairing: PairingDesk | None = None,
) -> CompanionServer:
    """Build a server with the given engine and a few passages; keywords change its settings by section."""
    settings = Settings(serve=Serving(port=0, metrics_port=0, drain_s=0.5))
    for name, changes in sections.items():
        settings = replace(settings, **{name: replace(getattr(settings, name), **changes)})
    own = settings.retrieval
    answering = Answering(engine, CHATML, FakeEmbedder(), FewPassages(), own.relevance, own.anchored)
    return CompanionServer(settings, tokens, answering, Batch(engine, PrefixCache(1 << 20)), pairing)


Serve = Callable[..., Served]
Pairs = Callable[[TokenFile], PairingDesk]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Starts servers; keywords change settings by section, for instance `serve(limits={"connections": 1})`."""
    running: list[Served] = []

    def start(
        engine: FakeEngine | None = None, *, pairing: Pairs | None = None, **sections: dict[str, object]
    ) -> Served:
        tokens = TokenFile(tmp_path / f"tokens{len(running)}.json")
        desk = pairing(tokens) if pairing else None
        running.append(Served(companion(tokens, engine or FakeEngine(sequences=4), sections, desk), tokens))
        return running[-1]

    yield start
    for process in running:
        process.end()
