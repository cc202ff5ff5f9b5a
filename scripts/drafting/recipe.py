"""The settings of a draft network's training."""

from dataclasses import dataclass
from typing import Final, Literal

from models.speculative.network import Fusion

Losses = Literal["ours", "paper"]
"""`ours`: soft targets + .5 SmoothL1 of features. `paper`: .1 soft targets + SmoothL1, noise on the features."""

WEIGHTS: Final[dict[Losses, tuple[float, float]]] = {"ours": (1.0, 0.5), "paper": (0.1, 1.0)}
"""The weights of the soft targets and of SmoothL1."""

RATES: Final[dict[Losses, float]] = {"ours": 1e-3, "paper": 3e-5}

NOISE: Final = 0.2
"""The width of the paper's uniform noise on the features that are read, for a text of 512 tokens; for others in inverse
proportion to their length.
"""

WARM_UP: Final = 0.05
"""The share of the steps in which the learning rate rises."""

WARM: Final = 0.7
"""The temperature of all answers to a prompt but the first, which is greedy."""


@dataclass(frozen=True, slots=True)
class Collected:
    """What is collected: `positions` of own answers, `answers` of at most `most` tokens to each prompt, and `held_out`
    prompts of each kind.
    """

    positions: int = 100_000
    answers: int = 3
    most: int = 160
    held_out: int = 8
    seed: int = 7


@dataclass(frozen=True, slots=True)
class Recipe:
    """Everything beside the data that determines the weights. `rate` 0 is the losses' own."""

    fusion: Fusion = "gated"
    blocks: int = 1
    losses: Losses = "ours"
    drafted: int = 8192
    epochs: int = 3
    rate: float = 0.0
    seed: int = 7

    @property
    def highest_rate(self) -> float:
        """The highest learning rate."""
        return self.rate or RATES[self.losses]
