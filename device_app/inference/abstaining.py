"""Whether to abstain, judged before the first token; and what may be drawn where an answer is given."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from device_app.inference.sureness import Sureness
from models.abstention import log_odds
from models.decoder import Decoder, log_probability
from models.engine import Logits


@dataclass(frozen=True, slots=True)
class Judged:
    """Whether the answer is to be the abstention, spelled by `tokens`. Where it is not, though it is likeliest,
    `shifts` hold what each of its tokens loses in log probability behind those before it.
    """

    abstains: bool
    tokens: Sequence[int] = ()
    shifts: Sequence[float] = ()

    def given_an_answer(self, mixture: Logits, drawn: Sequence[int]) -> Logits:
        """Log probabilities of the next token, but for a constant, behind those drawn: the `mixture` without the share
        of it that would have become the abstention. Shape (vocabulary,).
        """
        place = len(drawn)
        if place >= len(self.shifts) or list(drawn) != list(self.tokens[:place]):
            return mixture
        changed = mixture.copy()
        changed[self.tokens[place]] += self.shifts[place]
        return changed


def judge(decoder: Decoder, tokens: Sequence[int], threshold: float, sureness: Sureness | None = None) -> Judged:
    """Abstain where the log odds of these tokens are the threshold or more. `decoder` has written nothing and keeps as
    many mixtures (`ahead`) as there are tokens; it is as before then. `sureness` is told how likely they are.

    The tokens are read one by one, for as long as they are likely enough, or what the model would write itself, or it
    matters to `sureness`: where it would not begin like that, none is. Raises ContextFull.
    """
    logs: list[float] = []
    is_likeliest = True
    while True:
        token = tokens[len(logs)]
        logs.append(log_probability(decoder.mixture, token))
        total = math.fsum(logs)
        odds = log_odds(total)
        is_likeliest = is_likeliest and int(np.argmax(decoder.mixture)) == token
        is_over = len(logs) == len(tokens)
        if sureness:
            sureness.abstention = total
        matters = sureness is not None and sureness.is_read_on(total) and not is_over
        if odds < threshold and not is_likeliest and not matters:
            decoder.roll_back(0)
            return Judged(False)
        if is_over:
            decoder.roll_back(0)
            return Judged(True, tokens) if odds >= threshold else Judged(False, tokens, _shifts(logs))
        decoder.append(token)


def _shifts(logs: Sequence[float]) -> list[float]:
    """By token, from its log probabilities behind one another: the log of the share of it that goes on otherwise."""
    goes_on = [math.fsum(logs[place + 1 :]) for place in range(len(logs))]
    return [math.log(-math.expm1(log_share)) if log_share < 0 else -math.inf for log_share in goes_on]
