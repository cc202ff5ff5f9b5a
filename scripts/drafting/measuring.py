"""Measures a draft network on held-out answers: how often it predicts the model's next token, and how fast it is; also
with its matrices in 8-bit integers.
"""

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, cast

import numpy as np
import torch

from models import tensor_file
from models.engine import EngineInfo
from models.speculative.network import DraftNetwork, MakeMatrix, Network, States, float_matrix
from models.speculative.network_file import about, load
from scripts.drafting.collecting import READ, WRITTEN, Text
from scripts.drafting.int8 import Int8Matrix
from scripts.drafting.training import Row, Trainer, row

DEPTH: Final = 4
"""The number of tokens drafted one after the other when chains are measured."""

Matrices = Literal["float32", "int8"]
"""The form of a network's matrices: as it is used, or in 8-bit integers, which is only measured."""

_MATRICES: Final[Mapping[Matrices, MakeMatrix]] = {"float32": float_matrix, "int8": Int8Matrix}

_REPEATS: Final = 30
_BEFORE: Final = 400
"""The number of earlier tokens that the network holds when a step is timed."""


@dataclass(slots=True)
class Chain:
    """The result of drafting `DEPTH` tokens before each pass: the number of passes, the tokens that they gave, and for
    each drafted token how often it was reached and how often accepted.
    """

    passes: int
    tokens: int
    reached: list[int]
    accepted: list[int]


def foreseen(trainer: Trainer, texts: Sequence[Text], vocabulary: Sequence[int], since: int) -> float:
    """Return the share of the answers' tokens after which the network predicts the model's likeliest next token
    (top-1).
    """
    right = total = 0
    ids = np.asarray(vocabulary)
    for text in texts:
        read = row(text, since=since).on(trainer.device)
        right += int((_guessed(trainer, read, ids) == read.likeliest)[read.is_written].sum())
        total += int(read.is_written.sum())
    return right / max(1, total)


def covered(texts: Sequence[Text], vocabulary: Sequence[int]) -> float:
    """Return the share of the answers' likeliest next tokens that are in the reduced vocabulary."""
    likeliest = np.concatenate([text.likeliest[text.parts == WRITTEN] for text in texts])
    return float(np.isin(likeliest, vocabulary).mean())


def chained(network: Network, texts: Sequence[Text], since: int = READ) -> Chain:
    """Replay the single answer of each text with drafts: the network drafts its likeliest next token, and drafts the
    token after it from the feature that it predicted itself. With `since=WRITTEN`, the network gets no features of the
    prompt.
    """
    chain = Chain(0, 0, [0] * DEPTH, [0] * DEPTH)
    for text in texts:
        first = int(np.argmax(text.parts == WRITTEN))
        answer = [*text.tokens[first:].tolist(), int(text.likeliest[-1])]
        features = text.features.astype(np.float32)
        held, place = network.held(), 0
        known = first if since == WRITTEN else 0  # the last token whose feature the network has read
        while place < len(answer) - 1:
            root = first + place
            drafted: list[int] = []
            if root > known:
                positions = np.arange(known + 1, root + 1)
                predicted, logits = network.step(
                    held, features[known:root], text.tokens[known + 1 : root + 1], positions
                )
                known, settled = root, held.length
                drafted = _drafted(network, held, predicted[-1:], logits[-1:], root)
                held.length = settled
            accepted = 0
            for drafted_token, token in zip(drafted, answer[place + 1 :], strict=False):
                chain.reached[accepted] += 1
                if drafted_token != token:
                    break
                chain.accepted[accepted] += 1
                accepted += 1
            chain.passes += 1
            chain.tokens += min(accepted + 1, len(answer) - 1 - place)
            place += accepted + 1
    return chain


def step_ms(path: Path, threads: int, matrices: Matrices = "float32") -> float:
    """Return the milliseconds of a draft step over one token, measured in a separate process with the given number of
    threads.
    """
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
    done = subprocess.run(
        [sys.executable, "-m", "scripts.drafting.measuring", str(path), matrices],
        env=environment,
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout)


def figures(
    trainer: Trainer, path: Path, info: EngineInfo, texts: Sequence[Text], threads: Sequence[int]
) -> dict[str, Any]:
    """Return all figures of a trainer's network, which is also in a file."""
    network = load(path, info)
    vocabulary = network.vocabulary.tolist()
    chain, bare = chained(network, texts), chained(network, texts, WRITTEN)
    rounded = chained(_network(path, "int8"), texts, WRITTEN)
    return {
        "top1": round(foreseen(trainer, texts, vocabulary, READ), 4),
        "top1_without_prompt": round(foreseen(trainer, texts, vocabulary, WRITTEN), 4),
        "covered": round(covered(texts, vocabulary), 4),
        "tokens_per_pass": round(chain.tokens / chain.passes, 3),
        "tokens_per_pass_without_prompt": round(bare.tokens / bare.passes, 3),
        "accepted": [
            round(accepted / max(1, reached), 3)
            for accepted, reached in zip(chain.accepted, chain.reached, strict=True)
        ],
        "positions": int(sum(text.written for text in texts)),
        "step_ms": {str(count): step_ms(path, count) for count in threads},
        "int8": {
            "tokens_per_pass_without_prompt": round(rounded.tokens / rounded.passes, 3),
            "step_ms": {str(count): step_ms(path, count, "int8") for count in threads},
        },
    }


def _guessed(trainer: Trainer, read: Row, vocabulary: "np.ndarray[Any, Any]") -> "np.ndarray[Any, Any]":
    with torch.no_grad():
        best = trainer.logits(trainer.predicted(read)).argmax(-1).cpu().numpy()
    guessed: np.ndarray[Any, Any] = vocabulary[best]
    return guessed


def _drafted(network: Network, held: States, predicted: Any, logits: Any, root: int) -> list[int]:
    tokens = [int(network.vocabulary[logits[0].argmax()])]
    for depth in range(1, DEPTH):
        predicted, logits = network.step(held, predicted, tokens[-1:], [root + depth])
        tokens.append(int(network.vocabulary[logits[0].argmax()]))
    return tokens


def _network(path: Path, matrices: Matrices) -> DraftNetwork:
    metadata, tensors = tensor_file.read(path)
    return DraftNetwork(about(metadata).shape, tensors, _MATRICES[matrices])


def _time(network: DraftNetwork) -> float:
    """Return the median milliseconds of a step over one token."""
    held = network.held()
    features = np.ones((_BEFORE, network.shape.width), np.float32)
    network.step(held, features, np.arange(_BEFORE) % network.shape.tokens, np.arange(_BEFORE))
    seconds = []
    for _ in range(_REPEATS):
        began = time.perf_counter()
        network.step(held, features[:1], [1], [_BEFORE])
        seconds.append(time.perf_counter() - began)
        held.length = _BEFORE
    return round(1000 * sorted(seconds)[len(seconds) // 2], 2)


if __name__ == "__main__":
    print(_time(_network(Path(sys.argv[1]), cast(Matrices, sys.argv[2]))))
