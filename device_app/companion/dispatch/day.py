"""The day's budgets: what the answers of a local day cost, and which side has used up its budget for that day.

`Days` keeps the day's figures in a file beside the learned estimates; everything else is pure.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, Any

import msgspec

from device_app.companion.dispatch.policy import Decision
from shared.errors import JackdawError
from shared.side import Side
from storage.private import private_lock, write_private

log = logging.getLogger(__name__)

LOCK_S = 1.0
"""The most seconds to wait for another program that adds to the day's figures."""

Amount = Annotated[float, msgspec.Meta(ge=0, lt=1e18)]


@dataclass(frozen=True, slots=True)
class DaySpent:
    """The cost of one local day's answers: joules on this device, and money on the server."""

    date: str
    joules: Amount = 0.0
    money: Amount = 0.0

    def plus(self, other: "DaySpent | None") -> "DaySpent":
        """Return the sum of this day's cost and the other's if they are of the same date, else this cost alone."""
        if other is None or other.date != self.date:
            return self
        return DaySpent(self.date, self.joules + other.joules, self.money + other.money)


@dataclass(frozen=True, slots=True)
class DayLimits:
    """The most joules and money for the answers of a day; 0 sets no limit."""

    joules: float = 0.0
    money: float = 0.0

    def used_up(self, spent: DaySpent) -> Mapping[Side, str]:
        """Return the sides whose budget is used up after a day's cost of `spent`, each with the reason as a phrase."""
        reasons: dict[Side, str] = {}
        if 0 < self.joules <= spent.joules:
            reasons["device"] = f"today's {self.joules:,.0f} joules (link.day_joules) are used up"
        if 0 < self.money <= spent.money:
            reasons["server"] = f"today's {self.money:g} in your currency (link.day_money) is used up"
        return reasons

    def left(self, spent: DaySpent) -> tuple[float | None, float | None]:
        """Return the joules and the money left after a day's cost of `spent`; None where there is no limit."""
        joules, money = max(self.joules - spent.joules, 0.0), max(self.money - spent.money, 0.0)
        return joules if self.joules else None, money if self.money else None

    def as_json(self, spent: DaySpent) -> dict[str, Any]:
        """Return the object `spent` of `jackdaw status --json`."""
        joules, money = self.left(spent)
        return {**asdict(spent), "joules_left": joules, "money_left": money}


def within_limits(used_up: Mapping[Side, str]) -> Decision | None:
    """Return the decision to use only the side whose budget is left; None if no budget is used up.

    If both budgets are used up, the device writes alone, as that costs no money.
    """
    if "server" in used_up:
        reasons = filter(None, (used_up["server"], used_up.get("device")))
        return Decision(0.0, None, f"the device alone: {'; '.join(reasons)}")
    if "device" in used_up:
        return Decision(None, 0.0, f"the server alone: {used_up['device']}")
    return None


@dataclass
class Days:
    """The costs of the current day, by the local date that `today` returns; each day begins at 0.

    Several programs may add to the file, one after the other. A program that is killed while it adds leaves the earlier
    figures. Without a file, or if the file cannot be written, added costs count until the program ends.
    """

    file: Path | None = None
    today: Callable[[], date] = date.today
    _unwritten: DaySpent | None = None

    def spent(self) -> DaySpent:
        """Return the cost of today's answers so far."""
        return self._with(DaySpent(self.today().isoformat()))

    def add(self, joules: float, money: float) -> None:
        """Add the cost of an answer, joules on this device and money on the server, to today's."""
        added = DaySpent(self.today().isoformat(), joules, money)
        try:
            if self.file:
                # The lock is the system's: it ends with a program that is killed.
                with private_lock(self.file.with_suffix(".lock")).acquire(timeout=LOCK_S):
                    write_private(self.file, msgspec.json.encode(self._with(added)).decode())
                self._unwritten = None
                return
        except (JackdawError, OSError) as error:  # the lock's Timeout is an OSError
            log.warning("%s", error)
        self._unwritten = added.plus(self._unwritten)

    def _with(self, added: DaySpent) -> DaySpent:
        """Return `added` plus the earlier costs of the same day, from the file and from memory."""
        return added.plus(self._read()).plus(self._unwritten)

    def _read(self) -> DaySpent | None:
        if self.file is None:
            return None
        try:
            return msgspec.json.decode(self.file.read_bytes(), type=DaySpent)
        except FileNotFoundError:
            return None
        except (OSError, RecursionError, msgspec.DecodeError) as error:
            log.warning("The cost of today's answers cannot be read and starts at 0 (%s): %s", self.file, error)
            return None
