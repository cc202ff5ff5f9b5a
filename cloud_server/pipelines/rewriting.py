"""Pipelines with one round of retrieval: plain, HyDE and SubQuestion.

HyDE and SubQuestion search for texts that the model writes.
"""

import re

from cloud_server.pipelines import prompts
from cloud_server.pipelines.fusion import fused
from cloud_server.pipelines.steps import Inquiry, LookUp, Steps, Write, Written, answered_from, looked_up, written

HYDE_TOKENS = 64
SUBQUESTION_TOKENS = 96

MOST_SUBQUESTIONS = 8
"""The most sub-questions that are used. A model that writes more has misunderstood: then the question itself is looked
up.
"""

_LIST_ITEM = re.compile(r"^\s*(?:\(?\d{1,3}[.):]|[-*•])\s*")


def plain(inquiry: Inquiry) -> Steps:
    """Look up the question itself."""
    [passages] = yield from looked_up(LookUp((inquiry.question,)))
    return answered_from(passages)


def hyde(inquiry: Inquiry) -> Steps:
    """Look up a passage that the model invents, because it is nearer to the answer than the question is (Gao et al.,
    2023).
    """
    made_up = yield from written(Write(prompts.hypothetical(inquiry), HYDE_TOKENS, searched=True))
    if not made_up.says_something:
        return None
    [passages] = yield from looked_up(LookUp((made_up.text,), inquiry.anchored))
    return answered_from(passages)


def subquestion(inquiry: Inquiry) -> Steps:
    """Look up simpler questions into which the model splits the question (as LlamaIndex's SubQuestionQueryEngine)."""
    listed = yield from written(Write(prompts.decompose(inquiry), SUBQUESTION_TOKENS, searched=True))
    questions = _items(listed)
    if not (listed.says_something and len(questions) <= MOST_SUBQUESTIONS):
        return None
    rankings = yield from looked_up(LookUp(questions, inquiry.anchored))
    return answered_from(fused(rankings, inquiry.most))


def _items(listed: Written) -> tuple[str, ...]:
    """Return the distinct lines of a list, without list markers; leave out the last of several lines if the token limit
    cut it short.
    """
    lines = [_LIST_ITEM.sub("", line).strip() for line in listed.text.splitlines()]
    lines = [line for line in lines if any(character.isalnum() for character in line)]
    whole = lines if listed.whole or len(lines) < 2 else lines[:-1]
    return tuple(dict.fromkeys(whole))
