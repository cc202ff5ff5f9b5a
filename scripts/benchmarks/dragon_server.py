"""The companion server of the benchmark `dragon`: the product's parts in a process of their own, around an engine with
a set pace.

A second port serves the exchange of the baselines (`dragon_sync`), with a second engine of the same kind.
"""

import asyncio
import os
import socket
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import accumulate, pairwise
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from signal import SIG_IGN, SIGINT, signal
from typing import Self

import msgspec
import numpy as np

from cloud_server.access.tokens import TokenFile
from cloud_server.engine.batch import Batch
from cloud_server.engine.prefix_cache import PrefixCache
from cloud_server.monitoring.load import VectorUse
from cloud_server.pipelines.answering import Answering
from cloud_server.retrieval.corpus import Corpus, Ticket, Vector
from cloud_server.retrieval.search import IndexCorpus
from cloud_server.serving.server import CompanionServer
from cloud_server.settings import Limits, Log, Retrieval, Serve, Settings
from device_app.settings import Model
from models.catalog import Weights, find
from models.chat_template import parse
from models.decoder import Decoder
from models.embedder import OnnxEmbedder
from models.engine import Engine, KVSlice, KVType, Logits
from models.llama_cpp import LlamaCppEngine
from models.llama_model import LlamaModel
from scripts.benchmarks import dragon_sync
from scripts.benchmarks.pacing import Pace, paced
from shared.prompt import ChatTemplate, Segment
from shared.protocol import messages as m
from shared.public import public_prompt

MODEL, EMBEDDER = "smollm2-135m", "all-minilm-l6-v2"

_SPAWN = get_context("spawn")
_LIMITS = Limits(
    connections=64, connects_per_minute=1e6, tokens_per_minute=1e9, searches_per_minute=1e6, waiting_each=256
)


@dataclass(frozen=True, slots=True)
class ServerSetup:
    """The settings of the server: its parts and cores. A `level` above 0 replaces each passage's similarity."""

    weights: Weights
    index: Path
    room: Path
    cores: Sequence[int]
    pace: Pace
    level: "Synchronized[float]"


def level() -> "Synchronized[float]":
    """Return the shared number `level` for `ServerSetup`. It is initially 0: similarities as retrieved."""
    value: Synchronized[float] = _SPAWN.Value("d", 0.0)
    return value


class Server:
    """A server process, run in a `with` block, on `port`; baselines use `sync_port`. A device connects with `token`."""

    def __init__(self, place: ServerSetup) -> None:
        self.token = TokenFile(place.room / "tokens.json").create("bench", datetime.now(UTC))[1]
        self._receiver, sender = _SPAWN.Pipe()
        self._process = _SPAWN.Process(target=_serve, args=(place, sender), daemon=True)

    def __enter__(self) -> Self:
        self._process.start()
        self.port: int
        self.sync_port: int
        self.port, self.sync_port = self._receiver.recv()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.join(10)
        self._process.kill()


class Levelled:
    """A corpus whose similarities can all be set to one level, which forces the weight of a mixture. Look-ahead, which
    only pipelines with a text of their own use, leaves them as they are.

    Each method is written out: a new way of searching is an error of types until it is levelled, too.
    """

    def __init__(self, corpus: Corpus, value: "Synchronized[float]") -> None:
        self._corpus, self._level = corpus, value

    @property
    def embedder(self) -> str:
        return self._corpus.embedder

    def __len__(self) -> int:
        return len(self._corpus)

    def vector_use(self) -> VectorUse:
        return self._corpus.vector_use()

    def relieve(self) -> None:
        self._corpus.relieve()

    def refresh(self) -> None:
        self._corpus.refresh()

    def search(self, vector: Vector, most: int) -> list[m.PublicPassage]:
        return self.search_many([vector], most)[0]

    def passages(self, ids: Sequence[int]) -> list[m.PublicPassage]:
        return self._levelled(self._corpus.passages(ids))

    def search_many(self, vectors: Sequence[Vector], most: int) -> list[list[m.PublicPassage]]:
        return [self._levelled(passages) for passages in self._corpus.search_many(vectors, most)]

    def provisional(self, vector: Vector, most: int) -> list[m.PublicPassage]:
        return self._levelled(self._corpus.provisional(vector, most))

    def look_ahead(self, vector: Vector, pipeline: str) -> Ticket:
        return self._corpus.look_ahead(vector, pipeline)

    def _levelled(self, passages: list[m.PublicPassage]) -> list[m.PublicPassage]:
        if not self._level.value:
            return passages
        return [msgspec.structs.replace(passage, similarity=self._level.value) for passage in passages]


def engine(weights: Weights, threads: int, kv: KVType | None = None) -> LlamaCppEngine:
    """Return an engine with the server's default settings, but for the given number format of attention states."""
    own = Settings().model
    return LlamaCppEngine(
        LlamaModel(weights.path(find(MODEL))),
        context=own.context,
        sequences=own.sequences,
        threads=threads,
        kv_type=kv or own.kv,
    )


def begin(
    own: Engine, template: ChatTemplate, question: str, passages: Sequence[m.PublicPassage], prefixes: PrefixCache
) -> Decoder:
    """Prefill one prompt with all passages, using cached prefixes. Return a decoder for its answer."""
    return Decoder(
        own, {0: _read(own, _segments(own, template, question, passages), prefixes)}, np.zeros(1, np.float32)
    )


def states(
    own: Engine, template: ChatTemplate, question: str, passages: Sequence[m.PublicPassage], prefixes: PrefixCache
) -> list[KVSlice]:
    """Return the attention states of the prompt's instructions (its head) and of each passage, one after the other, as
    bytes.
    """
    segments = _segments(own, template, question, passages)
    _read(own, segments, prefixes)
    ends = list(accumulate(map(len, segments[:-1]), initial=0))
    return [own.slice(0, start, stop) for start, stop in pairwise(ends)]


def _segments(
    own: Engine, template: ChatTemplate, question: str, passages: Sequence[m.PublicPassage]
) -> list[list[int]]:
    """Return the tokens of the prompt's parts; the last part holds the question."""
    prompt = public_prompt(question, passages, template)
    parts = (prompt.head, *((segment,) for part in prompt.passages for segment in part), prompt.tail)
    return [_tokens(own, part) for part in parts if part]


def _read(own: Engine, segments: Sequence[Sequence[int]], prefixes: PrefixCache) -> Logits:
    """Prefill a prompt in sequence 0, using and storing cached prefixes; return its last logits."""
    own.clear(0)
    held = prefixes.join(own, 0, segments)
    logits = own.prefill(0, [token for segment in segments for token in segment][held:])
    prefixes.keep(own, 0, segments)
    return logits


def _tokens(own: Engine, segments: Sequence[Segment]) -> list[int]:
    return [token for segment in segments for token in own.tokenize(segment.text, special=segment.special)]


def end_with_parent() -> None:
    """Exit when the parent process ends, so that a killed benchmark leaves no server behind."""
    if parent := parent_process():
        parent.join()
    os._exit(1)


def _serve(place: ServerSetup, sender: Connection) -> None:
    signal(SIGINT, SIG_IGN)
    threading.Thread(target=end_with_parent, daemon=True).start()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, place.cores)
    settings = Settings(
        serve=Serve(port=0, metrics_port=0, drain_s=0.0),
        limits=_LIMITS,
        retrieval=replace(Retrieval(), relevance=0.0),
        log=Log(level="error"),
    )
    embedder = OnnxEmbedder(place.weights.path(find(EMBEDDER)), threads=1)
    # The device can join states in its own format alone.
    kinds: tuple[None, KVType] = (None, Model().kv)
    writing, exchanging = (paced(engine(place.weights, len(place.cores), kv), place.pace) for kv in kinds)
    template = parse(writing.info.chat_template, writing.info.bos)
    corpus = Levelled(IndexCorpus(place.index, embedder.fingerprint), place.level)
    answering = Answering(writing, template, embedder, corpus, settings.retrieval.relevance)
    room = round(settings.model.prefix_mb * 1e6)
    server = CompanionServer(
        settings, TokenFile(place.room / "tokens.json"), answering, Batch(writing, PrefixCache(room))
    )
    kept = PrefixCache(room)
    listening = socket.create_server(("127.0.0.1", 0))
    threading.Thread(
        target=dragon_sync.serve,
        args=(
            listening,
            answering,
            lambda request, passages: begin(exchanging, template, request.question, passages, kept),
            lambda request, passages: states(exchanging, template, request.question, passages, kept),
        ),
        daemon=True,
    ).start()
    asyncio.run(server.run(lambda _host, port, _probes: sender.send((port, listening.getsockname()[1])), signals=False))
