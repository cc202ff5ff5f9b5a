"""The source that generates the arms' idle work; it computes nothing twice.

An arm reuses what another arm's idle work generated or computed for the same prompt, and is charged the same cost,
because the model always returns the same result.
"""

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field

from device_app.cache.states.tree import Node, QKVTree
from device_app.inference.local import LocalSource
from device_app.inference.sureness import Sureness
from models.engine import KVSlice
from models.following_weights import FollowingWeights
from models.sampling import SamplingSettings
from shared.ending import Piece
from shared.prompt import Prompt
from shared.trace import Trace


@dataclass(slots=True)
class Work:
    """The cost of idle work: tokens prefilled and decoded, and the seconds that another arm spent on reused work."""

    prefilled: int = 0
    decoded: int = 0
    owed_s: float = 0.0


@dataclass(slots=True)
class Written:
    """The results of all arms' idle work: generated pieces with their decoding seconds, and computed states, by the
    tokens before them; and the total of prefilled tokens and seconds.
    """

    pieces: dict[tuple[float | None, ...], tuple[list[Piece], float, Sureness | None]] = field(default_factory=dict)
    states: dict[tuple[int, ...], KVSlice] = field(default_factory=dict)
    prefilled: int = 1
    seconds: float = 0.0


@dataclass(frozen=True)
class IdleSource(LocalSource):
    """The source of generated text and attention states for idle work: it counts the work, and computes nothing that
    another arm computed already.
    """

    written: Written = field(default_factory=Written)
    work: Work = field(default_factory=Work)

    def stream(
        self,
        prompt: Prompt,
        sampling: SamplingSettings,
        *,
        max_tokens: int,
        similarities: Sequence[float] = (1.0,),
        relevance: float | None = None,
        trace: Trace | None = None,
        tree: QKVTree | None = None,
        sureness: Sureness | None = None,
        following: FollowingWeights | None = None,
    ) -> Generator[Piece, None, None]:
        """Stream an answer as the app's `LocalSource` does, but reuse earlier results for the same prompt."""
        trace = trace or Trace()
        tokens = [token for path in self.paths(prompt) for node in path for token in node.tokens]
        key = (max_tokens, relevance, *tokens, *self.tokens(prompt.tail))
        if key in self.written.pieces:
            pieces, seconds, sure = self.written.pieces[key]
            if sureness and sure:
                sureness.least, sureness.abstention, sureness.yes_margin = sure.least, sure.abstention, sure.yes_margin
            if tree and tree.limit:
                self.prefilled(prompt, trace, tree)
            else:
                trace.tokens_prefilled = self.count(prompt)
                seconds += self._seconds(trace.tokens_prefilled)
            trace.tokens_decoded = len(pieces)
            self.work.owed_s += seconds
            self._count(trace)
            yield from pieces
            return
        pieces, owed = [], self.work.owed_s
        kept = super().stream(
            prompt,
            sampling,
            max_tokens=max_tokens,
            similarities=similarities,
            relevance=relevance,
            trace=trace,
            tree=tree,
            sureness=sureness,
            following=following,
        )
        try:
            with closing(kept) as stream:
                for piece in stream:
                    pieces.append(piece)
                    yield piece
        finally:
            took = dict(trace.steps)
            self.written.pieces[key] = pieces, took["decode"] / 1000, sureness
            self._measured(trace, owed)
            self._count(trace)

    def alternatives(
        self,
        prompt: Prompt,
        beginnings: Sequence[str],
        count: int,
        *,
        max_tokens: int,
        trace: Trace,
        tree: QKVTree | None = None,
    ) -> list[str]:
        """Return the model's alternative texts as `LocalSource.alternatives` does, and count the work; `trace` is that
        of this call only.
        """
        said = super().alternatives(prompt, beginnings, count, max_tokens=max_tokens, trace=trace, tree=tree)
        self._count(trace)
        return said

    def prefill(self, prompt: Prompt, tree: QKVTree, trace: Trace | None = None) -> Trace:
        """Prefill as the app's `LocalSource` does, and count the work."""
        owed = self.work.owed_s
        trace = super().prefill(prompt, tree, trace)
        self._measured(trace, owed)
        self._count(trace)
        return trace

    def keep(self, prompt: Prompt, tree: QKVTree) -> None:
        """Cache the prompt's attention states as the app's `LocalSource` does, and share them with the other arms."""
        super().keep(prompt, tree)
        for row, path in enumerate(self.paths(prompt) if tree.limit else ()):
            for start, tokens in _ends(path):
                if tokens not in self.written.states:
                    self.written.states[tokens] = self.engine.slice(row, start, len(tokens))

    def _join(self, row: int, path: Sequence[Node], held: int, trace: Trace, tree: QKVTree | None) -> list[int]:
        """Join cached attention states as the app's `LocalSource` does, and also states that another arm computed,
        which are charged as if this arm had computed them.
        """
        rest = super()._join(row, path, held, trace, tree)
        for start, tokens in _ends(path):
            if start == self.engine.length(row) and tokens in self.written.states:
                self.engine.join(row, [self.written.states[tokens]])
                self.work.owed_s += self._seconds(len(tokens) - start)
                rest = rest[len(tokens) - start :]
        return rest

    def _measured(self, trace: Trace, owed: float) -> None:
        """Update the measured prefill speed, if every state was computed and none joined."""
        if self.work.owed_s == owed:
            self.written.prefilled += trace.tokens_prefilled
            self.written.seconds += dict(trace.steps)["prefill"] / 1000

    def _seconds(self, tokens: int) -> float:
        """Return the seconds that prefilling `tokens` tokens takes, by the measured speed."""
        return tokens * self.written.seconds / self.written.prefilled

    def _count(self, trace: Trace) -> None:
        self.work.prefilled += trace.tokens_prefilled
        self.work.decoded += trace.tokens_decoded


def _ends(path: Sequence[Node]) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield, for each part of a prompt (`path`), the position of its first token, and all tokens of the prompt up to
    the part's end.
    """
    tokens: tuple[int, ...] = ()
    for node in path:
        start, tokens = len(tokens), (*tokens, *node.tokens)
        yield start, tokens
