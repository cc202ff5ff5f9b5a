"""Self-RAG (Asai et al., 2024) with a model that was not trained for it: yes-or-no questions replace Self-RAG's special
tokens, and the probability of the yes-or-no answer replaces that of the special token.
"""

from cloud_server.pipelines import prompts
from cloud_server.pipelines.steps import Answer, Inquiry, LookUp, Steps, Write, looked_up, written

MOST_CRITICISED = 3
DRAFT_TOKENS = 48
VERDICT_TOKENS = 4


def self_rag(inquiry: Inquiry) -> Steps:
    """Ask whether passages are needed, draft an answer from each passage, and keep the passages that support their
    draft.

    The kept passages are sorted by the verdict's probability, highest first. If none are needed, the answer is written
    without passages.
    """
    needed = yield from written(Write(prompts.needed(inquiry), VERDICT_TOKENS, ("\n",), before_question=True))
    if needed.denies:
        return Answer(())
    [passages] = yield from looked_up(LookUp((inquiry.question,)))
    supported: list[tuple[float, int]] = []
    for place, passage in enumerate(passages[:MOST_CRITICISED]):
        prompt = prompts.answer(inquiry, inquiry.question, [passage])
        draft = yield from written(Write(prompt, DRAFT_TOKENS, ("\n",)))
        if not draft.says_something:
            continue
        prompt = prompts.critique(inquiry, passage, draft.text)
        verdict = yield from written(Write(prompt, VERDICT_TOKENS, ("\n",), probabilities=True))
        if verdict.affirms:
            supported.append((-(verdict.tokens[0].probability or 0.0), place))
    if not supported:
        return None
    return Answer(tuple(passages[place] for _, place in sorted(supported)))
