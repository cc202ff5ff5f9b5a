"""The evidence for an answer, as values: `knowledge/evidence` searches for it. Imports no other package, since the
first screen needs it.
"""

from dataclasses import dataclass
from typing import Literal

Support = Literal["word for word", "proven", "near", "none"]
"""Support of an answer: it is a sentence of a source and proves itself, a sentence proves it, one is near it, or none.
"""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A sentence or row of the passage with this number, from 1, as the citation mark has it; `share` is how much of
    what was asked about it holds, 0..1.
    """

    source: int
    sentence: str
    share: float


@dataclass(frozen=True, slots=True)
class Carried:
    """What carries an answer: the sentence that proves it or, where none does, the `nearest` one, if one comes near.
    `support` is None where it was not looked for.
    """

    proof: Evidence | None
    nearest: Evidence | None
    support: Support | None
