"""Decides whether passages may be read while the user types, and charges the budgets of background work for reading."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from device_app.ahead.daemon import all_spent, read_status
from device_app.ahead.idle import why_not
from device_app.system.budget import estimated_joules, read_ledger, spend, why_spent, write_ledger
from device_app.system.conditions import Conditions, Sensors

if TYPE_CHECKING:
    from device_app.settings import Daemon as Rules
    from storage.paths import Paths

LOOK_S = 30.0
"""Seconds for which a reading of the power and heat sensors stays valid; on a phone, reading them takes two seconds."""


def rules_while_typing(rules: Rules) -> Rules:
    """Return the idle rules changed for passages that are read while the user types.

    No time without questions is required any more, but a busy or hot machine still forbids reading.
    """
    return replace(rules, quiet_minutes=0.0)


def refusal(conditions: Conditions, rules: Rules, spent: str | None, *, paused: bool) -> str | None:
    """Return why nothing may be read while the user types, as a phrase; None if reading is allowed.

    `spent` is the phrase for a used-up budget of work per hour, or None.
    """
    if paused:
        return "work ahead is paused"
    return why_not(conditions, rules_while_typing(rules)) or spent


@dataclass
class Allowance:
    """Decides whether passages may be read while the user types.

    Used by one thread. `look` reads the sensors, at most once in LOOK_S seconds; `clock` is the monotonic clock.
    """

    look: Callable[[], Conditions] = field(default_factory=lambda: Sensors().read)
    clock: Callable[[], float] = time.monotonic
    _latest: Conditions = field(default_factory=Conditions)
    _looked_at: float | None = None

    def refusal(self, paths: Paths, rules: Rules) -> str | None:
        """Return why nothing may be read now, as a phrase; None if reading is allowed."""
        now = self.clock()
        if self._looked_at is None or now - self._looked_at >= LOOK_S:
            self._latest, self._looked_at = self.look(), now
        spent = why_spent(all_spent(paths, read_status(paths)), now, rules)
        return refusal(self._latest, rules, spent, paused=paths.daemon_paused.exists())

    def spend(self, paths: Paths, rules: Rules, parameters: int, tokens: int) -> None:
        """Charge the budgets for `tokens` tokens read by a model of this many `parameters`. Raises NotWritable."""
        joules = estimated_joules(parameters, tokens, rules.joules_per_gflop)
        write_ledger(paths.typing_spent, spend(read_ledger(paths.typing_spent), self.clock(), tokens, joules))
