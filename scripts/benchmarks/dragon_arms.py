"""The arms of `dragon`: one answer each way, over a real link, and what became of it.

The device is this process, pinned to its half of the cores; server and line run in processes of their own on the other.
"""

import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from queue import SimpleQueue
from typing import Any, Final, Literal, Self

from device_app.cache.states.tree import QKVTree
from device_app.companion.joint import aggregated
from device_app.companion.joint.aggregated import Aggregated, Together
from device_app.companion.link.credentials import Credentials
from device_app.companion.link.link import Link
from device_app.companion.link.request import RemoteRequest, RequestEvent, wire_bytes
from device_app.english.query import Query
from device_app.inference.local import LocalSource
from models.engine import Embedder, Engine
from models.sampling import SamplingSettings
from scripts.benchmarks import dragon_sync
from scripts.benchmarks.dragon_data import Private, Question
from scripts.benchmarks.dragon_line import Lines, Way
from scripts.benchmarks.dragon_server import Server
from scripts.benchmarks.pacing import Paced
from shared.aggregation.messages import Place, Rule
from shared.aggregation.terms import Terms
from shared.aggregation.weights import log_weight
from shared.prompt import ChatTemplate, Prompt, build
from shared.protocol import codec
from shared.protocol import messages as m
from shared.public import stored
from shared.side import Side
from shared.trace import Trace

Arm = Literal[
    "device_only",
    "device_only_greedy",
    "token_wise",
    "sequence_wise",
    "sequence_wise_compact",
    "algorithm1",
    "coupled",
    "greedy",
]

FirstArm = Arm | Literal["drcg_text"]

FREE = SamplingSettings(temperature=0.7, min_p=0.05)
_SETTLED_S: Final = 0.05
JOINT: dict[Arm, tuple[Rule, Place | None]] = {
    "algorithm1": ("algorithm1", "device"),
    "coupled": ("coupled", None),
    "greedy": ("greedy", None),
}
"""How the product writes together. Algorithm 1 begins on the device and goes where its scheduler wants it."""

_MODES: dict[Arm, dragon_sync.Mode] = {
    "token_wise": "token",
    "sequence_wise": "whole",
    "sequence_wise_compact": "sequence",
}


@dataclass(slots=True)
class Told:
    """An answer. Moments are of `time.perf_counter`: when it was asked, when the device had read its prompt, and when
    each token was known. Bytes are those of the whole request, and without its question and passages.
    """

    tokens: list[int]
    at: list[float]
    asked_at: float
    read_at: float
    up: int = 0
    down: int = 0
    up_writing: int = 0
    down_writing: int = 0
    judged: dict[Side, tuple[int, int]] = field(default_factory=dict)
    alone: str = ""
    passages: Sequence[m.PublicPassage] = ()

    @property
    def ms_per_token(self) -> float:
        """From the first token that was shown to the last; where all came at once, from when the prompt was read."""
        if self.at[0] == self.at[-1]:
            return self.ms_with_start
        return (self.at[-1] - self.at[0]) / (len(self.at) - 1) * 1000

    @property
    def ms_with_start(self) -> float:
        """From when the device had read its prompt to the last token, over all of them."""
        return (self.at[-1] - self.read_at) / len(self.at) * 1000

    @property
    def ttft_ms(self) -> float:
        """From the question to the first token."""
        return (self.at[0] - self.asked_at) * 1000

    def late(self, step_s: float) -> float:
        """Tokens of a hundred that came more than one and a half steps of the device after the one before."""
        gaps = [after - before for before, after in zip(self.at, self.at[1:], strict=False)]
        return 100 * sum(gap > 1.5 * step_s for gap in gaps) / max(len(gaps), 1)


class Bench:
    """A device and the ways to its server: one for each extra round trip, in ms."""

    def __init__(
        self,
        engine: Engine,
        template: ChatTemplate,
        embedder: Embedder,
        tree: QKVTree,
        server: Server,
        rtts: Sequence[int],
        cores: Sequence[int],
    ) -> None:
        self.source = LocalSource(engine, template)
        self.tree = tree
        self._embedder, self._server, self._rtts = embedder, server, rtts
        targets = (server.port, server.sync_port)
        self._lines = Lines([Way(target, rtt / 1000) for rtt in rtts for target in targets], cores)
        self._links: dict[int, Link] = {}
        self._sockets: dict[int, socket.socket] = {}
        self._leaving = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as opening:
            lines = opening.enter_context(self._lines)
            hello = m.Hello((m.VERSION,), self.source.engine.vocabulary_hash(), self._embedder.fingerprint, "bench")
            for place, rtt in enumerate(self._rtts):
                url = f"ws://127.0.0.1:{lines.ports[2 * place]}/"
                link = self._links[rtt] = Link(Credentials(url, self._server.token), hello)
                opening.callback(link.close)
                if not link.wait(30).connected:
                    raise RuntimeError(f"no link: {link.state.why_not()}")
                one = self._sockets[rtt] = socket.create_connection(("127.0.0.1", lines.ports[2 * place + 1]))
                opening.callback(one.close)
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._leaving = opening.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._leaving.close()

    @property
    def _engine(self) -> Paced:
        engine = self.source.engine
        assert isinstance(engine, Paced)
        return engine

    def answer(
        self,
        arm: Arm,
        question: Question,
        rtt: int,
        tokens: int,
        *,
        seed: int = 0,
        sampling: SamplingSettings = FREE,
        passages: int = 2,
        rows: int = 1,
        ahead: int | None = None,
        level: float = 0.0,
    ) -> Told:
        """One answer of so many tokens, of passages that were read before."""
        sampling = replace(sampling, seed=seed)
        if arm in ("greedy", "device_only_greedy"):
            sampling = replace(sampling, temperature=0.0)
        prompt = question.prompt(self.source.template, rows, passages)
        weights = question.weights(rows, passages, level)
        with self._counted(rtt) as told:
            if arm in ("device_only", "device_only_greedy"):
                self._alone(told, prompt, weights, sampling, tokens)
            elif arm in _MODES:
                self._exchanged(told, _MODES[arm], question, prompt, weights, sampling, tokens, passages, rtt)
            else:
                self._joint(told, arm, question, prompt, weights, sampling, tokens, passages, rows, rtt, ahead)
        return told

    @contextmanager
    def _counted(self, rtt: int) -> Iterator[Told]:
        """What passes the lines meanwhile, until nothing of this answer is under way any more."""
        place = 2 * self._rtts.index(rtt)
        before = [self._lines.carried(way) for way in (place, place + 1)]
        told = Told([], [], time.perf_counter(), 0.0)
        yield told
        time.sleep(1.2 * rtt / 1000 + _SETTLED_S)
        after = [self._lines.carried(way) for way in (place, place + 1)]
        told.read_at = told.read_at or self._engine.read_at
        told.up = sum(now[0] - then[0] for now, then in zip(after, before, strict=True))
        told.down = sum(now[1] - then[1] for now, then in zip(after, before, strict=True))
        told.up_writing += told.up
        told.down_writing += told.down

    def _alone(
        self, told: Told, prompt: Prompt, weights: Sequence[float], sampling: SamplingSettings, tokens: int
    ) -> None:
        stream = self.source.stream(prompt, sampling, max_tokens=tokens, similarities=weights, tree=self.tree)
        for piece in stream:
            told.at.append(time.perf_counter())
            told.tokens.append(piece.token)
        del told.at[tokens:], told.tokens[tokens:]

    def _exchanged(
        self,
        told: Told,
        mode: dragon_sync.Mode,
        question: Question,
        prompt: Prompt,
        weights: Sequence[float],
        sampling: SamplingSettings,
        tokens: int,
        passages: int,
        rtt: int,
    ) -> None:
        wanted = dragon_sync.Wanted(
            mode, question.text, passages, tokens, sampling.temperature, sampling.min_p, sampling.seed
        )
        server = self._sockets[rtt]
        dragon_sync.ask(server, wanted)
        decoder = self.source.decoder(prompt, weights, ahead=0, trace=Trace(), tree=self.tree)
        write = dragon_sync.token_wise if mode == "token" else dragon_sync.sequence_wise
        done = write(server, wanted, decoder, _log_h(weights), self._engine)
        told.tokens, told.at = done.tokens, done.at

    def _joint(
        self,
        told: Told,
        arm: Arm,
        question: Question,
        prompt: Prompt,
        weights: Sequence[float],
        sampling: SamplingSettings,
        tokens: int,
        passages: int,
        rows: int,
        rtt: int,
        ahead: int | None,
    ) -> None:
        asked, link = _together(arm, question.text, sampling, tokens, passages, rows), self._links[rtt]
        with _ahead(ahead), Aggregated(link, self.source, asked, Trace(), self.tree) as joint:
            for piece in joint.pieces(prompt, weights):
                told.at.append(time.perf_counter())
                told.tokens.append(piece.token)
        del told.at[tokens:], told.tokens[tokens:]
        told.judged, told.alone = joint.report.judged, joint.report.alone
        terms = Terms("device", asked.by, asked.at, sampling.seed, self._engine.info.vocabulary, tokens)
        told.up_writing -= wire_bytes(codec.device_frame(asked.ask(terms, link.state.round_trip_s)))
        found = m.Numbered(1, m.Sources(1, joint.report.passages))
        told.down_writing -= wire_bytes(codec.server_frame(found)) - 4  # without a mask

    def first_token(self, arm: FirstArm, private: Private, text: str, rtt: int, passages: int) -> float:
        """Milliseconds from the question to the first token: the search of private passages and all the rest."""
        if arm != "drcg_text" and arm in JOINT:
            return self._first_joint(arm, private, text, rtt, passages)
        begun = time.perf_counter()
        public: SimpleQueue[RequestEvent] = SimpleQueue()
        if arm == "drcg_text":
            self._links[rtt].ask(m.Ask(1, text, False, passages, 1, 0), _into(public))
        elif arm == "token_wise":
            dragon_sync.ask(self._sockets[rtt], dragon_sync.Wanted("token", text, passages, 1, 0.7, 0.05, 0))
        question = _found(private, text, passages)
        prompt, weights = question.prompt(self.source.template, 1, passages), question.weights(1, passages, 0.0)
        told = Told([], [], begun, 0.0)
        if arm == "drcg_text":
            texts = [*question.passages, *(stored(one) for one in _sources(public))]
            whole = build(text, texts, self.source.template).joined()
            self._alone(told, whole, (1.0,), FREE, 1)
        elif arm == "device_only":
            self._alone(told, prompt, weights, FREE, 1)
        elif arm == "token_wise":
            decoder = self.source.decoder(prompt, weights, ahead=0, trace=Trace(), tree=self.tree)
            wanted = dragon_sync.Wanted("token", text, passages, 1, 0.7, 0.05, 0)
            told.at = dragon_sync.token_wise(self._sockets[rtt], wanted, decoder, _log_h(weights), self._engine).at
        time.sleep(1.2 * rtt / 1000 + _SETTLED_S)
        return told.ttft_ms

    def _first_joint(self, arm: Arm, private: Private, text: str, rtt: int, passages: int) -> float:
        """The server is asked before anything is looked up here, as the product does."""
        begun = time.perf_counter()
        sampling = replace(FREE, temperature=0.0) if arm == "greedy" else FREE
        asked = _together(arm, text, sampling, 2, passages, 1)
        with Aggregated(self._links[rtt], self.source, asked, Trace(), self.tree) as joint:
            question = _found(private, text, passages)
            prompt = question.prompt(self.source.template, 1, passages)
            with closing(joint.pieces(prompt, question.weights(1, passages, 0.0))) as pieces:
                next(pieces)
                first = time.perf_counter() - begun
        time.sleep(1.2 * rtt / 1000 + _SETTLED_S)
        return first * 1000


def _together(arm: Arm, text: str, sampling: SamplingSettings, tokens: int, passages: int, rows: int) -> Together:
    rule, place = JOINT[arm]
    return Together(text, sampling, tokens, passages, rows, rule, place, open=rule == "algorithm1")


def _found(private: Private, text: str, passages: int) -> Question:
    hits = private.retriever.search(Query(text), passages)
    return Question(text, tuple(hit.passage for hit in hits), tuple(hit.similarity for hit in hits))


def _log_h(weights: Sequence[float]) -> float:
    return log_weight(weights)


def _into(queue: "SimpleQueue[RequestEvent]") -> Any:
    def hear(_: RemoteRequest, heard: RequestEvent) -> None:
        queue.put(heard)

    return hear


def _sources(heard: "SimpleQueue[RequestEvent]") -> tuple[m.PublicPassage, ...]:
    while not isinstance(event := heard.get(timeout=30), m.Sources):
        pass
    return event.passages


@contextmanager
def _ahead(tokens: int | None) -> Iterator[None]:
    """Within, the product drafts so far ahead."""
    kept = aggregated.AHEAD
    aggregated.AHEAD = kept if tokens is None else tokens  # type: ignore[misc]
    try:
        yield
    finally:
        aggregated.AHEAD = kept  # type: ignore[misc]
