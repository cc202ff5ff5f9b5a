"""The settings of a draft network's training."""

from dataclasses import dataclass
from typing import Final, Literal

from models.speculative.network import Fusion

Losses = Literal["ours", "paper"]
"""The training's losses, and what the network reads. `ours`: soft targets + .5 SmoothL1 of features; in each second
step the answers do not see their prompt, as when the network drafts, and in the last epoch half of the features are the
network's own predictions, as of drafted tokens. `paper`: .1 soft targets + SmoothL1, with noise on the features.
"""

Precision = Literal["float32", "bfloat16"]
"""The numbers in which matrices are multiplied: `bfloat16` is for processors that multiply such numbers (AVX-512 BF16,
AMX) and for GPUs. Weights, their updates and what a network's layers add up are in float32 either way.
"""

WEIGHTS: Final[dict[Losses, tuple[float, float]]] = {"ours": (1.0, 0.5), "paper": (0.1, 1.0)}
"""The weights of the two parts of each loss: soft targets and SmoothL1."""

RATES: Final[dict[Losses, float]] = {"ours": 1e-3, "paper": 3e-5}

NOISE: Final = 0.2
"""The width of the paper's uniform noise on the features that the network reads, for a text of 512 tokens. For other
texts it is in inverse proportion to their length.
"""

OWN_FEATURES: Final = 0.5
"""The share of features that the network's own predictions replace in the last epoch."""

WARM_UP: Final = 0.05
"""The share of the steps in which the learning rate rises."""

WARM: Final = 0.7
"""The sampling temperature of all answers to a prompt except the first, which is greedy."""


@dataclass(frozen=True, slots=True)
class Collected:
    """The amount of data to collect: `positions` tokens of the model's own answers, `answers` of at most `most` tokens
    to each prompt, and `held_out` prompts of each kind.
    """

    positions: int = 100_000
    answers: int = 3
    most: int = 160
    held_out: int = 8
    seed: int = 7


@dataclass(frozen=True, slots=True)
class Recipe:
    """All settings, apart from the data, that determine the weights. A `rate` of 0 stands for the learning rate that
    suits the losses.
    """

    fusion: Fusion = "gated"
    blocks: int = 1
    losses: Losses = "ours"
    drafted: int = 8192
    epochs: int = 3
    rate: float = 0.0
    precision: Precision = "float32"
    seed: int = 7

    @property
    def highest_rate(self) -> float:
        """The highest learning rate."""
        return self.rate or RATES[self.losses]
