"""The interface of drafters, which guess the next tokens of an answer. Implementations: `lookup`, `small_model`,
`network_drafter`.
"""

import math
from dataclasses import dataclass
from typing import Final, Protocol

DEGREES: Final = 8
"""The number of degrees by which a drafter says how sure it is of a token."""


@dataclass(frozen=True, slots=True)
class Draft:
    """Tokens that may come next, in order.

    If they were looked up, they followed an earlier occurrence of the last `matched` tokens. If a model drafted them,
    it gave each of them one of the `log_probabilities`, given the tokens before it.
    """

    tokens: tuple[int, ...] = ()
    matched: int = 0
    log_probabilities: tuple[float, ...] = ()

    @property
    def degrees(self) -> list[int]:
        """For each token, how sure the drafter is of it, from 1 to `DEGREES`: by its probability if a model drafted it,
        else by the number of tokens that matched before it.
        """
        if self.log_probabilities:
            return [min(int(math.exp(own) * DEGREES), DEGREES - 1) + 1 for own in self.log_probabilities]
        return [min(max(self.matched + place, 1), DEGREES) for place in range(len(self.tokens))]

    @property
    def rest(self) -> "Draft":
        """The draft without its first token, after that token was drawn."""
        return Draft(self.tokens[1:], self.matched + 1, self.log_probabilities[1:])


class Drafter(Protocol):
    """The interface of a drafter, which follows one answer and drafts its next tokens.

    Drafts are only guesses: whatever is drafted, the tokens are drawn as without a drafter. After any exception the
    drafter is not used again.
    """

    @property
    def unread(self) -> int:
        """The number of tokens that the drafter has to read before it can draft: 0 if reading costs it no time."""

    def append(self, token: int) -> None:
        """Append the drawn token to the answer. This takes no time; drafted tokens that were not drawn are
        forgotten.
        """

    def passed(self, sequence: int) -> None:
        """Record that the answering model has computed the last drawn token, and perhaps drafted ones after it.

        `sequence` is the sequence of its engine that this drafter follows. Call it before the engine's next pass.
        """

    def draft(self, most: int, least: float = 0.0) -> Draft:
        """Draft at most `most` next tokens, and stop before a token that is reached with a probability below `least`.

        A drafter that has much to read may read only a part of it, and draft nothing yet.
        """
