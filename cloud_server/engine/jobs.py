"""What there is to write, and what becomes of it: the words between the batch and whoever asks it for answers."""

from dataclasses import dataclass
from itertools import takewhile

from models.sampling import SamplingSettings
from shared.aggregation.distribution import Distribution, Top
from shared.aggregation.messages import Rule

Segments = tuple[tuple[int, ...], ...]
"""A prompt's tokens, cut where a part ends that other prompts may begin with. The last one holds the question."""


@dataclass(frozen=True, slots=True)
class Job:
    """One answer to write, from one prompt or from several *rows*, each a prompt: the next token's distribution is then
    the mixture of theirs, by `log_weights`, one a row, whose exponentials sum to 1 (DRAGON, section 3).

    `accepted` is what is written of the answer already, elsewhere; `max_tokens` counts it. With a `rule` a device
    writes it too: tokens are drafts, at most `ahead` beyond what is settled; what they become is said by
    `Batch.correct`, and only `leave` ends it.
    """

    rows: tuple[Segments, ...]
    log_weights: tuple[float, ...]
    sampling: SamplingSettings
    max_tokens: int
    accepted: tuple[int, ...] = ()
    rule: Rule | None = None
    ahead: int = 0

    @property
    def shared(self) -> int:
        """Tokens that all rows begin with: they are computed, and held, once."""
        parts = takewhile(lambda part: len(set(part)) == 1, zip(*(row[:-1] for row in self.rows), strict=False))
        return sum(len(part[0]) for part in parts) if len(self.rows) > 1 else 0

    @property
    def prompt_tokens(self) -> int:
        """Tokens of all rows; what they share counts once."""
        return sum(len(part) for row in self.rows for part in row) - self.shared * (len(self.rows) - 1)

    @property
    def longest(self) -> int:
        """Tokens that its longest row may come to hold."""
        prompts = (sum(map(len, row)) for row in self.rows)
        return max(prompts, default=0) + max(self.max_tokens, len(self.accepted))

    @property
    def read_tokens(self) -> int:
        """Tokens that are read before the next one is drawn: the prompt, and in each row what is written already."""
        return self.prompt_tokens + len(self.rows) * len(self.accepted)

    @property
    def cells(self) -> int:
        """Cells of the engine's context that it may come to take."""
        return self.prompt_tokens + len(self.rows) * max(self.max_tokens, len(self.accepted))


@dataclass(frozen=True, slots=True)
class Token:
    """The answer's token at this absolute index, and the text that became complete with it."""

    key: int
    index: int
    token: int
    text: str


@dataclass(frozen=True, slots=True)
class Draft:
    """A draft for this position of an answer that is written together, of the chain that begins at `epoch`, and what it
    was drawn from, where the rule needs that.
    """

    key: int
    epoch: int
    position: int
    token: int
    distribution: Distribution | None = None


@dataclass(frozen=True, slots=True)
class Supplied:
    """More of the distribution that the draft at this position was drawn from."""

    key: int
    position: int
    distribution: Top


@dataclass(frozen=True, slots=True)
class Done:
    """The answer is whole (`cut`: it reached its limit), after so many tokens computed and joined of its prompt.

    `rest` is what a character that never became complete is shown as.
    """

    key: int
    rest: str
    cut: bool
    prefilled: int
    joined: int


@dataclass(frozen=True, slots=True)
class Broken:
    """The engine could not go on with this answer; the others are as they were."""

    key: int
    why: str


@dataclass(frozen=True, slots=True)
class Displaced:
    """An answer that is written together gave its place away, and cannot go on: what was drafted is lost with it."""

    key: int


EngineEvent = Token | Draft | Supplied | Done | Broken | Displaced
