"""Runs pipelines without a model: each Write step gets the next of some scripted texts, each query the passages that a
table names.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain, repeat

from cloud_server.pipelines.steps import (
    Answer,
    Inquiry,
    LookUp,
    Passages,
    PipelineSteps,
    Reply,
    Say,
    Step,
    Write,
    Written,
    WrittenToken,
)
from shared.protocol.messages import PublicPassage

QUESTION = "Where do jackdaws nest?"


def passage(number: int, similarity: float = 0.5) -> PublicPassage:
    return PublicPassage(number, f"Title {number}", "", f"Text {number}.", similarity, similarity)


def passages(*numbers: int) -> Passages:
    return tuple(passage(number, 0.9 - place / 10) for place, number in enumerate(numbers))


def text(said: str, probability: float | Mapping[str, float] = 0.95, *, whole: bool = True) -> Written:
    """Return a generated text with one token per word.

    `probability` is that of all tokens, or that of each word that it names.
    """
    words = re.findall(r"\s*\S+|\s+$", said)
    likely = [probability if isinstance(probability, float) else probability.get(word.strip(), 0.95) for word in words]
    tokens = (WrittenToken(place, word, p) for place, (word, p) in enumerate(zip(words, likely, strict=True)))
    return Written(tuple(tokens), whole)


@dataclass
class Trace:
    """The steps that a pipeline asked for, and its answer."""

    steps: list[Step] = field(default_factory=list)
    answer: Answer | None = None

    @property
    def queries(self) -> list[str]:
        return [query for step in self.steps if isinstance(step, LookUp) for query in step.queries]

    @property
    def rounds(self) -> list[LookUp]:
        return [step for step in self.steps if isinstance(step, LookUp)]

    @property
    def writes(self) -> list[Write]:
        return [step for step in self.steps if isinstance(step, Write)]

    @property
    def said(self) -> str:
        return "".join(token.text for step in self.steps if isinstance(step, Say) for token in step.tokens)

    @property
    def ids(self) -> list[int] | None:
        return None if self.answer is None else [passage.id for passage in self.answer.passages]


def fed(
    pipeline: PipelineSteps,
    *texts: str | Written,
    for_ever: str | Written = "",
    results: Mapping[str, Passages] | None = None,
    inquiry: Inquiry = Inquiry(QUESTION, 3),  # noqa: B008  (frozen)
) -> Trace:
    """Run the pipeline to its end. The model writes `texts` one after the other, and then always `for_ever`.

    A query that is not in the table finds passage 1.
    """
    trace, results = Trace(), results or {}
    model: Iterable[str | Written] = chain(texts, repeat(for_ever))
    steps, reply = pipeline(inquiry), None
    following = iter(model)
    try:
        while True:
            step = steps.send(reply)
            trace.steps.append(step)
            reply = _reply(step, results, following)
    except StopIteration as ended:
        trace.answer = ended.value
    return trace


def _reply(step: Step, results: Mapping[str, Passages], model: Iterable[str | Written]) -> Reply:
    match step:
        case Write():
            said = next(iter(model))
            made = text(said) if isinstance(said, str) else said
            return Written(made.tokens, made.whole, step.stops)
        case LookUp():
            return tuple(results.get(query, passages(1)) for query in step.queries)
        case Say():
            return None
