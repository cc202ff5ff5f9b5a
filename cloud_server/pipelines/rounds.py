"""Pipelines with several rounds of retrieval, Iterative and Iter-RetGen: each round's query is made from the results of
the round before.
"""

from cloud_server.pipelines import prompts
from cloud_server.pipelines.fusion import fused
from cloud_server.pipelines.steps import Inquiry, LookUp, Passages, Steps, Write, answered_from, looked_up, written
from shared.prompt import Exchange

MOST_ITERATIONS = 3
LINE_TOKENS = 48
VERDICT_TOKENS = 4


def iterative(inquiry: Inquiry) -> Steps:
    """Look up and answer a narrower question in each round, until the model judges the whole question answered (as
    LlamaIndex's MultiStepQueryEngine).
    """
    earlier: list[Exchange] = []
    rankings: list[Passages] = []
    for _ in range(MOST_ITERATIONS):
        narrower = yield from written(Write(prompts.narrow(inquiry, earlier), LINE_TOKENS, ("\n",), searched=True))
        if not narrower.says_something:
            break
        [passages] = yield from looked_up(LookUp((narrower.text,), inquiry.anchored))
        rankings.append(passages)
        if len(rankings) == MOST_ITERATIONS:
            break  # a verdict would change nothing in the last round
        said = yield from written(Write(prompts.answer(inquiry, narrower.text, passages), LINE_TOKENS, ("\n",)))
        earlier.append(Exchange(narrower.text, said.text))
        verdict = yield from written(Write(prompts.judge(inquiry, earlier), VERDICT_TOKENS, ("\n",)))
        if verdict.affirms:
            break
    return answered_from(fused(rankings, inquiry.most))


def iter_retgen(inquiry: Inquiry) -> Steps:
    """Look up the question with the answer drafted from the last round's passages (Iter-RetGen, Shao et al., 2023)."""
    [passages] = yield from looked_up(LookUp((inquiry.question,)))
    for _ in range(MOST_ITERATIONS - 1):
        prompt = prompts.answer(inquiry, inquiry.question, passages)
        draft = yield from written(Write(prompt, LINE_TOKENS, ("\n",), searched=True))
        if not draft.says_something:
            break
        query = draft.text if inquiry.anchored else f"{draft.text} {inquiry.question}"
        [nearer] = yield from looked_up(LookUp((query,), inquiry.anchored))
        if not nearer:
            break
        passages = nearer
    return answered_from(passages)
