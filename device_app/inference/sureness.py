"""How sure a model was of what it wrote, and from where on that is shown as an answer.

What an extractive answer's own probability tells of whether it is right is known (Kamath, Jia and Liang, Selective
Question Answering under Domain Shift, ACL 2020); the limits are those of the answerer adapter.
"""

import math
from dataclasses import dataclass
from typing import Final

SURE: Final = -1.3
"""From where on an answer is shown as one."""

YES: Final = 1.5
"""How much likelier than "No" a "Yes" has to be, as a log: too often it is what the model says of what it cannot tell.
"""

MIN_SHIFT: Final = 1.5
"""How far a server's passages have to move that, either way, where the files do not speak of what is asked."""

LOOKS: Final = ((-0.2, 0.1), (-0.5, 0.4))
"""For the first and the second sentence, the sureness from which it is not read again, and how much surer than the
passage it has to be.
"""

LOOKED_THROUGH: Final = 3
"""Passages in which these sentences are looked for."""

LOOK_TOKENS: Final = 24
"""Tokens of an answer from such a sentence at most."""

LIMITS: Final = (SURE, YES, MIN_SHIFT, LOOKS, LOOKED_THROUGH, LOOK_TOKENS)
"""What decides what is shown: part of the fingerprint of kept answers."""

_FAINT: Final = -4.0
"""A log probability of the abstention below which it tells nothing."""

_DOUBT: Final = 0.25


@dataclass(slots=True)
class Sureness:
    """Log probabilities: `least` is that of the answer's least likely token, its end included; `abstention` that of
    what says instead that the passages do not tell, down to where it tells nothing; `yes_margin` how much likelier
    "Yes" was than "No" as its first token.
    """

    least: float = 0.0
    abstention: float = -math.inf
    yes_margin: float = 0.0

    @property
    def of_text(self) -> float:
        """Of an answer in the passages' words; at most 0."""
        return self.least + _DOUBT * min(0.0, _FAINT - self.abstention)

    @property
    def decides(self) -> bool:
        """Whether "Yes" or "No" is decided."""
        return self.yes_margin < 0 or self.yes_margin >= YES

    def is_read_on(self, abstention: float) -> bool:
        """Whether the next token of the abstention matters, where those before it have this log probability."""
        return abstention > _FAINT
