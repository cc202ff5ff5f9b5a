"""The parameters (terms) that both sides agree on before a joint answer."""

from collections.abc import Container
from dataclasses import dataclass

from shared.aggregation.messages import Place, Rule
from shared.side import Side


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of a joint answer; all but `side` are the same on both sides. `rule` decides each token; `vocabulary`
    is the number of token ids.

    `place`: the side that decides the tokens first; or "both": each side decides them itself, and sends neither decided
    tokens nor hand-overs. `seed` has 64 bits. `ends` are the end tokens. `ahead`: the most drafts beyond the tokens
    known to be final. More than 8 gain almost nothing even with a round trip of 0.3 s, and are discarded after a
    rejection.
    """

    side: Side
    rule: Rule
    place: Place
    seed: int
    vocabulary: int
    max_tokens: int
    ends: Container[int] = frozenset()
    ahead: int = 8

    def __post_init__(self) -> None:
        """Raise ValueError if the terms contradict each other or are out of range."""
        if self.rule == "greedy" and self.place != "device":
            raise ValueError("with the greedy rule, `place` must be 'device': the device's distribution stays there")
        if not (0 <= self.seed < 2**64 and min(self.vocabulary, self.max_tokens, self.ahead) > 0):
            raise ValueError("`seed` must fit 64 bits; `vocabulary`, `max_tokens` and `ahead` must be above 0")
