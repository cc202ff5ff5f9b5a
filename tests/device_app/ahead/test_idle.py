"""When the device is idle; and sensors that are missing, denied, or hang."""

import os
import time
from collections import namedtuple
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_app.ahead import idle
from device_app.ahead.idle import Conditions, Sensors, why_not
from device_app.settings import Daemon as Rules

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
everything = st.builds(Conditions, numbers, st.none() | st.booleans(), numbers, numbers, numbers, numbers)


@given(everything, st.sampled_from(Conditions.__slots__))
def test_not_knowing_more_never_makes_work_wait(conditions: Conditions, unknown: str) -> None:
    # Except that the battery's charge counts where it is not known whether the device is plugged in.
    if unknown != "on_mains" and why_not(conditions, RULES) is None:
        assert why_not(replace(conditions, **{unknown: None}), RULES) is None


def denied(*_: object) -> Any:
    raise PermissionError(13, "Permission denied")


def absent(*_: object) -> Any:
    raise NotImplementedError


@pytest.mark.parametrize("look", [denied, absent, None])
def test_sensors_that_are_missing_or_denied_are_unknown(
    look: Callable[..., Any] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("sensors_battery", "sensors_temperatures", "cpu_times"):
        if look:
            monkeypatch.setattr(psutil, name, look, raising=False)
        elif name != "cpu_times":  # which every platform has
            monkeypatch.delattr(psutil, name, raising=False)
    monkeypatch.setenv("PATH", "")
    assert replace(Sensors().read(), load_per_core=None) == Conditions()
    assert (Sensors().read().load_per_core is None) == (look is not None)


def test_what_a_computer_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    battery = SimpleNamespace(percent=71.5, power_plugged=False)
    chips = {"nvme": [SimpleNamespace(current=90.0)], "coretemp": [SimpleNamespace(current=x) for x in (40.0, 55.0)]}
    monkeypatch.setattr(psutil, "sensors_battery", lambda: battery, raising=False)
    monkeypatch.setattr(psutil, "sensors_temperatures", lambda: chips, raising=False)
    monkeypatch.setenv("PATH", "")
    conditions = Sensors().read()
    assert (conditions.on_mains, conditions.battery_percent, conditions.temperature_c) == (False, 71.5, 55.0)


def test_its_own_work_is_no_load(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(idle, "_LEAST_WINDOW_S", 0.0)
    monkeypatch.setattr(psutil, "cpu_count", lambda: 2)
    now = SimpleNamespace(time=100.0, busy=1000.0, own=50.0)
    times = namedtuple("times", "user idle iowait guest")
    monkeypatch.setattr(time, "monotonic", lambda: now.time)
    monkeypatch.setattr(psutil, "cpu_times", lambda: times(now.busy, 7777.0 + now.time, 5.0, 0.0))
    process = SimpleNamespace(cpu_times=lambda: SimpleNamespace(user=now.own, system=0.0))
    monkeypatch.setattr(psutil, "Process", lambda: process)
    sensors = Sensors()
    now.time, now.busy, now.own = 110.0, 1020.0, 70.0  # two cores of work in ten seconds, all its own
    assert sensors.read().load_per_core == 0.0
    now.time, now.busy, now.own = 120.0, 1040.0, 80.0  # one of the two is another's
    assert sensors.read().load_per_core == pytest.approx(0.5)
    now.time, now.busy = 200.0, 1200.0
    sensors.read()
    now.time, now.busy = 210.0, 1205.0  # what was long ago no longer counts
    assert sensors.read().load_per_core == pytest.approx(0.25)


def phone(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> Sensors:
    """Sensors with such a `termux-battery-status` on PATH."""
    command = folder / "termux-battery-status"
    command.write_text(f"#!/bin/sh\n{script}\n")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return Sensors()


@pytest.mark.parametrize(
    ("expected", "conditions"),
    [
        (
            '{"health": "GOOD", "percentage": 64, "plugged": "PLUGGED_AC", "status": "CHARGING", "temperature": 31.2}',
            Conditions(on_mains=True, battery_percent=64, battery_temperature_c=31.2),
        ),
        ('{"percentage": 64, "plugged": "UNPLUGGED"}', Conditions(on_mains=False, battery_percent=64)),
        ("{}", Conditions()),
        ("[1]", Conditions()),
        ("The Termux:API app is not installed", Conditions()),
        ("", Conditions()),
        (r'{"plugged": "\377"}', Conditions()),
    ],
)
def test_what_a_phone_tells(
    expected: str, conditions: Conditions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(psutil, "sensors_temperatures", absent, raising=False)
    sensors = phone(tmp_path, monkeypatch, f"printf '{expected}'")
    assert replace(sensors.read(), load_per_core=None) == conditions


def test_a_phone_that_does_not_answer_is_not_waited_for_and_nothing_of_it_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(idle, "_TERMUX_S", 0.2)
    child = tmp_path / "child"
    sensors = phone(tmp_path, monkeypatch, f"sleep 600 &\necho $! > {child}\nwait")
    conditions = sensors.read()
    assert (conditions.on_mains, conditions.battery_percent, conditions.battery_temperature_c) == (None, None, None)
    assert ended(int(child.read_text()))


def ended(pid: int) -> bool:
    """Whether the process ends before long; an unreaped one has ended."""
    for _ in range(200):
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.01)
    return False


def test_what_changes_meanwhile_is_seen_without_looking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(idle, "PACE_S", 0.01)
    battery = SimpleNamespace(percent=71.5, power_plugged=True)
    monkeypatch.setattr(psutil, "sensors_battery", lambda: battery, raising=False)
    with Sensors().watched() as latest:
        assert latest().on_mains is True
        battery.power_plugged = False
        while latest().on_mains:
            time.sleep(0.01)
        assert why_not(replace(latest(), load_per_core=None), RULES) == "the device runs on battery power"
