"""Drafts tokens with a draft network, which reads the answering model's features (Dovetail, section 3.2)."""

import math
from collections.abc import Container, Sequence

import numpy as np

from models.features import PassFeatures
from models.speculative.drafter import Draft
from models.speculative.network import Floats, Network
from shared.errors import EngineError


class NetworkDrafter:
    """A draft network as the drafter of one answer, see `Drafter`.

    The network reads the answer alone, without its prompt: attention states of a prompt that come from a cache bring
    no features, and computing those of a new prompt takes a fifth more time. So it begins with the answer's second
    token.
    """

    unread = 0

    def __init__(self, network: Network, engine: PassFeatures, ends: Container[int], text: Sequence[int]) -> None:
        """Follow the text, a list of token ids, and the answer after it. `engine` is that of the answering model,
        `ends` are the tokens that end an answer.
        """
        self._network, self._engine, self._ends, self._text = network, engine, ends, list(text)
        self._held = network.held()
        self._first = len(self._text)  # the place in the text of the first feature
        self._features: Floats = np.empty((0, network.shape.width), np.float32)

    def append(self, token: int) -> None:
        self._text.append(token)

    def passed(self, sequence: int) -> None:
        """Copy the features of the pass that has just ended. Raises EngineError if the engine has none."""
        place = len(self._text) - 1  # the last drawn token is the first of the pass
        if place > self._first + len(self._features):  # a pass without features came between
            self._first, self._held.length = place, 0
        kept = self._features[: max(0, place - self._first)]
        self._features = np.concatenate([kept, self._engine.features(sequence)])

    def draft(self, most: int, least: float = 0.0) -> Draft:
        """Draft as `Drafter.draft` says, but never a token that ends the answer. Raises EngineError if
        the network's logits are not finite.
        """
        last = len(self._text) - 1
        read = self._first + 1 + self._held.length  # the place of the first token that the network has not read
        if most < 1 or read > last or last > self._first + len(self._features):
            return Draft()
        before = self._features[read - 1 - self._first : last - self._first]
        features, logits = self._network.step(
            self._held, before, self._text[read : last + 1], np.arange(read, last + 1)
        )
        settled = self._held.length
        tokens: list[int] = []
        chances: list[float] = []
        lowest = math.log(least) if least > 0 else -math.inf
        while True:
            place, chance = _likeliest(logits[-1])
            token = int(self._network.vocabulary[place])
            if token in self._ends:
                break
            tokens.append(token)
            chances.append(chance)
            if len(tokens) == most or sum(chances) < lowest:
                break
            features, logits = self._network.step(self._held, features[-1:], [token], [last + len(tokens)])
        self._held.length = settled
        return Draft(tuple(tokens), log_probabilities=tuple(chances))


def _likeliest(logits: Floats) -> tuple[int, float]:
    """Return the place of the highest logit, and its log probability. Raises EngineError if they are not finite."""
    place = int(logits.argmax())
    if not np.isfinite(logits[place]):
        raise EngineError("it gives no usable logits; the model's features or its own weights may be damaged")
    return place, -math.log(float(np.exp(logits - logits[place]).sum(dtype=np.float64)))
