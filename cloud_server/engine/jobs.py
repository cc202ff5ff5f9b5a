"""Generation jobs and their events: the interface between the batch and its callers."""

from dataclasses import dataclass
from itertools import takewhile

from models.sampling import SamplingSettings
from shared.aggregation.distribution import Distribution, Top
from shared.aggregation.messages import Rule

Segments = tuple[tuple[int, ...], ...]
"""A prompt's tokens, split at the ends of prefixes that other prompts may share. The last segment holds the question.
"""


@dataclass(frozen=True, slots=True)
class Job:
    """One answer to generate, from one or several prompts (*rows*). With several rows, the next token's distribution is
    the mixture of the rows' distributions by `log_weights`, one per row, whose exponentials sum to 1 (DRAGON, section
    3).

    `accepted` are the answer's tokens that exist already; `max_tokens` includes them. With a `rule` the answer is
    joint: its tokens are drafts, at most `ahead` beyond the accepted ones; `Batch.correct` accepts or replaces drafts,
    and only `Batch.leave` ends the answer.

    The answer ends with the token that completes any of the texts `stops`, or earlier. With `probabilities`, each token
    comes with the probability that the model gave to it.
    """

    rows: tuple[Segments, ...]
    log_weights: tuple[float, ...]
    sampling: SamplingSettings
    max_tokens: int
    accepted: tuple[int, ...] = ()
    rule: Rule | None = None
    ahead: int = 0
    stops: tuple[str, ...] = ()
    probabilities: bool = False

    @property
    def shared(self) -> int:
        """The number of tokens with which all rows begin, which are computed and stored once; 0 with a single row."""
        parts = takewhile(lambda part: len(set(part)) == 1, zip(*(row[:-1] for row in self.rows), strict=False))
        return sum(len(part[0]) for part in parts) if len(self.rows) > 1 else 0

    @property
    def prompt_tokens(self) -> int:
        """The number of prompt tokens of all rows, counting those that all rows share once."""
        return sum(len(part) for row in self.rows for part in row) - self.shared * (len(self.rows) - 1)

    @property
    def longest(self) -> int:
        """The most tokens that any row may ever hold: its prompt and the answer."""
        prompts = (sum(map(len, row)) for row in self.rows)
        return max(prompts, default=0) + max(self.max_tokens, len(self.accepted))

    @property
    def read_tokens(self) -> int:
        """The number of tokens to prefill before the next token is drawn: the prompt tokens, and in each row the
        accepted ones.
        """
        return self.prompt_tokens + len(self.rows) * len(self.accepted)

    @property
    def cells(self) -> int:
        """The most context cells that the answer may ever take, in all rows together."""
        return self.prompt_tokens + len(self.rows) * max(self.max_tokens, len(self.accepted))


@dataclass(frozen=True, slots=True)
class Token:
    """A token of the answer, at an absolute index, and the text that became complete with it.

    `probability` is the one that the model gave to the token at temperature 1, if the job asks for it.
    """

    key: int
    index: int
    token: int
    text: str
    probability: float | None = None


@dataclass(frozen=True, slots=True)
class Draft:
    """A drafted token of a joint answer. `epoch` is the position at which the current chain of drafts begins;
    `distribution` is the one from which the token was drawn, if the answer's rule needs it.
    """

    key: int
    epoch: int
    position: int
    token: int
    distribution: Distribution | None = None


@dataclass(frozen=True, slots=True)
class Supplied:
    """The reply to `Batch.supply`: the likeliest tokens of the distribution from which the draft at a position was
    drawn.
    """

    key: int
    position: int
    distribution: Top


@dataclass(frozen=True, slots=True)
class Done:
    """An answer is complete (`cut`: it reached its token limit). `prefilled` and `joined` count the prompt tokens that
    were computed and those taken from the cache.

    `rest` is the text of a final incomplete character.
    """

    key: int
    rest: str
    cut: bool
    prefilled: int
    joined: int


@dataclass(frozen=True, slots=True)
class Broken:
    """The engine failed on this answer, which ends; other answers continue. `why` is a sentence for the user."""

    key: int
    why: str


@dataclass(frozen=True, slots=True)
class Displaced:
    """A joint answer lost its place to another answer and cannot be resumed; its drafts are lost."""

    key: int


EngineEvent = Token | Draft | Supplied | Done | Broken | Displaced
"""An event of an answer; `key` is the key under which the answer was started (`Batch.join`)."""
