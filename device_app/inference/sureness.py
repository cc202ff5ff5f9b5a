"""A model's confidence in its answer, and the thresholds from which the answer is shown.

An extractive answer's own probability predicts whether it is right (Kamath, Jia and Liang, Selective Question Answering
under Domain Shift, ACL 2020). The thresholds were chosen for the answerer, a LoRA adapter that is trained to answer
from passages or abstain.
"""

import math
from dataclasses import dataclass
from typing import Final

SURE: Final = -1.3
"""The least confidence of an answer that is shown, as a log probability; other answers are withheld."""

YES: Final = 1.5
"""The least log P("Yes") - log P("No") for which "Yes" is answered, as models often say "Yes" without evidence."""

MIN_SHIFT: Final = 1.5
"""The least change of log P("Yes") - log P("No") by a server's passages, up or down, for "Yes" or "No" to be answered
from them.
"""

LOOKS: Final = ((-0.2, 0.1), (-0.5, 0.4))
"""When a sentence alone is read again for a better answer: two limits each for the best and the second-best sentence.

The first limit is the confidence of the present answer from which the sentence is not read; the second, by how much
more confident the answer from the sentence must be to replace it.
"""

LOOKED_THROUGH: Final = 3
"""The number of passages in which the best two sentences are searched for, to be read again alone (`LOOKS`)."""

LOOK_TOKENS: Final = 24
"""The most tokens of an answer from a single sentence."""

LIMITS: Final = (SURE, YES, MIN_SHIFT, LOOKS, LOOKED_THROUGH, LOOK_TOKENS)
"""The thresholds that decide which answers are shown: part of the fingerprint of kept answers."""

_FAINT: Final = -4.0
"""The log probability of abstaining below which that possibility does not lower the confidence in an answer."""

_DOUBT: Final = 0.25


@dataclass(slots=True)
class Sureness:
    """The model's log probabilities that tell how sure it is of an answer.

    `least` is that of the answer's least likely token, including its end.

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
        """Whether `yes_margin` is large enough to answer "Yes", or negative, so that "No" is answered."""
        return self.yes_margin < 0 or self.yes_margin >= YES

    def is_read_on(self, abstention: float) -> bool:
        """Return whether the next token of the abstention's text must be read to know its probability; `abstention` is
        the log probability of its tokens so far.
        """
        return abstention > _FAINT
