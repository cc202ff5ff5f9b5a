"""The types of an answer's evidence, which `knowledge/evidence` finds.

This module imports no other package, as the first screen needs it.
"""

from dataclasses import dataclass
from typing import Literal

Support = Literal["word for word", "proven", "near", "none"]
"""How well the sources support an answer: it is one of their sentences, proven by one, near one, or none of these."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A sentence or row that supports an answer. `source` is the number of its passage, from 1, as in the citation.

    `share`, 0 to 1, is for a proof the share of the question's content that it has, for the nearest sentence its
    nearness.
    """

    source: int
    sentence: str
    share: float


@dataclass(frozen=True, slots=True)
class Carried:
    """How well the sources support an answer, with the sentence that proves it, or else the `nearest` sentence, if one
    is near enough.

    `support` is None if no evidence was searched for.
    """

    proof: Evidence | None
    nearest: Evidence | None
    support: Support | None
