"""Compares weights that follow the text (DRAGON, equation 2) with constant weights: perplexity of WikiText-2, and time.

A window of text is a question and its continuation, which the product's decoder reads token by token in a sequence per
prompt; passages are the nearest pieces of the same text from other places. They are read in a prompt each, or in two
prompts that stand for device and server, each of which weighs as much as its passages. All arms read the same window in
turn.
"""

import math
import time
from collections.abc import Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, Final

import numpy as np

from models.decoder import Decoder, LogWeights, log_probability
from models.engine import Embedder, Engine, Logits
from models.following_weights import FollowingWeights
from scripts.benchmarks.dragon_perplexity import QUESTION_TOKENS, Corpus
from scripts.places import step
from shared.aggregation.weights import basis, row_similarities, row_weights
from shared.prompt import divided

ROWS: Final = 3
"""The number of passages. If each is read in a sequence of its own, the sequences' next-token distributions are mixed.
"""

SIDES: Final = 2
"""The number of prompts of a joint answer: device and server read their passages in one each."""

WRITTEN_TOKENS: Final = 128
"""The number of tokens of a window after its question."""

CONSTANT: Final = "constant"
DISTANCES: Final[Mapping[str, int]] = {CONSTANT: 0, "8": 8, "16": 16, "32": 32}
"""The arms, by the number of tokens after which weights are computed again."""

RESAMPLES: Final = 10_000


@dataclass(slots=True)
class Arm:
    """The measurements of an arm, for each window: the mean log probability of its tokens, and the seconds per
    token.
    """

    logs: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class FollowingSides:
    """The log weights of both sides' prompts, shape (SIDES,), as a function to pass to `Decoder`; from the similarities
    that `following` computes, and from `similarities` at first.
    """

    following: FollowingWeights
    similarities: Sequence[float]

    def __call__(self, position: int, answer: Sequence[int]) -> Logits:
        """Return the weights for the token at `position`; see `FollowingWeights`."""
        if position and position % self.following.every == 0:
            self.following.similarities(answer)
        count = basis(position, self.following.every)
        return side_weights(self.following.similarities(answer[:count]).result() if count else self.similarities)


def side_weights(similarities: Sequence[float]) -> Logits:
    """Return the log weights of both sides' prompts, shape (SIDES,), from the passages' similarities."""
    return row_weights(row_similarities(similarities, SIDES))


def measure(text: Path, engine: Engine, embedder: Embedder, windows: int) -> dict[str, Any]:
    """Return the figures as ARM.{perplexity,ms_per_token}, and for arms with a distance
    ARM.{gain,gain_low,gain_high,over_constant}; those of passages on two sides under `together`.

    `gain` is the mean log probability of a token minus that with constant weights, with its paired interval of 95% over
    windows; `over_constant` is the median ratio of times.
    """
    corpus = Corpus.of(text, engine, embedder)
    stride = max(1, (len(corpus.tokens) - QUESTION_TOKENS - WRITTEN_TOKENS) // windows)
    ways = {prompts: {name: Arm() for name in DISTANCES} for prompts in (ROWS, SIDES)}
    for number in range(windows):
        if number % 5 == 0:
            step(f"weights, window {number} of {windows}")
        order = list(DISTANCES) if number % 2 else [*DISTANCES][::-1]
        for prompts, arms in ways.items():
            _read(corpus, number * stride, engine, embedder, arms, order, prompts)
    return table(ways[ROWS]) | {"together": table(ways[SIDES])}


def table(arms: Mapping[str, Arm]) -> dict[str, Any]:
    """Return the figures that `measure` lists."""
    constant = arms[CONSTANT]
    figures: dict[str, Any] = {}
    for name, arm in arms.items():
        figures[name] = {
            "perplexity": round(math.exp(-float(np.mean(arm.logs))), 3),
            "ms_per_token": round(1000 * float(np.median(arm.seconds)), 2),
        }
        if name != CONSTANT:
            low, high = interval(np.subtract(arm.logs, constant.logs))
            gain = float(np.mean(np.subtract(arm.logs, constant.logs)))
            figures[name] |= {"gain": round(gain, 5), "gain_low": round(low, 5), "gain_high": round(high, 5)}
            ratio = float(np.median(np.divide(arm.seconds, constant.seconds)))
            figures[name]["over_constant"] = round(ratio, 3)
    return figures


def interval(differences: "np.ndarray[Any, Any]") -> tuple[float, float]:
    """Return the 95% interval of the mean of paired differences, shape (windows,), by bootstrap."""
    drawn = np.random.default_rng(0).integers(0, len(differences), (RESAMPLES, len(differences)))
    low, high = np.quantile(differences[drawn].mean(axis=1), [0.025, 0.975])
    return float(low), float(high)


def _read(
    corpus: Corpus,
    start: int,
    engine: Engine,
    embedder: Embedder,
    arms: Mapping[str, Arm],
    order: Sequence[str],
    prompts: int,
) -> None:
    """Let each arm, in the given order, read the window at `start`, with the passages divided among `prompts`."""
    end = start + QUESTION_TOKENS + WRITTEN_TOKENS
    window = corpus.tokens[start:end]
    question, rest = window[:QUESTION_TOKENS], window[QUESTION_TOKENS:]
    asked = engine.detokenize(question).decode("utf-8", "replace")
    near = corpus.nearest(embedder.embed([asked])[0], start, end, ROWS)
    pieces = [engine.detokenize(piece).decode("utf-8", "replace") for piece, _ in near]
    similarities = [similarity for _, similarity in near]
    for sequence in range(engine.info.sequences):
        engine.clear(sequence)
    rows = {
        row: engine.prefill(row, [*chain.from_iterable(piece for piece, _ in together), *question])
        for row, together in enumerate(divided(near, prompts))
    }
    constant = row_weights(similarities) if prompts == ROWS else side_weights(similarities)
    for name in order:
        every = DISTANCES[name]
        how = embedder, engine.detokenize, asked, pieces, similarities, every
        with closing(FollowingWeights(*how)) if every else nullcontext() as following:
            weights: LogWeights = constant
            if following:
                weights = following if prompts == ROWS else FollowingSides(following, similarities)
            decoder = Decoder(engine, rows, weights)
            log, seconds = 0.0, 0.0
            for token in rest:
                log += log_probability(decoder.mixture, token)
                since = time.perf_counter()
                decoder.append(token)
                seconds += time.perf_counter() - since
            decoder.cut(0)
        arms[name].logs.append(log / len(rest))
        arms[name].seconds.append(seconds / len(rest))
