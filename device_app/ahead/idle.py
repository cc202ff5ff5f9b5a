"""Decides whether the device is idle (PerCache §4.1.2: predictions are made while it is idle and charging).

Pure; independent of the work and its schedule.
"""

from device_app.settings import Daemon as Rules
from device_app.system.conditions import Conditions


def why_not(conditions: Conditions, rules: Rules) -> str | None:
    """Return why work has to wait, as a phrase; None if it may begin. Unknown conditions forbid nothing."""
    now = conditions
    reasons = (
        (
            _under(now.quiet_s, rules.quiet_minutes * 60),
            f"a question was asked less than {_spelled(rules.quiet_minutes)} ago",
        ),
        (now.on_mains is False and rules.mains, "the device runs on battery power"),
        (
            now.on_mains is not True and _under(now.battery_percent, rules.battery),
            f"the battery is under {rules.battery}%",
        ),
        (_over(now.temperature_c, rules.temperature), f"the processor is hotter than {rules.temperature:g} °C"),
        (
            _over(now.battery_temperature_c, rules.battery_temperature),
            f"the battery is hotter than {rules.battery_temperature:g} °C",
        ),
        (_over(now.load_per_core, rules.load), f"other programs use over {rules.load:.0%} of the processor"),
    )
    return next((why for holds, why in reasons if holds), None)


def _spelled(minutes: float) -> str:
    return f"{minutes:g} minutes" if minutes >= 1 else f"{minutes * 60:.0f} seconds"


def _under(value: float | None, limit: float) -> bool:
    return value is not None and value < limit


def _over(value: float | None, limit: float) -> bool:
    return value is not None and value > limit
