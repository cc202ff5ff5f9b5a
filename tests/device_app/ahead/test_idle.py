"""When the device counts as idle, so that background work may run."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_app.ahead.idle import why_not
from device_app.settings import Daemon as Rules
from device_app.system.conditions import Conditions

FINE = Conditions(
    quiet_s=301, on_mains=True, battery_percent=80, temperature_c=50, battery_temperature_c=30, load_per_core=0.1
)
RULES = Rules()
ON_BATTERY = replace(RULES, mains=False)


@pytest.mark.parametrize(
    ("conditions", "rules", "why"),
    [
        (FINE, RULES, None),
        (Conditions(), RULES, None),
        (replace(FINE, quiet_s=299), RULES, "a question was asked less than 5 minutes ago"),
        (
            replace(FINE, quiet_s=9),
            replace(RULES, quiet_minutes=1 / 6),
            "a question was asked less than 10 seconds ago",
        ),
        (replace(FINE, quiet_s=0), replace(RULES, quiet_minutes=0), None),
        (replace(FINE, on_mains=False), RULES, "the device runs on battery power"),
        (replace(FINE, on_mains=False), ON_BATTERY, None),
        (replace(FINE, on_mains=False, battery_percent=49), ON_BATTERY, "the battery is under 50%"),
        (replace(FINE, on_mains=None, battery_percent=49), RULES, "the battery is under 50%"),
        (replace(FINE, on_mains=True, battery_percent=3), RULES, None),
        (replace(FINE, temperature_c=80.5), RULES, "the processor is hotter than 80 °C"),
        (replace(FINE, battery_temperature_c=41), RULES, "the battery is hotter than 40 °C"),
        (replace(FINE, load_per_core=0.6), RULES, "other programs use over 50% of the processor"),
    ],
)
def test_why_work_has_to_wait(conditions: Conditions, rules: Rules, why: str | None) -> None:
    assert why_not(conditions, rules) == why


numbers = st.none() | st.floats(0, 1000)
facts = st.none() | st.booleans()
everything = st.builds(Conditions, numbers, facts, numbers, numbers, numbers, numbers, facts)


@given(everything, st.sampled_from(Conditions.__slots__))
def test_not_knowing_more_never_makes_work_wait(conditions: Conditions, unknown: str) -> None:
    # Except that the battery's charge counts where it is not known whether the device is plugged in.
    if unknown != "on_mains" and why_not(conditions, RULES) is None:
        assert why_not(replace(conditions, **{unknown: None}), RULES) is None
