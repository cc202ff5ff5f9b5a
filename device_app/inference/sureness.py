"""A model's confidence in its answer, and the thresholds from which the answer is shown.

An extractive answer's own probability predicts whether it is right (Kamath, Jia and Liang, Selective Question Answering
under Domain Shift, ACL 2020); the thresholds are those of the answerer adapter.
"""

import math
from dataclasses import dataclass
from typing import Final

SURE: Final = -1.3
"""The least confidence (a log probability) of an answer that is shown."""

YES: Final = 1.5
"""The least log ratio of "Yes" to "No" for a "Yes", as models often say "Yes" without evidence."""

MIN_SHIFT: Final = 1.5
"""The least change of the log ratio of "Yes" to "No" by a server's passages, either way, for a "Yes" or "No" from them.
"""

LOOKS: Final = ((-0.2, 0.1), (-0.5, 0.4))
"""For the best and the second sentence: the confidence of the answer so far from which the sentence is not reread, and
by how much the confidence of its own answer must exceed that.
"""

LOOKED_THROUGH: Final = 3
"""The number of passages that are searched for the sentences of `LOOKS`."""

LOOK_TOKENS: Final = 24
"""The most tokens of an answer from a single sentence."""

LIMITS: Final = (SURE, YES, MIN_SHIFT, LOOKS, LOOKED_THROUGH, LOOK_TOKENS)
"""The thresholds that decide which answers are shown: part of the fingerprint of kept answers."""

_FAINT: Final = -4.0
"""The log probability of the abstention below which the abstention is ignored."""

_DOUBT: Final = 0.25


@dataclass(slots=True)
class Sureness:
    """Log probabilities of an answer. `least` is that of its least likely token, including its end.

    `abstention` is that of abstaining instead, computed until negligible; `yes_margin` is log P("Yes") - log P("No") of
    the first token.
    """

    least: float = 0.0
    abstention: float = -math.inf
    yes_margin: float = 0.0

    @property
    def of_text(self) -> float:
        """The confidence in an answer other than "Yes" and "No", which uses the passages' words: a log probability, at
        most 0.
        """
        return self.least + _DOUBT * min(0.0, _FAINT - self.abstention)

    @property
    def decides(self) -> bool:
        """Whether the margin is large enough to answer "Yes" or "No"."""
        return self.yes_margin < 0 or self.yes_margin >= YES

    def is_read_on(self, abstention: float) -> bool:
        """Return whether the abstention's next token must be read; `abstention` is the log probability of its tokens so
        far.
        """
        return abstention > _FAINT
