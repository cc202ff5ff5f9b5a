"""What the sensors of computers and phones report; and sensors that are missing, denied, wrong, or hang."""

import os
import resource
import subprocess
import sys
import threading
import time
from collections import namedtuple
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from device_app.ahead.idle import why_not
from device_app.settings import Daemon as Rules
from device_app.system import conditions
from device_app.system.battery import Reading, Supply
from device_app.system.conditions import FRESH_S, Conditions, Latest, Sensors
from tests.termux import ended

RULES = Rules()


def denied(*_: object) -> Any:
    raise PermissionError(13, "Permission denied")


def absent(*_: object) -> Any:
    raise NotImplementedError


@pytest.fixture(autouse=True)
def _no_supplies(monkeypatch: pytest.MonkeyPatch) -> None:
    """A computer that shows no batteries in its files, so that psutil is asked."""
    monkeypatch.setattr("device_app.system.battery.supply", lambda: None)


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


@pytest.mark.parametrize("percent", [-1, 100.5, 255, float("nan"), float("inf"), None])
def test_a_computer_whose_battery_lies_tells_no_charge(percent: float | None, monkeypatch: pytest.MonkeyPatch) -> None:
    battery = SimpleNamespace(percent=percent, power_plugged=False)
    chips = {"cpu": [SimpleNamespace(current=x) for x in (6553.5, 55.0, float("nan"), -273.0)]}
    monkeypatch.setattr(psutil, "sensors_battery", lambda: battery, raising=False)
    monkeypatch.setattr(psutil, "sensors_temperatures", lambda: chips, raising=False)
    monkeypatch.setenv("PATH", "")
    now = Sensors().power()
    assert (now.on_mains, now.battery_percent, now.temperature_c) == (False, None, 55.0)


def test_a_computer_that_shows_its_batteries_in_files_is_believed_before_psutil(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mouse = SimpleNamespace(percent=30, power_plugged=False)
    monkeypatch.setattr(psutil, "sensors_battery", lambda: mouse, raising=False)
    monkeypatch.setattr(psutil, "sensors_temperatures", absent, raising=False)
    monkeypatch.setattr("device_app.system.battery.read", lambda: Reading(0.0, 0.0, ()))
    monkeypatch.setenv("PATH", "")
    for supply, expected in (
        (Supply(), Conditions()),
        (Supply(True, 71.0, 31.5), Conditions(on_mains=True, battery_percent=71.0, battery_temperature_c=31.5)),
        (Supply(False, 250.0, -273.1), Conditions(on_mains=False)),
    ):
        monkeypatch.setattr("device_app.system.battery.supply", lambda supply=supply: supply)
        assert Sensors().power() == expected
    assert Sensors().charge() == Reading(0.0, 0.0, ())


def test_what_a_computer_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    battery = SimpleNamespace(percent=71.5, power_plugged=False)
    chips = {"nvme": [SimpleNamespace(current=90.0)], "coretemp": [SimpleNamespace(current=x) for x in (40.0, 55.0)]}
    monkeypatch.setattr(psutil, "sensors_battery", lambda: battery, raising=False)
    monkeypatch.setattr(psutil, "sensors_temperatures", lambda: chips, raising=False)
    monkeypatch.setenv("PATH", "")
    now = Sensors().read()
    assert (now.on_mains, now.battery_percent, now.temperature_c) == (False, 71.5, 55.0)


def test_its_own_work_is_no_load(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(conditions, "_LEAST_WINDOW_S", 0.0)
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
    """Return sensors with this script as `termux-battery-status` on PATH."""
    command = folder / "termux-battery-status"
    command.write_text(f"#!/bin/sh\n{script}\n")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return Sensors()


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (
            '{"health": "GOOD", "percentage": 64, "plugged": "PLUGGED_AC", "status": "CHARGING", "temperature": 31.2}',
            Conditions(on_mains=True, battery_percent=64, battery_temperature_c=31.2),
        ),
        ('{"percentage": 64, "plugged": "UNPLUGGED"}', Conditions(on_mains=False, battery_percent=64)),
        ('{"percentage": 640, "plugged": "PLUGGED_USB", "temperature": 3276.7}', Conditions(on_mains=True)),
        ('{"percentage": -1, "plugged": "UNPLUGGED", "temperature": -273}', Conditions(on_mains=False)),
        ('{"percentage": "64", "plugged": "UNPLUGGED"}', Conditions()),
        (
            '{"percentage": 64, "plugged": "PLUGGED_AC", "status": "DISCHARGING"}',
            Conditions(battery_percent=64),
        ),
        ('{"percentage": 64, "plugged": "UNPLUGGED", "status": "CHARGING"}', Conditions(battery_percent=64)),
        (
            '{"percentage": 64, "plugged": "UNPLUGGED", "status": "FULL"}',
            Conditions(on_mains=False, battery_percent=64),
        ),
        ('{"percentage": 64, "plugged": "maybe"}', Conditions(battery_percent=64)),
        ('{"percentage": NaN, "plugged": "UNPLUGGED"}', Conditions()),
        ("{}", Conditions()),
        ("[1]", Conditions()),
        ("The Termux:API app is not installed", Conditions()),
        ("", Conditions()),
        (r'{"plugged": "\377"}', Conditions()),
    ],
)
def test_what_a_phone_tells(said: str, expected: Conditions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conditions, "_TERMUX_S", 60.0)
    monkeypatch.setattr(psutil, "sensors_temperatures", absent, raising=False)
    sensors = phone(tmp_path, monkeypatch, f"printf '{said}'")
    assert replace(sensors.read(), load_per_core=None) == expected


@pytest.mark.parametrize(
    "script",
    [
        pytest.param("yes", id="endless"),
        pytest.param("""printf '{"plugged": "UNPLUGGED", "a": '; yes '[' | head -c 60000 | tr -d '\n'""", id="deep"),
        pytest.param("""printf '{"plugged": "UNPLUGGED"}'; exec sleep 600""", id="told, and does not end"),
    ],
)
def test_nonsense_of_any_length_from_a_phone_is_unknown_before_long(
    script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conditions, "_TERMUX_S", 0.5)
    monkeypatch.setattr(psutil, "sensors_temperatures", absent, raising=False)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert replace(phone(tmp_path, monkeypatch, script).read(), load_per_core=None) == Conditions()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 10_000, "kB: what it prints is not gathered"


def test_a_phone_that_does_not_answer_is_not_waited_for_and_nothing_of_it_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conditions, "_TERMUX_S", 0.2)
    child = ["sleep", f"600.{os.getpid()}"]
    sensors = phone(tmp_path, monkeypatch, f"{' '.join(child)} &\nwait")
    now = sensors.read()
    assert (now.on_mains, now.battery_percent, now.battery_temperature_c) == (None, None, None)
    while any(process.info["cmdline"] == child for process in psutil.process_iter(["cmdline"])):
        time.sleep(0.01)


def test_a_program_that_ends_meanwhile_leaves_no_command_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    child = tmp_path / "child"
    phone(tmp_path, monkeypatch, f"sleep 600 &\necho $! > {child}.new\nmv {child}.new {child}\nwait")
    program = """
import pathlib, sys, time
from device_app.system.conditions import Conditions, Latest, Sensors
assert Latest(Sensors().power)() == Conditions()
while not pathlib.Path(sys.argv[1]).exists():
    time.sleep(0.01)
"""
    subprocess.run([sys.executable, "-c", program, str(child)], check=True)
    assert ended(int(child.read_text()))


def test_what_changes_meanwhile_is_seen_without_looking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(conditions, "PACE_S", 0.01)
    battery = SimpleNamespace(percent=71.5, power_plugged=True)
    monkeypatch.setattr(psutil, "sensors_battery", lambda: battery, raising=False)
    with Sensors().watched() as latest:
        assert latest().on_mains is True
        battery.power_plugged = False
        while latest().on_mains:
            time.sleep(0.01)
        assert why_not(replace(latest(), load_per_core=None), RULES) == "the device runs on battery power"


# The latest conditions, for callers that cannot wait.


def test_conditions_are_read_again_once_they_are_old(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conditions, "WAIT_S", 60)
    clock = SimpleNamespace(now=0.0)
    percents = iter((90.0, 80.0))
    latest = Latest(lambda: Conditions(battery_percent=next(percents)), lambda: clock.now)
    assert latest().battery_percent == 90
    clock.now = FRESH_S - 1
    assert latest().battery_percent == 90
    clock.now = FRESH_S
    assert latest().battery_percent == 80


def test_a_slow_sensor_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conditions, "WAIT_S", 0.01)
    gate = threading.Event()
    asked: list[float] = []

    def look() -> Conditions:
        asked.append(time.monotonic())
        gate.wait(60)
        return Conditions(on_mains=False, battery_percent=20)

    latest = Latest(look)
    latest.begin()
    while not asked:
        time.sleep(0.01)
    assert (latest(), latest()) == (Conditions(), Conditions())
    assert len(asked) == 1, "the phone's command is not started twice"
    gate.set()
    monkeypatch.setattr(conditions, "WAIT_S", 60)
    assert latest().battery_percent == 20
