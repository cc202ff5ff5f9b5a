"""Weights of an answer's rows (one sequence per prompt) that change as its text grows: the embedder computes them
during decoding (DRAGON, equation 2). For a joint answer, also the similarities that weigh both sides.

A thread of its own embeds the text while the model decodes the next tokens. `shared.aggregation.weights.basis` alone
decides when new weights take effect: decoding waits for them there, so that they depend on the tokens and not on the
embedder's speed.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from models.engine import Embedder, Logits
from shared.aggregation.weights import LATEST_TOKENS, basis, row_weights, similarities_to_text


class FollowingWeights:
    """The log weights of an answer's rows (one sequence per prompt), as a function to pass to `Decoder`. Close it after
    the answer. They change after every `every` tokens; `rows` is their number.
    """

    def __init__(
        self,
        embedder: Embedder,
        detokenize: Callable[[Sequence[int]], bytes],
        question: str,
        passages: Sequence[str],
        similarities: Sequence[float],
        every: int,
    ) -> None:
        """Compute the weights again after every `every` tokens, at least 1.

        `passages` are the texts to embed, one for each of the answer's sequences. `similarities` are their similarities
        to the question, from which the first weights are computed.
        """
        self._embedder, self._detokenize, self.every = embedder, detokenize, every
        self._texts = [question, *passages]
        self._first, self.rows = row_weights(similarities), len(passages)
        self._pool = ThreadPoolExecutor(1, "weights")
        self._vectors: list[Any] = []  # of question and passages, embedded with the first text that needs them
        self._by_text: dict[tuple[int, tuple[int, ...]], Future[list[float]]] = {}

    def __call__(self, position: int, answer: Sequence[int]) -> Logits:
        """Return the log weights of the answer's sequences for the token at `position`, shape (sequences,), given all
        tokens before it.

        Also starts to compute the next weights if enough tokens were added. Raises WeightsError if the embedder fails.
        """
        if position and position % self.every == 0:
            self.similarities(answer)
        count = basis(position, self.every)
        return row_weights(self.similarities(answer[:count]).result()[: self.rows]) if count else self._first

    def add(self, passages: Sequence[str]) -> None:
        """Compare these further passages, which no row holds, with all later texts, too."""
        self._texts.extend(passages)

    def similarities(self, answer: Sequence[int]) -> "Future[list[float]]":
        """Return, as a future, each passage's relevance to the question and the answer's tokens so far."""
        key = len(self._texts), tuple(answer)
        if key not in self._by_text:
            self._by_text[key] = self._pool.submit(self._computed, *key)
        return self._by_text[key]

    def close(self) -> None:
        """End the embedding thread."""
        self._pool.shutdown(cancel_futures=True)

    def _computed(self, count: int, answer: Sequence[int]) -> list[float]:
        if missing := self._texts[len(self._vectors) : count]:
            self._vectors.extend(self._embedder.embed(missing))
        text = self._detokenize(answer[-LATEST_TOKENS:]).decode("utf-8", "replace")
        (vector,) = self._embedder.embed([text])
        return similarities_to_text(self._vectors[0], vector, np.stack(self._vectors[1:count]))
