"""How an answerer is trained: the numbers that decide its weights, apart from what it reads."""

from dataclasses import dataclass, field

from models.abstention import AbstentionThreshold

TARGETS = ("attn_q", "attn_v", "attn_output", "ffn_up", "ffn_down")
"""What is adapted of each layer: each costs time at every token."""

SCALE = 2
"""How much what the adapter computes counts beside what the model does (LoRA's alpha over its rank)."""

USED = 0.85
"""Of what was learnt, the part that is used: a little towards the bare model keeps far more of what that can than it
costs of what was taught (Wortsman et al., Robust fine-tuning of zero-shot models, CVPR 2022, equation 1).
"""

ABSTENTION = AbstentionThreshold(intercept=-4.0, slope=0.9)
"""From where on it abstains: chosen for the three runs that ship, by what they abstain on rightly and wrongly of the
339 questions of short answers that were held out, 160 of which `scripts/bench answers` asks.
"""

WARM_UP = 0.05
"""Share of the steps in which the learning rate rises."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """Everything but the lessons that decides the weights. `rows` are read between two steps of the optimiser.

    All `runs` begin at the weights that `seed` draws, and their mean is used; the first has the lessons of `seed`, in
    its order, the next those of the next number.
    """

    rank: int = 32
    rate: float = 8e-4
    rows: int = 2
    seed: int = 7
    runs: int = field(default=3, repr=False)  # says nothing of a run: its state is that of any number of them

    @property
    def alpha(self) -> int:
        """What is learnt counts `alpha / rank`, which is SCALE."""
        return SCALE * self.rank


class OtherRecipe(Exception):
    """What was begun was begun by another recipe; the message says by which."""
