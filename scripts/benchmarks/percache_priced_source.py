"""A source and trees that compute nothing twice: each answer is computed once for all arms, and each arm is charged the
price that the answer would cost it.

The answer to a prompt is the same with and without cached states. A predicted question's answer is computed only once
it is served; until then its text is a ticket, which stands for the answer.
"""

import time
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, field

import numpy as np

from device_app.cache.states.tree import Node, QKVTree, name_behind
from device_app.inference.local import LocalSource
from device_app.inference.sureness import Sureness
from models.engine import Embedder, Engine
from models.following_weights import FollowingWeights
from models.sampling import SamplingSettings
from scripts.benchmarks.percache_idle import IdleSource
from scripts.benchmarks.percache_prices import Measured, Prices, Samples, Skips
from shared.ending import Piece
from shared.prompt import Prompt, Segment
from shared.trace import Trace
from storage.kv_slices import SliceRow
from storage.vectors import Vectors

DISCARDED = 4
"""Tokens at the end of the last matched chunk that are computed again, as the next text may merge with them (PerCache,
B.2: "the last few").
"""

_TICKET = "answer to be computed "


@dataclass(frozen=True)
class PricedTree(QKVTree):
    """A cache of KV states that stores only which tokens would be cached, not their states. `token_bytes` is the size
    that a token's state would have.
    """

    token_bytes: int = 0

    def matched(self, kv_key: str, path: Sequence[Node]) -> int:
        """Return how many tokens at the start of the prompt (`path`) would have cached states if states were stored."""
        missing = {name for name, _ in self.missing(kv_key, path)}
        held = 0
        for name, node in zip(self._names(kv_key, path), path, strict=True):
            if name in missing:
                break
            held += len(node.tokens)
        return held

    def keep(self, engine: Engine, row: int, path: Sequence[Node]) -> int:  # noqa: ARG002
        """Store the prompt's parts (`path`) and count their use, as if sequence `row` began with them; return how many
        are new.
        """
        if not self.limit:
            return 0
        names = self._names(engine.info.kv_key, path)
        known = self.rows.known(names)
        for place, (node, name) in enumerate(zip(path, names, strict=True)):
            if name not in known:
                parent, size = names[place - 1] if place else None, len(node.tokens) * self.token_bytes
                passage = node.segments[0].passage if node.segments else None
                self.rows.put(name, parent, engine.info.kv_key, passage, len(node.tokens), size)
        self.rows.used(names)
        self.trim()
        return len(set(names) - known)

    def prune(self, kv_key: str | None = None) -> int:  # noqa: ARG002
        """Drop nothing, because no passage is removed and there are no files."""
        return 0

    def _names(self, kv_key: str, path: Sequence[Node]) -> list[str]:
        names = [kv_key]
        for node in path:
            names.append(name_behind(names[-1], node.segments))
        return names[1:]


@dataclass(frozen=True)
class BoundPricedTree(PricedTree):
    """A `PricedTree`, which stores no states, that keeps the passages in the order in which they were retrieved."""

    def order(self, kv_key: str, root: Sequence[Segment], passages: Sequence[Sequence[Segment]]) -> list[int]:  # noqa: ARG002
        """Return the passages unchanged, in the order in which they were retrieved."""
        return list(range(len(passages)))


@dataclass(frozen=True)
class TextTree(BoundPricedTree):
    """PerCache's tree: chunks in retrieved order, matched by their text (section 4.2.2).

    Two measures keep tokens exact that a tokeniser merges across chunks (B.2): paths share a chunk only if the chunk
    after it is the same, too, and of a match's last chunk, the last tokens are computed again.
    """

    def matched(self, kv_key: str, path: Sequence[Node]) -> int:
        """Return how many tokens at the start of the prompt (`path`) would have usable cached states."""
        rows = [row for row in self.rows.all() if row.kv_key == kv_key]
        by_name = {row.name: row for row in rows}
        parent: str | None = None
        held = 0
        for name, node in zip(self._names(kv_key, path), path, strict=True):
            if name in by_name:
                held, parent = held + len(node.tokens), name
                continue
            if _is_kept(rows, parent, node):
                held += len(node.tokens)
            break
        return max(held - DISCARDED, 0)

    def missing(self, kv_key: str, path: Sequence[Node]) -> list[tuple[str, Node]]:
        """Return the name and the node of each part of the prompt (`path`) that the tree has not stored."""
        names = self._names(kv_key, path)
        known = self.rows.known(names)
        return [(name, node) for name, node in zip(names, path, strict=True) if name not in known]

    def _names(self, kv_key: str, path: Sequence[Node]) -> list[str]:
        names = [kv_key]
        for place, node in enumerate(path):
            after = path[place + 1].segments if place + 1 < len(path) else ()
            names.append(name_behind(names[-1], (*node.segments, *after)))
        return names[1:]


def _is_kept(rows: Sequence[SliceRow], parent: str | None, node: Node) -> bool:
    passage = node.segments[0].passage if node.segments else None
    return any(row.parent == parent and row.passage_id == passage for row in rows)


@dataclass(slots=True)
class RememberingEmbedder:
    """An embedder that embeds a text of idle work once for all arms; the texts that questions need are embedded each
    time.
    """

    embedder: Embedder
    asking: bool = False
    vectors: dict[str, Vectors] = field(default_factory=dict)

    @property
    def fingerprint(self) -> str:
        return self.embedder.fingerprint

    @property
    def dimensions(self) -> int:
        return self.embedder.dimensions

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return the texts' unit vectors, shape (texts, dimensions)."""
        if self.asking or not texts:
            return self.embedder.embed(texts)
        new = [text for text in dict.fromkeys(texts) if text not in self.vectors]
        self.vectors |= dict(zip(new, self.embedder.embed(new), strict=True))
        return np.stack([self.vectors[text] for text in texts])


@dataclass(frozen=True, slots=True)
class Computed:
    """A computed answer: its pieces, and the tokens and ms that computing it took."""

    pieces: tuple[Piece, ...]
    measured: Measured


@dataclass(slots=True)
class Book:
    """The record that all arms share: answers by prompt, the prompts behind tickets (texts that stand for answers), the
    samples for prices, and the ms spent on computing so far.
    """

    source: LocalSource
    answers: dict[tuple[object, ...], Computed] = field(default_factory=dict)
    tickets: dict[str, tuple[Prompt, Sequence[float], int]] = field(default_factory=dict)
    samples: Samples = field(default_factory=Samples)
    spent_ms: float = 0.0

    def answer(self, prompt: Prompt, similarities: Sequence[float], most: int) -> Computed:
        """Return the answer to a prompt. A new prompt's answer is computed from its first token on."""
        key = (most, tuple(similarities), repr(prompt.text()), len(prompt.passages))
        if key not in self.answers:
            trace, start = Trace(), time.perf_counter()
            stream = self.source.stream(
                prompt, SamplingSettings(), max_tokens=most, similarities=similarities, trace=trace
            )
            with closing(stream):
                pieces = tuple(stream)
            steps = dict(trace.steps)
            rows = max(len(prompt.passages), 1)
            measured = Measured(
                trace.tokens_prefilled, rows, trace.tokens_decoded, steps["prefill"], steps.get("decode", 0.0)
            )
            self.samples.answers.append(measured)
            self.answers[key] = Computed(pieces, measured)
            self.spent_ms += (time.perf_counter() - start) * 1000
        return self.answers[key]

    def ticket(self, prompt: Prompt, similarities: Sequence[float], most: int) -> str:
        """Return a text that stands for the prompt's answer until the answer is needed."""
        name = f"{_TICKET}{len(self.tickets)}."
        self.tickets[name] = prompt, similarities, most
        return name

    def text(self, said: str) -> str:
        """Return the text of an answer; if it is a ticket (a stand-in for an answer), compute that answer."""
        if said not in self.tickets:
            return said
        return "".join(piece.text for piece in self.answer(*self.tickets[said]).pieces)

    @property
    def mean_decoded(self) -> float:
        """The mean tokens of the answers computed so far."""
        answers = self.samples.answers
        return sum(answer.decoded for answer in answers) / max(len(answers), 1)


@dataclass(frozen=True)
class PricedSource(IdleSource):
    """A source that computes no answer twice, and charges an arm what its prompts would cost with the arm's cached
    states. `idle`: answers are tickets (stand-ins). `shape` is the number of rows (sequences) of the last prompt.
    """

    book: Book = field(kw_only=True)
    prices: Prices = field(kw_only=True)
    skips: Skips = "prefix"
    idle: bool = False
    shape: list[int] = field(default_factory=lambda: [1])

    def stream(
        self,
        prompt: Prompt,
        sampling: SamplingSettings,  # noqa: ARG002
        *,
        max_tokens: int,
        similarities: Sequence[float] = (1.0,),
        relevance: float | None = None,  # noqa: ARG002
        trace: Trace | None = None,
        tree: QKVTree | None = None,
        sureness: Sureness | None = None,  # noqa: ARG002
        following: FollowingWeights | None = None,  # noqa: ARG002
    ) -> Generator[Piece, None, None]:
        """Stream the prompt's answer, which is computed for the first arm that needs it."""
        trace = trace or Trace()
        before = self.book.spent_ms
        with trace.step("prefill"):
            self._prefilled(prompt, trace, tree)
        if self.idle and prompt.passages:
            pieces: Sequence[Piece] = (Piece(-1, self.book.ticket(prompt, similarities, max_tokens)),)
            trace.tokens_decoded = round(self.book.mean_decoded)
        else:
            pieces = self.book.answer(prompt, similarities, max_tokens).pieces
            trace.tokens_decoded = len(pieces)
        self.shape[0] = max(len(prompt.passages), 1)
        self._charge(trace, self.shape[0], before)
        for piece in pieces:
            trace.first_token()
            yield piece

    def prefill(self, prompt: Prompt, tree: QKVTree, trace: Trace | None = None) -> Trace:
        """Charge the arm for those states of the prompt that are not cached, and record them as cached."""
        trace, before = trace or Trace(), self.book.spent_ms
        with trace.step("prefill"):
            self._prefilled(prompt, trace, tree)
        self._charge(trace, 1, before)
        self.keep(prompt, tree)
        return trace

    def keep(self, prompt: Prompt, tree: QKVTree) -> None:
        """Record each of the prompt's rows (prompts with a part of the passages) as cached."""
        for row, path in enumerate(self.paths(prompt)):
            tree.keep(self.engine, row, path)

    def priced(self, trace: Trace, rows: int) -> tuple[float, float]:
        """Return the ms to the first and to the last token of an answer."""
        return self.prices.answer(trace, rows, self.skips)

    def _prefilled(self, prompt: Prompt, trace: Trace, tree: QKVTree | None) -> None:
        """Count the prompt's cached and prefilled tokens. Its rows (sequences) share the instructions, which count only
        once.
        """
        paths, tail, key = self.paths(prompt), len(self.tokens(prompt.tail)), self.engine.info.kv_key
        shared = len(paths[0][0].tokens) if len(paths) > 1 else 0
        for number, path in enumerate(paths):
            whole = sum(len(node.tokens) for node in path)
            held = tree.matched(key, path) if isinstance(tree, PricedTree) and tree.limit else 0
            repeated = shared if number else 0
            trace.tokens_cached += max(held - repeated, 0)
            trace.tokens_prefilled += whole - max(held, repeated) + tail

    def _charge(self, trace: Trace, rows: int, before: float) -> None:
        """Add the tokens and the priced seconds to the idle work, and subtract the time that computing really took."""
        self.work.prefilled += trace.tokens_prefilled
        self.work.decoded += trace.tokens_decoded
        self.work.owed_s += (self.priced(trace, rows)[1] - (self.book.spent_ms - before)) / 1000
