"""Decides before the first token of an answer whether the model abstains ("not found"), and corrects its token
probabilities if it answers.
"""

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
    """The decision whether to abstain, with the `tokens` of the abstention's text.

    If the model has to answer although the abstention is its likeliest text, `shifts` are added to the log
    probabilities of those tokens, each given the tokens before it, so that the answer departs from the abstention.
    """

    abstains: bool
    tokens: Sequence[int] = ()
    shifts: Sequence[float] = ()

    def given_an_answer(self, mixture: Logits, drawn: Sequence[int]) -> Logits:
        """Return the next token's log probabilities, given that the answer is no abstention. Shape (vocabulary,).

        `mixture` are the model's log probabilities after the tokens `drawn`; the part of them that leads to the
        abstention's text is removed. The result is not normalised.
        """
        place = len(drawn)
        if place >= len(self.shifts) or list(drawn) != list(self.tokens[:place]):
            return mixture
        changed = mixture.copy()
        changed[self.tokens[place]] += self.shifts[place]
        return changed


def judge(decoder: Decoder, tokens: Sequence[int], threshold: float, sureness: Sureness | None = None) -> Judged:
    """Decide to abstain if the log odds of the abstention's `tokens` reach the threshold.

    `decoder` must be at the end of the prompt and able to roll back that many tokens (`ahead`); its state is restored.
    The probability of the tokens is stored in `sureness`. Tokens are read one by one, only as long as they are likely
    enough, or the model's own choice, or relevant to `sureness`. Raises ContextFull.
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
    """Return, for each token of the abstention's text, the log probability that the text departs from the abstention
    later.

    `logs` are the log probabilities of the tokens, each given those before it.
    """
    goes_on = [math.fsum(logs[place + 1 :]) for place in range(len(logs))]
    return [math.log(-math.expm1(log_share)) if log_share < 0 else -math.inf for log_share in goes_on]
