"""What both sides agree on before they write an answer together."""

from collections.abc import Container
from dataclasses import dataclass

from shared.aggregation.messages import Place, Rule
from shared.side import Side


@dataclass(frozen=True, slots=True)
class Terms:
    """What both sides agree on before an answer; all but `side` is the same on both.

    `place`: who aggregates first, or both sides, each for itself: then no verdict travels and nothing is handed over.
    `seed` has 64 bits. `ends` are the tokens that end an answer. `ahead`: drafts beyond what is known to be settled.
    More than 8 gain next to nothing even where a round trip takes 0.3 s, and a rejection wastes them.
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
        """Raise ValueError for terms that no answer can be written on."""
        if self.rule == "greedy" and self.place != "device":
            raise ValueError("greedily the device aggregates: its distribution stays there")
        if not (0 <= self.seed < 2**64 and min(self.vocabulary, self.max_tokens, self.ahead) > 0):
            raise ValueError("a seed has 64 bits; vocabulary, length and drafts ahead are above 0")
