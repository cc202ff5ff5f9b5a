"""Decides when a component that does not respond counts as frozen. Pure: gets observations, reads no clock."""

from dataclasses import dataclass, field

EVERY_S = 1.0
"""Seconds between two checks."""

LATE_S = 0.5
"""Seconds of delay from which a check does not count, as the machine is loaded or was suspended."""

LOOP_LOOKS = 30
"""Timely checks without a response after which the event loop counts as stuck."""

PUMP_LOOKS = 120
"""Timely checks without a response after which a screen counts as stuck; it may wait for a slow disk."""

GRACE_LOOKS = 6
"""Timely checks that the app gets for an orderly exit."""

SLOW_GRACE_LOOKS = 30
"""Timely checks that an app on a loaded machine, or waiting for a disk, gets for an orderly exit."""

_WAITS, _WORKS = 0.02, 0.5


@dataclass(slots=True)
class Silence:
    """Counts checks without a response; at `most`, the component counts as frozen."""

    most: int
    looks: int = 0

    def look(self, *, answered: bool, late_s: float, busy: float | None = None) -> bool:
        """Count another check, which came `late_s` late; return whether the component is frozen.

        `busy` is the share of that time in which its thread had a core, None if unknown. It is almost 0 for a waiting
        thread and high for an endless loop; a share in between shows that the thread works on a loaded machine.
        """
        if answered:
            self.looks = 0
        elif late_s < LATE_S and (busy is None or not _WAITS < busy < _WORKS):
            self.looks += 1
        return self.looks >= self.most


@dataclass(slots=True)
class Grace:
    """Counts the checks since the app was asked to end, to decide when it has to be killed."""

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
    """A fault that ends the app; `what` describes it as a sentence without its full stop."""

    what: str

    def message(self, report: object) -> str:
        """Return the message for the person after the terminal is restored. `report` is where the report is."""
        return (
            f"{self.what}: the app had to be closed. Your conversations are kept. "
            "Run `jackdaw` again; ^o lists the earlier conversations. "
            f"What is known of the cause is in {report}"
        )
