"""A drafting model beside the answering one, and its measured acceptance."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Final

from msgspec import Meta

from models.speculative.choice import BY_PROBABILITY, Acceptance
from models.speculative.costs import DraftCosts
from models.speculative.drafter import DEGREES, Drafter

_TYPICAL: Final = (0.75,)
"""The share of a model's drafted tokens that is assumed to be right before any are counted. It is set rather too high:
how good a model is shows only while it drafts, and a few wrong tokens cost little.
"""

_LENGTH, _LENGTH_KEPT, _LEAST_LEFT = 64.0, 0.9, 16
"""Numbers for `DraftModel.left`: the mean length of an answer, in tokens, that is assumed before the first answer; the
weight of the old mean when an answer's length is added to it; and the least number of tokens that it returns.
"""


Counts = tuple[Annotated[float, Meta(ge=0, le=1e3)], Annotated[float, Meta(gt=0, le=1e3)]]
"""The tokens accepted and the tokens drafted, as decaying counts."""


@dataclass(frozen=True, slots=True)
class Learned:
    """The statistics of a drafting model from earlier runs.

    `counts` are the counts for each degree (`Draft.degrees`), in order; `typical` are the counts for drafted tokens of
    all degrees together; `length` is the mean number of tokens of an answer.
    """

    counts: tuple[Counts, ...]
    typical: Counts
    length: Annotated[float, Meta(ge=0, le=1e6)]

    def __post_init__(self) -> None:
        """Raise ValueError unless there are counts for `DEGREES` degrees, and no count of accepted tokens exceeds that
        of drafted ones.
        """
        if len(self.counts) != DEGREES or any(accepted > drafted for accepted, drafted in (*self.counts, self.typical)):
            raise ValueError("These counts cannot be a drafting model's.")


@dataclass(slots=True)
class DraftModel:
    """A loaded model that drafts. `name` is the model's name in messages for the user.

    `start` returns a drafter that follows the given tokens and the answer after them. `key` identifies the model in the
    file of costs. `close` frees the model, and may be called again. `costs` are None until they are measured. `failed`
    is the reason why the model no longer drafts; "" while it drafts.
    """

    name: str
    key: str
    start: Callable[[Sequence[int]], Drafter]
    close: Callable[[], None]
    costs: DraftCosts | None = None
    failed: str = ""
    _acceptance: Acceptance = field(default_factory=lambda: Acceptance(BY_PROBABILITY))
    _typical: Acceptance = field(default_factory=lambda: Acceptance(_TYPICAL))
    _length: float = _LENGTH
    _has_learned: bool = False

    @property
    def drafts(self) -> bool:
        """Whether the model can draft: its costs are known, and it has not failed."""
        return self.costs is not None and not self.failed

    @property
    def typical(self) -> float:
        """The probability that the model's next drafted token is accepted, before it is drafted."""
        return self._typical.chance(1)

    def chance(self, degree: int) -> float:
        """Return the probability that a drafted token of the given degree (`Draft.degrees`) is accepted."""
        return self._acceptance.chance(degree)

    def learn(self, degree: int, *, is_accepted: bool) -> None:
        """Count a drafted token as accepted or rejected. All drafted tokens before it were accepted."""
        self._has_learned = True
        self._acceptance.learn(degree, is_accepted=is_accepted)
        self._typical.learn(1, is_accepted=is_accepted)

    def begin(self, text: Sequence[int]) -> Drafter:
        """Return a drafter for an answer after the given text."""
        self._typical.fade()
        return self.start(text)

    def left(self, written: int) -> int:
        """Return how many tokens are expected to follow in an answer that has a given number of tokens."""
        return max(round(self._length) - written, _LEAST_LEFT)

    def ended(self, written: int) -> None:
        """Record that an answer ended after `written` tokens."""
        self._length = _LENGTH_KEPT * self._length + (1 - _LENGTH_KEPT) * written

    def fail(self, error: Exception) -> None:
        """Stop drafting for good, record the reason, and free the model."""
        self.failed = f"{self.name} no longer drafts tokens, so answers are written without it: {error}"
        self.close()

    @property
    def learned(self) -> Learned | None:
        """The statistics to store for the next run; None if nothing was drafted in this run."""
        if not self._has_learned:
            return None
        return Learned(self._acceptance.tally, self._typical.tally[0], self._length)

    def go_on(self, learned: Learned) -> None:
        """Continue with the statistics of an earlier run."""
        self._acceptance.tally, self._typical.tally = learned.counts, (learned.typical,)
        self._length = learned.length
