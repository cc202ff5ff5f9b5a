"""Perplexity of WikiText-2 by number of passages (Figure 6): device alone, server alone, both together.

A window of text is a question and its continuation; its passages are the nearest pieces of the same text from other
places, by the product's embedder. Ranks 1, 3, 5 … are on the device, 2, 4, 6 … on the server. Each passage is
in a prompt of its own, and the prompts' distributions are mixed with the product's weights, within a side and between
the sides. The paper's baselines read their passages in one prompt, best first: `crcg_device` and `crcg_cloud` those of
one side, `drcg_text` those of both, as many as its budget has room for.

As the text is given, each prompt is read alone, many tokens in a pass, with the logits after each. They are rounded in
another way than those of tokens that are drawn one by one.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, get_args

import numpy as np
import numpy.typing as npt

from models.decoder import log_probability
from models.engine import Embedder, Engine
from scripts.places import step
from shared.aggregation.weights import device_share, log_weight, row_weights
from shared.side import Side

PIECE_TOKENS: Final = 64
"""The number of tokens of a passage, as in the paper."""

WINDOW_TOKENS: Final = 128
"""The number of tokens of a predicted window, including its question."""

QUESTION_TOKENS: Final = WINDOW_TOKENS // 4
"""The number of tokens of a window that serve as the question. The paper's eighth would be too short for such a short
window.
"""

COUNTS: Final = (0, 1, 2, 4, 8, 16)

PROMPT_PASSAGES: Final = 4
"""The most passages in one prompt: 256 tokens, the paper's budget."""

Compared = Literal["crcg_device", "crcg_cloud", "drcg_text"]
"""The baselines of the paper: one prompt with passages of the device, of the server, or of both."""

SIDES: tuple[Side, Side] = ("device", "server")
Logs = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Predicted:
    """The log probabilities of one window's tokens: without a passage, shape (tokens,); after each side's passages,
    best first, shape (passages, tokens); and the passages' similarities. `prompts`: after 1, 2 … passages in one
    prompt, same shape.
    """

    bare: Logs
    rows: Mapping[Side, Logs]
    similarities: Mapping[Side, Sequence[float]]
    prompts: Mapping[Compared, Logs] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Corpus:
    """The tokens of a text, and the vectors of its pieces, which start every PIECE_TOKENS tokens."""

    tokens: Sequence[int]
    vectors: npt.NDArray[np.float32]

    @classmethod
    def of(cls, text: Path, engine: Engine, embedder: Embedder) -> "Corpus":
        """Read and embed the text of a file."""
        tokens = _tokens(text, engine)
        starts = range(0, len(tokens) - PIECE_TOKENS, PIECE_TOKENS)
        step(f"embedding {len(starts)} pieces of WikiText-2")
        pieces = (engine.detokenize(tokens[start : start + PIECE_TOKENS]) for start in starts)
        return cls(tokens, embedder.embed([piece.decode("utf-8", "replace") for piece in pieces]))

    def nearest(
        self, vector: npt.NDArray[np.float32], start: int, end: int, count: int
    ) -> list[tuple[Sequence[int], float]]:
        """Return the pieces nearest to the vector, best first, with their cosines; pieces that overlap the text from
        `start` to `end` are left out.
        """
        cosines = self.vectors @ vector
        for place in range(len(cosines)):
            if place * PIECE_TOKENS < end and start < (place + 1) * PIECE_TOKENS:
                cosines[place] = -2.0
        best = np.argsort(-cosines)[:count].tolist()
        return [
            (self.tokens[place * PIECE_TOKENS : (place + 1) * PIECE_TOKENS], float(cosines[place])) for place in best
        ]


def log_probabilities(piece: Predicted, counts: Mapping[Side, int]) -> Logs:
    """Return the log probabilities of a window's tokens with `counts` passages per side, shape (tokens,)."""
    sides: dict[Side, Logs] = {}
    log_h: dict[Side, float] = {}
    for side, count in counts.items():
        held = piece.similarities[side][:count]
        log_h[side] = log_weight(held)
        if count:
            weights = row_weights(held).astype(np.float64)
            sides[side] = np.logaddexp.reduce(piece.rows[side][:count] + weights[:, np.newaxis], axis=0)
    if not sides:
        return piece.bare
    share = device_share(log_h.get("device", -math.inf), log_h.get("server", -math.inf))
    shares: dict[Side, float] = {"device": share, "server": 1 - share}
    parts = [sides[side] + math.log(weight) for side, weight in shares.items() if weight]
    mixed: Logs = np.logaddexp.reduce(parts)
    return mixed


def perplexity(pieces: Sequence[Predicted], counts: Mapping[Side, int]) -> float:
    """Return exp of the mean negative log probability of all tokens."""
    return _perplexity([log_probabilities(piece, counts) for piece in pieces])


def perplexity_of_prompts(pieces: Sequence[Predicted], arm: Compared, count: int) -> float:
    """Return the perplexity with `count` passages of each side that the arm reads, in one prompt."""
    read = min(2 * count if arm == "drcg_text" else count, PROMPT_PASSAGES)
    return _perplexity([piece.prompts[arm][read - 1] if read else piece.bare for piece in pieces])


def _perplexity(logs: Sequence[Logs]) -> float:
    return math.exp(-float(np.concatenate(logs).mean()))


def table(pieces: Sequence[Predicted]) -> dict[str, Any]:
    """Return perplexities for `device`, `server` and `together` (the same number of passages on each side), and for the
    paper's baselines, by passages per side.
    """
    arms: dict[str, tuple[Side, ...]] = {"device": ("device",), "server": ("server",), "together": SIDES}
    in_rows = {
        name: {str(count): round(perplexity(pieces, dict.fromkeys(sides, count)), 3) for count in COUNTS}
        for name, sides in arms.items()
    }
    compared: tuple[Compared, ...] = get_args(Compared)
    return in_rows | {
        arm: {str(count): round(perplexity_of_prompts(pieces, arm, count), 3) for count in COUNTS} for arm in compared
    }


def measure(text: Path, engine: Engine, embedder: Embedder, windows: int) -> dict[str, Any]:
    """Return the table of perplexities over `windows` windows spread over the text."""
    corpus = Corpus.of(text, engine, embedder)
    tokens = corpus.tokens
    stride = max(1, (len(tokens) - WINDOW_TOKENS) // windows)
    pieces = []
    for number in range(windows):
        if number % 5 == 0:
            step(f"perplexity, piece {number} of {windows}")
        start = number * stride
        window = tokens[start : start + WINDOW_TOKENS]
        question, rest = window[:QUESTION_TOKENS], window[QUESTION_TOKENS:]
        asked = embedder.embed([engine.detokenize(question).decode("utf-8", "replace")])[0]
        near = corpus.nearest(asked, start, start + WINDOW_TOKENS, 2 * max(COUNTS))
        passages, nearness = [passage for passage, _ in near], [similarity for _, similarity in near]
        logs = _logs(engine, [[], *passages], question, rest)
        read: dict[Compared, Sequence[Sequence[int]]] = {
            "crcg_device": passages[0::2],
            "crcg_cloud": passages[1::2],
            "drcg_text": passages,
        }
        prompts = {
            arm: _logs(engine, [_joined(some[:count]) for count in range(1, PROMPT_PASSAGES + 1)], question, rest)
            for arm, some in read.items()
        }
        pieces.append(
            Predicted(
                logs[0],
                {"device": logs[1::2], "server": logs[2::2]},
                {"device": nearness[0::2], "server": nearness[1::2]},
                prompts,
            )
        )
    return table(pieces)


def _tokens(text: Path, engine: Engine) -> list[int]:
    """Return the tokens of the whole text, paragraph by paragraph."""
    lines = text.read_text(encoding="utf-8").splitlines()
    return [token for line in lines if line.strip() for token in engine.tokenize(line.strip() + "\n")]


def _joined(passages: Sequence[Sequence[int]]) -> list[int]:
    return [token for passage in passages for token in passage]


def _logs(engine: Engine, passages: Sequence[Sequence[int]], question: Sequence[int], rest: Sequence[int]) -> Logs:
    """Return the log probabilities of the window's remaining tokens after each passage and the question, shape
    (passages, tokens).
    """
    logs = np.empty((len(passages), len(rest)))
    *read, _ = rest
    most = engine.info.verifies
    for row, passage in enumerate(passages):
        engine.clear(0)
        logits = [engine.prefill(0, [*passage, *question])]
        for start in range(0, len(read), most):
            logits += engine.verify({0: read[start : start + most]})[0]
        logs[row] = [log_probability(last, token) for last, token in zip(logits, rest, strict=True)]
    return logs
