"""What the self-test of an engine found (`models.exactness`), and what the engine therefore does without."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

Check = Literal["slices", "rollback", "passes", "reordered", "rows"]
"""A check whether something gives the same logits as reading the prompt from its start, to the bit.

`slices` are joined as they were cut; `rollback` drops tokens; `passes` reads a prompt in passes of other sizes;
`reordered` joins slices in another order than they were computed in; `rows` joins them for several sequences, which are
then computed in one pass.
"""

OF_STATES: Final[frozenset[Check]] = frozenset({"slices", "passes", "reordered", "rows"})
"""The checks of kept states, which do not matter for an engine that keeps none."""

_CHANGES: Final[dict[Check, str]] = {
    "slices": "reusing saved attention states",
    "passes": "reading only the rest of a prompt",
    "reordered": "reusing saved attention states of passages read in another order",
    "rows": "reusing saved attention states for several passages at once",
    "rollback": "rolling back tokens",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """The checks of an engine that failed, and those that have not been run yet. It does without their features."""

    inexact: frozenset[Check] = frozenset()
    untested: frozenset[Check] = frozenset()

    def trusts(self, *checks: Check) -> bool:
        """Return whether all these checks were run and none failed."""
        return not (self.inexact | self.untested).intersection(checks)

    @property
    def keeps_states(self) -> bool:
        """Whether attention states may be kept and served."""
        return self.trusts("slices", "passes", "reordered")

    @property
    def serves_rows(self) -> bool:
        """Whether kept states may be served to prompts of several rows."""
        return self.keeps_states and self.trusts("rows")

    @property
    def loss(self) -> int:
        """How much the engine does without because it is inexact; the higher, the worse. What is untested costs 0."""
        failed = Verdict(self.inexact)
        return 4 * (not failed.keeps_states) + 2 * (not failed.trusts("rows")) + (not failed.trusts("rollback"))

    def sentences(self) -> Iterator[str]:
        """Yield what was found, and what the engine does about it, in plain words."""
        if self.inexact:
            changes = " and ".join(text for check, text in _CHANGES.items() if check in self.inexact)
            yield f"{changes} would change this model's answers on this machine, so it is avoided: slower, never wrong"
        if self.untested:
            count = f"{len(self.untested)} of {len(_CHANGES)}"
            yield f"{count} checks are left for the next start or idle time; until then, what they cover is not used"
        if not (self.inexact or self.untested):
            yield "reused attention states and rolled-back tokens give exactly the computed results"


EXACT: Final = Verdict()
"""The verdict on an engine whose checks were all run, and exact."""
