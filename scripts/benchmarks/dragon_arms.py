"""The arms of the benchmark `dragon`: each writes one answer, over a real link, with its measurements.

The device is this process, pinned to its half of the cores; server and line run in their own processes on the other
half.
"""

import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Final, Self

from device_app.cache.states.tree import QKVTree
from device_app.companion.joint import aggregated
from device_app.companion.joint.aggregated import Aggregated, JointQuestion
from device_app.companion.link.credentials import Credentials
from device_app.companion.link.link import Link
from device_app.companion.link.request import wire_bytes
from device_app.inference.local import LocalSource
from models.engine import Embedder, Engine
from models.sampling import SamplingSettings
from scripts.benchmarks import dragon_sync
from scripts.benchmarks.dragon_answer import FREE, WAYS, Arm, TimedAnswer, rule_and_place
from scripts.benchmarks.dragon_data import Question
from scripts.benchmarks.dragon_line import Lines, Way
from scripts.benchmarks.dragon_server import Server
from scripts.benchmarks.pacing import Paced
from shared.aggregation.terms import Terms
from shared.aggregation.weights import log_weight, row_weights
from shared.prompt import ChatTemplate, Prompt
from shared.protocol import codec
from shared.protocol import messages as m
from shared.trace import Trace

SETTLED_S: Final = 0.05
"""Seconds to wait until all bytes that were sent on a line without delay have arrived."""

_MODES: dict[Arm, dragon_sync.Mode] = {
    "token_wise": "token",
    "sequence_wise": "whole",
    "sequence_wise_compact": "sequence",
}


class Bench:
    """A device and its connections to the server, one for each extra round trip in ms."""

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
        self.links: dict[int, Link] = {}
        self.sockets: dict[int, socket.socket] = {}
        self._cleanup = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as opening:
            lines = opening.enter_context(self._lines)
            hello = m.Hello(m.VERSIONS, self.source.engine.vocabulary_hash(), self._embedder.fingerprint, "bench")
            for place, rtt in enumerate(self._rtts):
                url = f"ws://127.0.0.1:{lines.ports[2 * place]}/"
                link = self.links[rtt] = Link(Credentials(url, self._server.token), hello)
                opening.callback(link.close)
                if not link.wait(30).connected:
                    raise RuntimeError(f"there is no link to the server: {link.state.why_not()}")
                connection = self.sockets[rtt] = socket.create_connection(("127.0.0.1", lines.ports[2 * place + 1]))
                opening.callback(connection.close)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._cleanup = opening.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._cleanup.close()

    @property
    def _engine(self) -> Paced:
        engine = self.source.engine
        assert isinstance(engine, Paced)
        return engine

    def delay(self, rtt: int, extra_rtt_s: float) -> None:
        """Set the extra round trip of a line. `rtt` is the line's initial extra round trip in ms, by which it is
        identified.
        """
        self._lines.delay(2 * self._rtts.index(rtt), extra_rtt_s)

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
    ) -> TimedAnswer:
        """Write one answer of `tokens` tokens with an arm; its passages have been prefilled before."""
        sampling = replace(sampling, seed=seed)
        if arm in ("greedy", "device_only_greedy"):
            sampling = replace(sampling, temperature=0.0)
        prompt = question.prompt(self.source.template, rows, passages)
        weights = question.weights(rows, passages, level)
        with self._counted(rtt) as answer:
            if arm in ("device_only", "device_only_greedy"):
                self.alone(answer, prompt, weights, sampling, tokens, self.tree)
            elif arm in _MODES:
                self._exchanged(answer, _MODES[arm], question, prompt, weights, sampling, tokens, passages, rtt)
            else:
                self._joint(answer, arm, question, prompt, weights, sampling, tokens, passages, rows, rtt, ahead)
        return answer

    @contextmanager
    def _counted(self, rtt: int) -> Iterator[TimedAnswer]:
        """Yield a new answer, and count the bytes on the lines until all traffic of the answer has arrived."""
        place = 2 * self._rtts.index(rtt)
        before = [self._lines.carried(way) for way in (place, place + 1)]
        answer = TimedAnswer([], [], time.perf_counter(), 0.0)
        yield answer
        time.sleep(1.2 * rtt / 1000 + SETTLED_S)
        after = [self._lines.carried(way) for way in (place, place + 1)]
        answer.read_at = answer.read_at or self._engine.read_at
        answer.up = sum(now[0] - then[0] for now, then in zip(after, before, strict=True))
        answer.down = sum(now[1] - then[1] for now, then in zip(after, before, strict=True))
        answer.up_writing += answer.up
        answer.down_writing += answer.down

    def alone(
        self,
        answer: TimedAnswer,
        prompt: Prompt,
        weights: Sequence[float],
        sampling: SamplingSettings,
        tokens: int,
        tree: QKVTree | None,
    ) -> None:
        """Let the device write the answer alone, reusing the cached KV states in `tree`."""
        stream = self.source.stream(prompt, sampling, max_tokens=tokens, similarities=weights, tree=tree)
        for piece in stream:
            answer.at.append(time.perf_counter())
            answer.tokens.append(piece.token)
        del answer.at[tokens:], answer.tokens[tokens:]

    def _exchanged(
        self,
        answer: TimedAnswer,
        mode: dragon_sync.Mode,
        question: Question,
        prompt: Prompt,
        weights: Sequence[float],
        sampling: SamplingSettings,
        tokens: int,
        passages: int,
        rtt: int,
    ) -> None:
        request = dragon_sync.JointRequest(
            mode, question.text, passages, tokens, sampling.temperature, sampling.min_p, sampling.seed
        )
        server = self.sockets[rtt]
        dragon_sync.ask(server, request)
        decoder = self.source.decoder(prompt, row_weights(weights), ahead=0, trace=Trace(), tree=self.tree)
        write = dragon_sync.token_wise if mode == "token" else dragon_sync.sequence_wise
        done = write(server, request, decoder, log_weight(weights), self._engine)
        answer.tokens, answer.at = done.tokens, done.at

    def _joint(
        self,
        answer: TimedAnswer,
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
        asked, link = joint_question(arm, question.text, sampling, tokens, passages, rows), self.links[rtt]
        with _ahead(ahead), Aggregated(link, self.source, asked, Trace(), self.tree) as joint:
            for piece in joint.pieces(prompt, weights):
                answer.at.append(time.perf_counter())
                answer.tokens.append(piece.token)
        del answer.at[tokens:], answer.tokens[tokens:]
        report = joint.report
        answer.judged, answer.alone, answer.changes = report.judged, report.alone, report.changes
        terms = Terms("device", asked.by, asked.at, sampling.seed, self._engine.info.vocabulary, tokens)
        answer.up_writing -= wire_bytes(codec.device_frame(asked.ask(terms, link.state.round_trip_s)))
        sources = m.Numbered(1, m.Sources(1, joint.report.passages))
        answer.down_writing -= wire_bytes(codec.server_frame(sources)) - 4  # server frames have no mask


def joint_question(
    arm: Arm, text: str, sampling: SamplingSettings, tokens: int, passages: int, rows: int
) -> JointQuestion:
    """Return the request for a joint answer, under the rule and the settings of this arm."""
    rule, place = rule_and_place(arm)
    scheduled = WAYS.get(arm) == "scheduled"
    return JointQuestion(
        text, sampling, tokens, passages, rows, rule, place, open=rule == "algorithm1", scheduled=scheduled
    )


@contextmanager
def _ahead(tokens: int | None) -> Iterator[None]:
    """Within the block, set the number of tokens that the product drafts ahead."""
    kept = aggregated.AHEAD
    aggregated.AHEAD = kept if tokens is None else tokens  # type: ignore[misc]
    try:
        yield
    finally:
        aggregated.AHEAD = kept  # type: ignore[misc]
