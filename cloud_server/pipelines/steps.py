"""What a pipeline is asked, the steps that it may yield, and what it is sent for each. No I/O, no vector, no token id
of its own: a runner carries the steps out.
"""

import re
from collections.abc import Callable, Generator
from dataclasses import dataclass
from itertools import accumulate

from shared.prompt import CHATML, ChatTemplate, Prompt, is_not_found
from shared.protocol.messages import PublicPassage

MOST_ROUNDS = 16
"""Times that a pipeline may look something up."""

MOST_QUERIES = 16
"""In one round."""

MOST_WRITES = 32
"""Texts that a pipeline may have written."""

Passages = tuple[PublicPassage, ...]


@dataclass(frozen=True, slots=True)
class Inquiry:
    """A question to find `most` passages for. `max_tokens` is the length of its answer.

    `anchored`: a query that the model wrote is looked up half-way between it and the question (unit(½·question +
    ½·query)); otherwise by itself, as the pipelines were published.
    """

    question: str
    most: int
    template: ChatTemplate = CHATML
    anchored: bool = True
    max_tokens: int = 1024


@dataclass(frozen=True, slots=True)
class WrittenToken:
    """A token of the model's, the text that became complete with it, and how likely the model held it, where asked."""

    token: int
    text: str
    probability: float | None = None


@dataclass(frozen=True, slots=True)
class Write:
    """Have the model write up to `most` tokens; the text ends before the first of `stops`.

    `searched`: what is written will be looked up, so that what lies near its first half may be read ahead.
    `accepted` are the tokens of the device's answer that it goes on with, and `answers` says that this is that answer:
    it is sampled as the device wants it. All else is greedy.
    """

    prompt: Prompt
    most: int
    stops: tuple[str, ...] = ()
    searched: bool = False
    probabilities: bool = False
    answers: bool = False
    accepted: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Written:
    """What came of a Write. `whole`: the model, or a stop, ended it, and not the limit."""

    tokens: tuple[WrittenToken, ...]
    whole: bool = True
    stops: tuple[str, ...] = ()

    @property
    def raw(self) -> str:
        """All of the text, stops included."""
        return "".join(token.text for token in self.tokens)

    @property
    def text(self) -> str:
        """The text before the first stop, without white space around it."""
        raw = self.raw.lstrip()
        ends = [place for stop in self.stops if (place := raw.find(stop)) >= 0]
        return raw[: min(ends, default=len(raw))].strip()

    @property
    def stopped(self) -> bool:
        """Whether a stop ended it: the model would have gone on."""
        return any(stop in self.raw.lstrip() for stop in self.stops)

    @property
    def says_something(self) -> bool:
        """Whether there is anything to look up: no silence, and not that the passages do not say it."""
        return any(character.isalnum() for character in self.text) and not is_not_found(self.text)

    @property
    def affirms(self) -> bool:
        """Whether it begins with yes."""
        return self.text.casefold().startswith("yes")

    @property
    def denies(self) -> bool:
        """Whether it begins with no."""
        return re.match(r"no\b", self.text.casefold()) is not None

    def cut(self, length: int) -> tuple[WrittenToken, ...]:
        """The tokens that begin within the first `length` characters."""
        starts = accumulate((len(token.text) for token in self.tokens), initial=0)
        return tuple(token for token, start in zip(self.tokens, starts, strict=False) if start < length)


@dataclass(frozen=True, slots=True)
class LookUp:
    """Find the nearest passages of each query, in one round; `anchored` as `Inquiry` has it."""

    queries: tuple[str, ...]
    anchored: bool = False


@dataclass(frozen=True, slots=True)
class Say:
    """These tokens of the answer stand, written from these passages: the device may have them now."""

    tokens: tuple[WrittenToken, ...]
    passages: Passages


@dataclass(frozen=True, slots=True)
class Answer:
    """How a pipeline ends: the passages to answer from, the best first, and what is said of the answer already.

    `whole`: nothing follows that.
    """

    passages: Passages
    accepted: tuple[int, ...] = ()
    whole: bool = False


Step = Write | LookUp | Say
Reply = Written | tuple[Passages, ...] | None
"""Of a Write, of a LookUp (one element a query), of a Say."""

Steps = Generator[Step, Reply, Answer | None]
"""A pipeline under way. None: nothing came of it, and the question's own passages are to be answered from."""

PipelineSteps = Callable[[Inquiry], Steps]


def written(step: Write) -> Generator[Step, Reply, Written]:
    """Yield the step; what was written."""
    reply = yield step
    assert isinstance(reply, Written)
    return reply


def looked_up(step: LookUp) -> Generator[Step, Reply, tuple[Passages, ...]]:
    """Yield the step; the passages of each query."""
    reply = yield step
    assert isinstance(reply, tuple)
    return reply


def answered_from(passages: Passages) -> Answer | None:
    """The end of a pipeline that looked for passages."""
    return Answer(passages) if passages else None
