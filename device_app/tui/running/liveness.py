"""Decides when something that does not answer counts as frozen. Pure: it gets what was seen and knows no clock."""

from dataclasses import dataclass, field

EVERY_S = 1.0
"""Between two looks."""

LATE_S = 0.5
"""A look that comes so much later than it should shows a loaded machine or one that was asleep, not a fault."""

LOOP_LOOKS = 30
"""Looks in time after which the event loop is stuck."""

PUMP_LOOKS = 120
"""The same for the messages of a screen: one of them may be waiting for a slow disk."""

GRACE_LOOKS = 6
"""Looks in time that the app is given to end in an orderly way."""

SLOW_GRACE_LOOKS = 30
"""The same where it works on a loaded machine or waits for a disk."""

_WAITS, _WORKS = 0.02, 0.5


@dataclass(slots=True)
class Silence:
    """Since when something has not answered, in looks of which `most` are the end."""

    most: int
    looks: int = 0

    def look(self, *, answered: bool, late_s: float, busy: float | None = None) -> bool:
        """Whether it is frozen, after another look that came so late.

        `busy` is the share of that time in which its thread had a core, None where that is not known. A thread that
        waits has next to none and one that runs in circles all it wants; between these, it works on a loaded machine.
        """
        if answered:
            self.looks = 0
        elif late_s < LATE_S and (busy is None or not _WAITS < busy < _WORKS):
            self.looks += 1
        return self.looks >= self.most


@dataclass(slots=True)
class Grace:
    """How long the app has been ending, in looks."""

    stuck: Silence = field(default_factory=lambda: Silence(GRACE_LOOKS))
    slow: Silence = field(default_factory=lambda: Silence(SLOW_GRACE_LOOKS))

    def look(self, *, late_s: float, busy: float | None = None, reads_disk: bool = False) -> bool:
        """Whether it is over, after another look. `busy` is as for `Silence`."""
        stuck = self.stuck.look(answered=reads_disk, late_s=late_s, busy=busy)
        return self.slow.look(answered=False, late_s=late_s) or stuck


@dataclass(frozen=True, slots=True)
class Fault:
    """What no longer works, as a sentence without its full stop."""

    what: str

    def message(self, report: object) -> str:
        """The line that the person reads once the terminal is theirs again. `report` says where the report is."""
        return (
            f"{self.what}: the app had to be closed. Your conversations are kept. "
            "Run `jackdaw` again; ^o lists the earlier conversations. "
            f"What is known of the cause is in {report}"
        )
