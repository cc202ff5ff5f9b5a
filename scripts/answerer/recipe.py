"""The hyperparameters of the answerer's training, apart from its data."""

from dataclasses import dataclass, field

from models.abstention import AbstentionThreshold

TARGETS = ("attn_q", "attn_v", "attn_output", "ffn_up", "ffn_down")
"""The names of the weights in each layer that the adapter changes; each costs time at every token."""

SCALE = 2
"""The scale of the adapter's output (LoRA's alpha over its rank)."""

USED = 0.85
"""The weight with which the trained adapter is interpolated with the base model. Below 1, the model keeps far more of
the base model's abilities than it loses of the trained ones (Wortsman et al., Robust fine-tuning of zero-shot models,
CVPR 2022, equation 1).
"""

ABSTENTION = AbstentionThreshold(intercept=-4.0, slope=0.9)
"""The abstention threshold of the shipped adapter. It was chosen, for the adapter's three runs, by correct and false
abstentions on the 339 held-out questions with short answers; `scripts/bench answers` uses 160 of these.
"""

WARM_UP = 0.05
"""The share of the steps in which the learning rate rises."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """All settings, apart from the lessons, that determine the trained weights. `rows` are processed per optimiser
    step.

    All `runs` start at the weights that `seed` initialises, and the mean of their results is used; run i uses the
    lessons and the order of `seed` + i.
    """

    rank: int = 32
    rate: float = 8e-4
    rows: int = 2
    seed: int = 7
    runs: int = field(default=3, repr=False)  # not part of a run's identity: a saved run fits any number of runs

    @property
    def alpha(self) -> int:
        """LoRA's alpha, chosen so that `alpha / rank` is SCALE."""
        return SCALE * self.rank
