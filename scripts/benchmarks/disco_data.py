"""The input of `disco`: first-token times of hosted services, lengths of prompts and answers, devices, prices; texts
of requests.

Without a data folder, log-normal data is generated and named accordingly.
"""

import json
import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from device_app.companion import waiting
from device_app.companion.dispatch.cost import ServerPrice
from scripts.places import CannotRun

Array = npt.NDArray[np.float64]

ANSWER_LIMIT = 128
"""The most tokens of an answer (appendix E)."""

FAMILIES = ("gpt", "llama-3-70b", "command", "claude", "mixtral")
_PRICES = {
    "gpt": ServerPrice(0.15, 0.60),
    "llama-3-70b": ServerPrice(0.40, 0.40),
    "command": ServerPrice(1.25, 2.00),
    "claude": ServerPrice(3.00, 15.00),
}
_OTHER_PRICE = ServerPrice(0.14, 0.28)
"""The price of models without an entry in table 8, in $ per million tokens: that of DeepSeek-V2.5."""

_WORD_TOKENS = 1.3

_LONGEST_S = 0.9 * waiting.LIMITS.token_s
"""The longest first-token time that is replayed live: the product gives a server up that is silent for `token_s`."""


@dataclass(frozen=True, slots=True)
class Service:
    """A hosted model: `samples`, shape (n, 2), are the seconds to the first token and the tokens a second of n
    calls.
    """

    name: str
    model: str
    samples: Array
    price: ServerPrice


@dataclass(frozen=True, slots=True)
class Device:
    """A device's tokens a second in prefill and decoding, and the 10^9 operations per token for prompts of 32, 64 and
    128 tokens and for decoding.
    """

    name: str
    prefill: float
    decode: float
    prefill_gflop: tuple[float, float, float]
    decode_gflop: float

    def prompt_gflop(self, length: float) -> float:
        """Return 10^9 operations per prompt token (table 6, linearly interpolated and extrapolated)."""
        low, middle, high = self.prefill_gflop
        beyond = high + (high - middle) / 64 * (length - 128)
        return beyond if length > 128 else float(np.interp(length, [32, 64, 128], [low, middle, high]))


DEVICES = (
    Device("pixel7-bloom-1.1b", 31.32, 13.93, (0.85, 0.93, 1.25), 0.82),
    Device("pixel7-bloom-560m", 51.80, 20.14, (0.45, 0.50, 0.65), 0.42),
    Device("xiaomi14-qwen-0.5b", 79.90, 21.47, (0.39, 0.45, 0.69), 0.37),
)


@dataclass(frozen=True, slots=True)
class Lengths:
    """The numbers of tokens of prompts and of answers, shape (n,). `recorded` traces are replayed in order."""

    name: str
    prompts: Array
    answers: Array
    recorded: bool


def services(data: Path | None) -> list[Service]:
    """Return one hosted model for each family: of its models with the most samples, the one whose mean first-token
    time is their median. Raises CannotRun if there are no samples.
    """
    if data is None:
        chance = np.random.default_rng(7)
        made = np.column_stack([chance.lognormal(-0.7, 0.6, 500), np.full(500, 60.0)])
        return [Service("made-lognormal", "a log-normal, median .5 s, sigma .6", made, _OTHER_PRICE)]
    by_model: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for row in _rows(data / "ttft" / "requests.jsonl"):
        by_model[row["model"]].append((row["ttft_s"], row["tokens_per_s"] or 0.0))
    if not by_model:
        raise CannotRun(f"{data}/ttft/requests.jsonl has no samples")
    traces = []
    for family in FAMILIES:
        own = {model: rows for model, rows in by_model.items() if family in model.lower()}
        if own:
            traces.append(_middle(family, own))
    return traces or [_middle("service", by_model)]


def _middle(family: str, models: dict[str, list[tuple[float, float]]]) -> Service:
    most = max(map(len, models.values()))
    means = {model: statistics.mean(row[0] for row in rows) for model, rows in models.items() if len(rows) == most}
    model = sorted(means, key=lambda model: (means[model], model))[len(means) // 2]
    return Service(family, model, np.array(models[model]), _PRICES.get(family, _OTHER_PRICE))


def lengths(data: Path | None) -> list[Lengths]:
    """Return lengths of requests: short prompts with the answers of a chat service, then each recorded trace. Raises
    CannotRun.
    """
    if data is None:
        chance = np.random.default_rng(11)
        prompts, answers = (np.ceil(chance.lognormal(mean, 0.8, 2_000)) for mean in (3.3, 5.0))
        return [Lengths("made-lognormal", prompts, answers, recorded=False)]
    traces = [
        Lengths(name, _column(rows, "prompt_tokens"), _column(rows, "output_tokens"), recorded=True)
        for name in ("azure", "mooncake")
        if (rows := _rows(data / "arrivals" / f"{name}.jsonl"))
    ]
    asked = [
        float(max(1, round(_WORD_TOKENS * len(f"{row['instruction']} {row['instances'][0]['input']}".split()))))
        for row in _rows(data / "prompts" / "instructions.jsonl")
    ]
    if not asked or not traces:
        raise CannotRun(f"{data} lacks prompts/instructions.jsonl or arrivals")
    return [Lengths("instructions", np.array(asked), traces[-1].answers, recorded=False), *traces]


def texts(data: Path) -> Sequence[str]:
    """Return the texts of all requests of `prompts` that a person would ask an assistant. Raises CannotRun."""
    folder = data / "prompts"
    instructions = [
        "\n\n".join(filter(None, (line["instruction"], line["instances"][0]["input"])))
        for line in _rows(folder / "instructions.jsonl")
    ]
    every = [*instructions, *(line["turns"][0] for line in _rows(folder / "mt_bench.jsonl"))]
    if not every:
        raise CannotRun(f"{folder} has no requests.")
    return every


def delays(data: Path) -> Array:
    """Return the recorded first-token times up to the longest that is replayed, in s. Raises CannotRun."""
    recorded = np.array([float(line["ttft_s"]) for line in _rows(data / "ttft" / "requests.jsonl")])
    if not (recorded <= _LONGEST_S).any():
        raise CannotRun(f"{data}/ttft/requests.jsonl has no first-token times.")
    return recorded[recorded <= _LONGEST_S]


def _column(rows: Sequence[dict[str, Any]], key: str) -> Array:
    return np.array([float(row[key]) for row in rows])


def _rows(path: Path) -> Sequence[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.is_file() else []
