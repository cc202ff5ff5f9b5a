"""The hyperparameters of the answerer's training, apart from its data."""

from dataclasses import dataclass, field

from models.abstention import AbstentionThreshold

TARGETS = ("attn_q", "attn_v", "attn_output", "ffn_up", "ffn_down")
"""The adapted weights of each layer; each costs time at every token."""

SCALE = 2
"""The scale of the adapter's output (LoRA's alpha over its rank)."""

USED = 0.85
"""The interpolation weight of the trained adapter: below 1, the model keeps far more of the base model's abilities than
it loses of the trained ones (Wortsman et al., Robust fine-tuning of zero-shot models, CVPR 2022, equation 1).
"""

ABSTENTION = AbstentionThreshold(intercept=-4.0, slope=0.9)
"""The threshold for abstaining, chosen for the three runs that ship by correct and false abstentions on the 339
held-out questions with short answers, 160 of which `scripts/bench answers` uses.
"""

WARM_UP = 0.05
"""The share of the steps in which the learning rate rises."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """All settings, apart from the lessons, that determine the weights. `rows` are processed per optimiser step.

    All `runs` start at the weights that `seed` initialises, and their mean is used; run i uses the lessons and the
    order of `seed` + i.
    """

    rank: int = 32
    rate: float = 8e-4
    rows: int = 2
    seed: int = 7
    runs: int = field(default=3, repr=False)  # not part of a run's identity: a saved run fits any number of runs

    @property
    def alpha(self) -> int:
        """LoRA's alpha, so that `alpha / rank` is SCALE."""
        return SCALE * self.rank
