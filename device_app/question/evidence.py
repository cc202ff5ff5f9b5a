"""The evidence for an answer, as values: `knowledge/evidence` searches for it. Imports no other package, since the
first screen needs it.
"""

from dataclasses import dataclass
from typing import Literal

Support = Literal["word for word", "proven", "near", "none"]
"""How well the sources support an answer: it is a sentence of theirs, a sentence proves it, one is near it, or none."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A sentence or row that supports an answer. `source` is the number of its passage, from 1, as in the citation
    mark; `share` is how much of the question's content it holds, 0..1.
    """

    source: int
    sentence: str
    share: float


@dataclass(frozen=True, slots=True)
class Carried:
    """The support found for an answer: the sentence that proves it or, where none does, the `nearest` sentence, if one
    is near. `support` is None where no evidence was searched for.
    """

    proof: Evidence | None
    nearest: Evidence | None
    support: Support | None
