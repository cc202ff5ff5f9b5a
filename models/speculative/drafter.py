"""The interface of drafters, which guess the next tokens of an answer. Implementations: `lookup`, `small_model`."""

import math
from dataclasses import dataclass
from typing import Final, Protocol

DEGREES: Final = 8
"""The number of degrees to which a drafter may be sure of a token."""


@dataclass(frozen=True, slots=True)
class Draft:
    """Tokens that may come next, in order.

    Looked up: they once followed the same last `matched` tokens. From a model: it gave each of them one of the
    `log_probabilities`, if those before it came true.
    """

    tokens: tuple[int, ...] = ()
    matched: int = 0
    log_probabilities: tuple[float, ...] = ()

    @property
    def degrees(self) -> list[int]:
        """How sure each token is, from 1 to `DEGREES`: by the tokens matched before it, or by its probability."""
        if self.log_probabilities:
            return [min(int(math.exp(own) * DEGREES), DEGREES - 1) + 1 for own in self.log_probabilities]
        return [min(max(self.matched + place, 1), DEGREES) for place in range(len(self.tokens))]

    @property
    def rest(self) -> "Draft":
        """The draft after its first token, which came true."""
        return Draft(self.tokens[1:], self.matched + 1, self.log_probabilities[1:])


class Drafter(Protocol):
    """Follows one answer, and drafts its next tokens.

    It only guesses: whatever it drafts, the tokens are drawn as without it. Any exception of it drops it for good.
    """

    @property
    def unread(self) -> int:
        """The number of tokens that it has to read before it can draft: none for what costs no time."""

    def append(self, token: int) -> None:
        """Append the drawn token to the answer. This takes no time; what was drafted and not drawn is forgotten."""

    def draft(self, most: int, least: float = 0.0) -> Draft:
        """Draft at most `most` next tokens, and none after one that is reached with a probability below `least`.

        A drafter that has much to read may read a part of it, and draft nothing yet.
        """
