"""Measures abilities of the base model that the adapter should keep: predicting text, and chatting."""

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from device_app.inference.local import LocalSource
from models.engine import Engine, Logits
from models.sampling import SamplingSettings
from scripts.places import step
from shared.ending import ended
from shared.prompt import turn

WINDOW = 256
"""The tokens of a window of text; only its second half is scored."""

PIECES, QUICK_PIECES = 24, 4

MOST_TOKENS = 80

CHATS = (
    "Hello! How are you today?",
    "What can you help me with?",
    "Tell me a short joke.",
    "Write one sentence that thanks a neighbour for watering the plants.",
    "How does a refrigerator keep food cold?",
    "Recommend something to do on a rainy Sunday.",
    "Why do leaves fall in autumn?",
    "Which month comes after July?",
    "I had a bad day at work.",
    "Is a tomato a vegetable?",
)


def skills(sources: Mapping[str, LocalSource], text: Path | None, quick: bool) -> dict[str, Any]:
    """Return for each model the `perplexity` of the text, if a text is given, and `chats`, its replies to each of
    `CHATS`.
    """
    figures: dict[str, Any] = {}
    for model, source in sources.items():
        step(f"what {model} says without passages")
        figures[model] = {"chats": [{"asked": asked, "said": said} for asked, said in _chats(source)]}
        if text and text.is_file():
            step(f"perplexity of {model}")
            figures[model]["perplexity"] = round(perplexity(source.engine, text, QUICK_PIECES if quick else PIECES), 3)
    return figures


def perplexity(engine: Engine, text: Path, pieces: int) -> float:
    """Return exp of the mean negative log probability over the second halves of `pieces` windows, which are spread over
    the text.
    """
    lines = filter(None, map(str.strip, text.read_text(encoding="utf-8").splitlines()))
    tokens = [token for line in lines for token in engine.tokenize(line + "\n")]
    stride = max(1, (len(tokens) - WINDOW) // pieces)
    windows = [tokens[start : start + WINDOW] for start in range(0, len(tokens) - WINDOW, stride)][:pieces]
    together = min(engine.info.sequences, engine.info.context // WINDOW)
    losses: list[float] = []
    for first in range(0, len(windows), together):
        losses += _losses(engine, dict(enumerate(windows[first : first + together])))
    return math.exp(sum(losses) / len(losses))


def _losses(engine: Engine, windows: Mapping[int, list[int]]) -> Iterator[float]:
    """Yield the negative log probabilities of the second half of each sequence's window."""
    rows: dict[int, Logits] = {}
    for row, window in windows.items():
        engine.clear(row)
        rows[row] = engine.prefill(row, window[: WINDOW // 2])
    for place in range(WINDOW // 2, WINDOW):
        for row, logits in rows.items():
            highest = float(logits.max())
            total = np.exp(logits - np.float32(highest)).sum(dtype=np.float64)
            yield highest + math.log(total) - float(logits[windows[row][place]])
        if place + 1 < WINDOW:
            rows = engine.decode({row: window[place] for row, window in windows.items()})
    for row in windows:
        engine.clear(row)


def _chats(source: LocalSource) -> Iterator[tuple[str, str]]:
    for asked in CHATS:
        pieces = source.stream(turn(asked, source.template), SamplingSettings(), max_tokens=MOST_TOKENS)
        yield asked, "".join(piece.text for piece in ended(pieces)).strip()
