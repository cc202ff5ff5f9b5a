"""Decides when a component that does not respond counts as frozen. Pure: takes observations, reads no clock."""

from dataclasses import dataclass, field

EVERY_S = 1.0
"""Seconds between two checks."""

LATE_S = 0.5
"""A check that comes this many seconds late does not count, as the machine is loaded or was suspended."""

LOOP_LOOKS = 30
"""The number of timely checks without a response after which the event loop counts as frozen."""

PUMP_LOOKS = 120
"""The number of timely checks without a response after which a screen counts as frozen; it may wait for a slow disk."""

GRACE_LOOKS = 6
"""The number of timely checks that the app gets for an orderly exit."""

SLOW_GRACE_LOOKS = 30
"""The number of timely checks for an orderly exit of an app that waits for a disk, or on a loaded machine."""

_WAITS, _WORKS = 0.02, 0.5


@dataclass(slots=True)
class Silence:
    """Counts in `looks` the checks since the last response; after `most` of them, the component counts as frozen."""

    most: int
    looks: int = 0

    def look(self, *, answered: bool, late_s: float, busy: float | None = None) -> bool:
        """Count another check, which came `late_s` late; return whether the component is frozen.

        `answered`: the component has responded since the last check, so that the count begins again. `busy` is the
        share of the time since the last check in which the component's thread had a core, None if unknown. It is almost
        0 for a waiting thread and high for an endless loop; a share in between shows that the thread works on a loaded
        machine.
        """
        if answered:
            self.looks = 0
        elif late_s < LATE_S and (busy is None or not _WAITS < busy < _WORKS):
            self.looks += 1
        return self.looks >= self.most


@dataclass(slots=True)
class Grace:
    """Counts the checks since the app was asked to end, to decide when the app has to be killed.

    `stuck` counts the checks at which the app waits for no disk and is idle or in an endless loop, `slow` all timely
    ones.
    """

    stuck: Silence = field(default_factory=lambda: Silence(GRACE_LOOKS))
    slow: Silence = field(default_factory=lambda: Silence(SLOW_GRACE_LOOKS))

    def look(self, *, late_s: float, busy: float | None = None, reads_disk: bool = False) -> bool:
        """Count another check, which came `late_s` late. Return whether the time for an orderly exit is over.

        `busy` is as in `Silence.look`; `reads_disk`: the app waits for a disk and gets more checks.
        """
        stuck = self.stuck.look(answered=reads_disk, late_s=late_s, busy=busy)
        return self.slow.look(answered=False, late_s=late_s) or stuck


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault that ends the app; `what` describes the fault as a sentence without its full stop."""

    what: str

    def message(self, report: object) -> str:
        """Return the message for the person after the terminal is restored. `report` is the path of the report."""
        return (
            f"{self.what}: the app had to be closed. Your conversations are kept. "
            "Run `jackdaw` again; ^o lists the earlier conversations. "
            f"A report of the fault is in {report}"
        )
