"""Pipelines that look up what the model makes of the question, in one round: plain, HyDE and SubQuestion."""

import re

from cloud_server.pipelines import prompts
from cloud_server.pipelines.fusion import fused
from cloud_server.pipelines.steps import Inquiry, LookUp, Steps, Write, Written, answered_from, looked_up, written

HYDE_TOKENS = 64
SUBQUESTION_TOKENS = 96

MOST_SUBQUESTIONS = 8
"""A model that writes more has not understood: the question itself is looked up."""

_LIST_ITEM = re.compile(r"^\s*(?:\(?\d{1,3}[.):]|[-*•])\s*")


def plain(inquiry: Inquiry) -> Steps:
    """The question itself."""
    [passages] = yield from looked_up(LookUp((inquiry.question,)))
    return answered_from(passages)


def hyde(inquiry: Inquiry) -> Steps:
    """A passage that the model makes up, which is nearer to the one that answers (HyDE, Gao et al., 2023)."""
    made_up = yield from written(Write(prompts.hypothetical(inquiry), HYDE_TOKENS, searched=True))
    if not made_up.says_something:
        return None
    [passages] = yield from looked_up(LookUp((made_up.text,), inquiry.anchored))
    return answered_from(passages)


def subquestion(inquiry: Inquiry) -> Steps:
    """Simpler questions that the model splits it into (as LlamaIndex's SubQuestionQueryEngine)."""
    listed = yield from written(Write(prompts.decompose(inquiry), SUBQUESTION_TOKENS, searched=True))
    questions = _items(listed)
    if not (listed.says_something and len(questions) <= MOST_SUBQUESTIONS):
        return None
    rankings = yield from looked_up(LookUp(questions, inquiry.anchored))
    return answered_from(fused(rankings, inquiry.most))


def _items(listed: Written) -> tuple[str, ...]:
    """The lines, each once, without their numbers; not the last, where the limit cut it short."""
    lines = [_LIST_ITEM.sub("", line).strip() for line in listed.text.splitlines()]
    lines = [line for line in lines if any(character.isalnum() for character in line)]
    whole = lines if listed.whole or len(lines) < 2 else lines[:-1]
    return tuple(dict.fromkeys(whole))
