"""The input of a pipeline, the steps that it may yield, and the reply to each step. Pipelines do no I/O and make no
vectors or token ids: `Runner` carries out the steps.
"""

import re
from collections.abc import Callable, Generator
from dataclasses import dataclass
from itertools import accumulate

from shared.prompt import CHATML, ChatTemplate, Prompt, is_not_found
from shared.protocol.messages import PublicPassage

MOST_ROUNDS = 16
"""The most rounds of retrieval in one pipeline."""

MOST_QUERIES = 16
"""The most queries in one round."""

MOST_WRITES = 32
"""The most texts that a pipeline may have the model write."""

Passages = tuple[PublicPassage, ...]


@dataclass(frozen=True, slots=True)
class Inquiry:
    """A question for which a pipeline finds at most `most` passages. `max_tokens` is the greatest length of its answer.

    `anchored`: a query that the model wrote is searched for half-way between its vector and the question's
    (unit(½·question + ½·query)); otherwise by its own vector, as the pipelines were published.
    """

    question: str
    most: int
    template: ChatTemplate = CHATML
    anchored: bool = True
    max_tokens: int = 1024


@dataclass(frozen=True, slots=True)
class WrittenToken:
    """A token that the model wrote, the text that became complete with it, and its probability if that was
    requested.
    """

    token: int
    text: str
    probability: float | None = None


@dataclass(frozen=True, slots=True)
class Write:
    """A step: have the model write a text of up to `most` tokens, which ends before the first of `stops`.

    `searched`: the text will be looked up, so the index may be read ahead near its first half. `before_question`: the
    question itself will be looked up, so the index may be read ahead near the question. `accepted` are the tokens of
    the device's answer that the text continues. `probabilities`: the pipeline needs the probability of each token.
    `answers`: the text is part of the answer that the device gets and is sampled with the device's settings; all other
    texts are greedy.
    """

    prompt: Prompt
    most: int
    stops: tuple[str, ...] = ()
    searched: bool = False
    before_question: bool = False
    probabilities: bool = False
    answers: bool = False
    accepted: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Written:
    """The text that the model wrote for a Write step. `whole`: the model or a stop text ended the text, not the token
    limit.
    """

    tokens: tuple[WrittenToken, ...]
    whole: bool = True
    stops: tuple[str, ...] = ()

    @property
    def raw(self) -> str:
        """The whole text, including the stop that ended it."""
        return "".join(token.text for token in self.tokens)

    @property
    def text(self) -> str:
        """The text before the first stop, without surrounding white space."""
        raw = self.raw.lstrip()
        ends = [place for stop in self.stops if (place := raw.find(stop)) >= 0]
        return raw[: min(ends, default=len(raw))].strip()

    @property
    def stopped(self) -> bool:
        """Whether a stop text ended the text before the model would have ended it."""
        return any(stop in self.raw.lstrip() for stop in self.stops)

    @property
    def says_something(self) -> bool:
        """Whether the text can be looked up: it has letters or digits, and is not the reply that the passages lack the
        answer.
        """
        return any(character.isalnum() for character in self.text) and not is_not_found(self.text)

    @property
    def affirms(self) -> bool:
        """Whether the text begins with "yes"."""
        return self.text.casefold().startswith("yes")

    @property
    def denies(self) -> bool:
        """Whether the text begins with the word "no"."""
        return re.match(r"no\b", self.text.casefold()) is not None

    def cut(self, length: int) -> tuple[WrittenToken, ...]:
        """Return the tokens whose text begins within the first `length` characters of the text."""
        starts = accumulate((len(token.text) for token in self.tokens), initial=0)
        return tuple(token for token, start in zip(self.tokens, starts, strict=False) if start < length)


@dataclass(frozen=True, slots=True)
class LookUp:
    """A step: find the nearest passages for each query, in one round. `anchored` is explained in `Inquiry`."""

    queries: tuple[str, ...]
    anchored: bool = False


@dataclass(frozen=True, slots=True)
class Say:
    """A step: send final tokens of the answer, and the passages from which they were written, to the device."""

    tokens: tuple[WrittenToken, ...]
    passages: Passages


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a pipeline: the passages from which to answer, the best first, and the answer's tokens that were
    already sent.

    `whole`: the answer is complete.
    """

    passages: Passages
    accepted: tuple[int, ...] = ()
    whole: bool = False


Step = Write | LookUp | Say
Reply = Written | tuple[Passages, ...] | None
"""The reply to a step: to a Write, to a LookUp (one list of passages per query), or to a Say."""

Steps = Generator[Step, Reply, Answer | None]
"""A running pipeline. If it returns None, the answer is written from the question's own passages instead."""

PipelineSteps = Callable[[Inquiry], Steps]


def written(step: Write) -> Generator[Step, Reply, Written]:
    """Yield a Write step, and return the text that was written."""
    reply = yield step
    assert isinstance(reply, Written)
    return reply


def looked_up(step: LookUp) -> Generator[Step, Reply, tuple[Passages, ...]]:
    """Yield a LookUp step, and return the passages for each query."""
    reply = yield step
    assert isinstance(reply, tuple)
    return reply


def answered_from(passages: Passages) -> Answer | None:
    """Return the result of a pipeline that answers from these passages; None if there are no passages."""
    return Answer(passages) if passages else None
