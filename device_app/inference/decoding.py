"""Decodes an answer from the rows of its prompt: draws its tokens one by one.

Before the first one it is decided whether the model abstains ("not found"). If it answers, its token probabilities are
corrected for that.
"""

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass

import numpy as np

from device_app.inference.sureness import Sureness
from models.abstention import log_odds
from models.decoder import Decoder, LogWeights, log_probability
from models.engine import Engine, EngineInfo, Logits
from models.following_weights import FollowingWeights
from models.sampling import SamplingSettings, sample
from models.speculative.decoding import DraftingDecoder
from models.speculative.drafting import Drafting
from shared.prompt import NOT_FOUND, Prompt
from shared.trace import Trace


def decoded(
    engine: Engine,
    drafting: Drafting,
    rows: Sequence[Logits],
    weights: LogWeights,
    sampling: SamplingSettings,
    max_tokens: int,
    trace: Trace,
    *,
    accepted: Sequence[int] = (),
    threshold: float | None = None,
    sureness: Sureness | None = None,
    following: FollowingWeights | None = None,
) -> Generator[int, None, None]:
    """Yield the token ids of an answer, without those `accepted` before; `max_tokens` includes them.

    `rows` are the logits at the end of each row of the prompt, mixed by `weights` or, if given, by `following`.
    `threshold` is the log odds of the abstention from which the model abstains; it never does if it is None. The
    answer's probability goes to `sureness`, the time and the number of tokens to `trace`. Raises ContextFull.
    """
    drawn = list(accepted)
    with trace.step("decode"):
        judged = _judged(engine, rows, weights, max_tokens, threshold, sureness)
        if judged.abstains:
            trace.tokens_decoded = len(judged.tokens)
            trace.first_token()
            yield from judged.tokens
            return
        plain = Decoder(engine, dict(enumerate(rows)), following or weights, written=len(drawn))
        with DraftingDecoder(plain, engine, drafting, max_tokens - len(drawn), trace.drafts) as decoder:
            if sureness:
                yes, no = (engine.tokenize(word)[0] for word in ("Yes", "No"))
                sureness.yes_margin = float(decoder.mixture[yes] - decoder.mixture[no])
            while len(drawn) < max_tokens:
                token = sample(judged.given_an_answer(decoder.mixture, drawn), sampling, drawn)
                if sureness:
                    sureness.least = min(sureness.least, log_probability(decoder.mixture, token))
                if engine.is_end(token):
                    decoder.end(token)
                    break
                drawn.append(token)
                trace.tokens_decoded = len(drawn) - len(accepted)
                trace.first_token()
                yield token
                if len(drawn) < max_tokens:
                    decoder.append(token)


def abstention_threshold(info: EngineInfo, prompt: Prompt, relevance: float | None) -> float | None:
    """Return from which log odds of the abstention on the model abstains: infinite without passages.

    None if the model was not trained to abstain, or without `relevance`: then it abstains only if it writes the
    abstention.
    """
    if info.abstention is None:
        return None
    if not prompt.passages:
        return math.inf
    return None if relevance is None else info.abstention.at(relevance)


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


def _judged(
    engine: Engine,
    rows: Sequence[Logits],
    weights: LogWeights,
    max_tokens: int,
    threshold: float | None,
    sureness: Sureness | None,
) -> Judged:
    """Decide whether to abstain after the prompt; never without a threshold or room for the abstention's text."""
    tokens = engine.tokenize(NOT_FOUND) if threshold is not None else []
    if threshold is None or max_tokens < len(tokens):
        return Judged(False)
    decoder = Decoder(engine, dict(enumerate(rows)), weights, ahead=len(tokens))
    return judge(decoder, tokens, threshold, sureness)


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
