"""An engine of llama.cpp that also provides features. Independent of draft networks.

llama.cpp computes features after `llama_set_embeddings`, which makes every token of a pass an output. Decoding and
verifying need the logits of all their tokens in any case: there features cost nothing, and the logits are the same to
the bit. Reading a prompt would compute its logits, too (a fifth more time with the default model): so `prefill` leaves
features out, and `read` computes them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from models.engine import Logits
from models.features import Features
from models.llama_cpp import LlamaCppEngine
from shared.errors import EngineError


class LlamaFeatureEngine(LlamaCppEngine):
    """A `LlamaCppEngine` that implements `models.features.FeatureEngine`; it takes the same arguments."""

    _features: Mapping[int, Features] = {}

    @property
    def width(self) -> int:
        return self._open().width()

    def features(self, sequence: int) -> Features:
        if sequence not in self._features:
            raise EngineError(f"The last pass appended no token to the sequence {sequence}, so there are no features.")
        return self._features[sequence]

    def decode(self, tokens: Mapping[int, int]) -> dict[int, Logits]:
        with self._giving(tokens):
            logits = super().decode(tokens)
            self._keep((sequence, 1) for sequence in sorted(tokens))
        return logits

    def verify(self, tokens: Mapping[int, Sequence[int]]) -> dict[int, list[Logits]]:
        with self._giving(tokens):
            logits = super().verify(tokens)
            self._keep((sequence, len(tokens[sequence])) for sequence in sorted(tokens))
        return logits

    def read(self, sequence: int, tokens: Sequence[int]) -> tuple[Logits, Features]:
        import numpy as np

        before = self.length(sequence)
        if not len(tokens):
            raise EngineError("There is nothing to read.")
        most, parts = self._info.verifies, []
        try:
            for start in range(0, len(tokens), most):
                logits = self.verify({sequence: tokens[start : start + most]})[sequence]
                parts.append(self.features(sequence))
        except BaseException:
            self.rollback(sequence, self.length(sequence) - before)
            raise
        return logits[-1], np.concatenate(parts)

    @contextmanager
    def _giving(self, sequences: Iterable[int]) -> Iterator[None]:
        """Compute features within the `with` block only: outside it, a prefill would needlessly compute the logits of
        all tokens.

        Attention state that the sequences lost is recomputed first: with features on, a pass over that many tokens
        would end the process.
        """
        self._open()
        self._features = {}
        for sequence in sequences:
            self._whole(sequence)
        self._context.give_features(True)
        try:
            yield
        finally:
            self._context.give_features(False)

    def _keep(self, counts: Iterable[tuple[int, int]]) -> None:
        """Copy the features of the last pass; `counts` has each sequence and its number of tokens in the pass, in
        order.
        """
        first, kept = 0, {}
        for sequence, count in counts:
            kept[sequence] = self._context.features(first, count, self.width)
            first += count
        self._features = kept
