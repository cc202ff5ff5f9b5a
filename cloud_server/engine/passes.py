"""Computes the next tokens of several answers in one pass of the engine, and verifies drafted tokens in the same pass.

Drafted tokens are chosen by expected gain, over all answers of the pass. By default drafts are used only while a single
answer is being generated (`Drafting.costs_if_used`), as on a device.
"""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from cloud_server.engine.answer import Answer
from models.engine import Engine, Logits
from models.speculative.choice import shares
from models.speculative.costs import PassCosts
from shared.errors import ContextFull, EngineLost


def with_drafts(engine: Engine, tokens: Mapping[Answer, int], costs: PassCosts | None) -> dict[Answer, list[int]]:
    """Return each answer's next token and the drafted tokens to verify with it: as many as the engine can verify."""
    if costs is None:
        return {answer: [token] for answer, token in tokens.items()}
    rows = [len(answer.sequences) for answer in tokens]
    most = engine.info.verifies
    context = sum(engine.length(row) for answer in tokens for row in answer.sequences)
    cost = partial(costs.ratio, context=context)
    own = cost if len(tokens) == 1 else None  # a model drafts for one answer at a time
    proposed = [answer.proposed((most - sum(rows)) // len(answer.sequences), own) for answer in tokens]
    spent = sum(answer.spent for answer in tokens)
    counts = shares([chances for _, chances in proposed], rows, cost, most, spent)
    return {
        answer: [token, *draft[:count]]
        for (answer, token), (draft, _), count in zip(tokens.items(), proposed, counts, strict=True)
    }


def compute(engine: Engine, tokens: Mapping[Answer, Sequence[int]]) -> Mapping[int, Sequence[Logits]]:
    """Compute the given tokens of all answers, in each of their rows (prompts), in one pass; return each row's logits
    after each token.
    """
    by_row = {row: part for answer, part in tokens.items() for row in answer.sequences}
    if max(map(len, by_row.values())) > 1:
        return engine.verify(by_row)
    decoded = engine.decode({row: part[0] for row, part in by_row.items()})
    return {row: [logits] for row, logits in decoded.items()}


def check(engine: Engine, answer: Answer) -> None:
    """Raise EngineLost unless the engine can still compute a token, after an error in an answer."""
    sequence = answer.sequences[0]
    first = next(token for part in answer.job.rows[0] for token in part)
    try:
        logits = engine.prefill(sequence, [first])
        engine.clear(sequence)
    except ContextFull:
        return  # an error of this sequence, not of the engine
    except Exception as error:
        raise EngineLost(
            "The engine fails even at a single token, with room in its context. Restart the server."
        ) from error
    if not np.isfinite(logits.max()):
        raise EngineLost(
            "The engine computes logits that are not finite numbers. Restart the server, then run: jackdaw doctor"
        )
