"""Whether to abstain, judged before the first token; and what may be drawn where an answer is given."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

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


def judge(decoder: Decoder, tokens: Sequence[int], threshold: float) -> Judged:
    """Abstain where the log odds of these tokens are the threshold or more. `decoder` has written nothing and keeps as
    many mixtures (`ahead`) as there are tokens; it is as before then.

    The tokens are read one by one, for as long as they are likely enough, or what the model would write itself: where
    it would not begin like that, none is. Raises ContextFull.
    """
    logs: list[float] = []
    while True:
        token = tokens[len(logs)]
        logs.append(log_probability(decoder.mixture, token))
        odds = log_odds(math.fsum(logs))
        if odds < threshold and int(np.argmax(decoder.mixture)) != token:
            decoder.roll_back(0)
            return Judged(False)
        if len(logs) == len(tokens):
            decoder.roll_back(0)
            return Judged(True, tokens) if odds >= threshold else Judged(False, tokens, _shifts(logs))
        decoder.append(token)


def _shifts(logs: Sequence[float]) -> list[float]:
    """By token, from its log probabilities behind one another: the log of the share of it that goes on otherwise."""
    goes_on = [math.fsum(logs[place + 1 :]) for place in range(len(logs))]
    return [math.log(-math.expm1(one)) if one < 0 else -math.inf for one in goes_on]
