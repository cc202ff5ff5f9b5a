"""The result of an engine's self-test (`models.exactness`), and the features that the engine therefore does not use."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

Check = Literal["slices", "rollback", "passes", "reordered", "rows"]
"""The name of a self-test: whether a feature gives the same logits, to the bit, as reading the prompt from its start.

`slices` are joined as they were cut; `rollback` drops tokens; `passes` reads a prompt in passes of other sizes;
`reordered` joins slices in an order other than the one in which they were computed; `rows` joins them for several
sequences, which are then computed in one pass.
"""

OF_STATES: Final[frozenset[Check]] = frozenset({"slices", "passes", "reordered", "rows"})
"""The checks of cached attention states, which do not matter for an engine that caches none."""

_CHANGES: Final[dict[Check, str]] = {
    "slices": "reusing saved attention states",
    "passes": "reading only the rest of a prompt",
    "reordered": "reusing saved attention states of passages read in another order",
    "rows": "reusing saved attention states for several passages at once",
    "rollback": "rolling back tokens",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """The checks that an engine failed (`inexact`), and those that have not been run yet (`untested`). The engine does
    not use the features that these checks are for.
    """

    inexact: frozenset[Check] = frozenset()
    untested: frozenset[Check] = frozenset()

    def trusts(self, *checks: Check) -> bool:
        """Return whether all the given checks were run and none failed."""
        return not (self.inexact | self.untested).intersection(checks)

    @property
    def keeps_states(self) -> bool:
        """Whether cached attention states may be stored and used for later prompts."""
        return self.trusts("slices", "passes", "reordered")

    @property
    def serves_rows(self) -> bool:
        """Whether cached attention states may be used for answers of several rows (sequences with a prompt each)."""
        return self.keeps_states and self.trusts("rows")

    @property
    def loss(self) -> int:
        """A score, 0 to 7, of the features that the engine does not use because they are inexact; a higher score is
        worse. Untested features count 0.
        """
        failed = Verdict(self.inexact)
        return 4 * (not failed.keeps_states) + 2 * (not failed.trusts("rows")) + (not failed.trusts("rollback"))

    def sentences(self) -> Iterator[str]:
        """Yield plain sentences about the checks' results, and about what the engine does because of them."""
        if self.inexact:
            changes = " and ".join(text for check, text in _CHANGES.items() if check in self.inexact)
            effect = "so it is not used: answers take longer, but stay the same"
            yield f"{changes} would change this model's answers on this machine, {effect}"
        if self.untested:
            count = f"{len(self.untested)} of {len(_CHANGES)}"
            effect = "until then, the features that they test are not used"
            yield f"{count} checks are left for the next start or idle time; {effect}"
        if not (self.inexact or self.untested):
            yield "reused attention states and rolled-back tokens give exactly the computed results"


EXACT: Final = Verdict()
"""The verdict on an engine that passed all checks."""
