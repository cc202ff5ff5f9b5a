"""Decides whether the device is idle (PerCache §4.1.2: predictions are made while it is idle and charging).

`why_not` decides; `Sensors` reads the device. Independent of the work and its schedule.
"""

import os
import shutil
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

import msgspec
import psutil

from device_app.settings import Daemon as Rules

PACE_S = 0.5
"""Seconds between two readings during work, so that an unplugged cable is noticed within a second."""

_COST = 20
"""The least pause after a reading, in multiples of the reading's duration: reading a phone's battery is slow."""

_TERMUX_S = 2.0
"""Seconds to wait for the phone's command, which hangs if its companion app is missing."""

_LOAD_WINDOW_S, _LEAST_WINDOW_S = 10.0, 0.2
_PROCESSOR = ("coretemp", "k10temp", "zenpower", "cpu", "soc", "x86_pkg_temp", "acpitz")
"""Prefixes of the names of processor sensors on Linux; those of disks and radios have other temperature ranges."""

_MISSING = (AttributeError, NotImplementedError, OSError, RuntimeError, ValueError, psutil.Error)
"""The errors of psutil's sensors where there are none, or where reading is denied."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """The device's conditions at one moment; None is unknown.

    `load_per_core` (0 to 1) is the load of other programs.
    """

    quiet_s: float | None = None
    on_mains: bool | None = None
    battery_percent: float | None = None
    temperature_c: float | None = None
    battery_temperature_c: float | None = None
    load_per_core: float | None = None


def why_not(conditions: Conditions, rules: Rules) -> str | None:
    """Return why work has to wait, as a phrase; None if it need not. Unknown conditions count as fine."""
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


class Sensors:
    """Reads power, temperature and load. Missing or failing sensors give None."""

    def __init__(self) -> None:
        self._load = _OthersLoad()
        self._termux = shutil.which("termux-battery-status")

    def read(self) -> Conditions:
        """Read the conditions, except `quiet_s`. Takes a millisecond; on a phone up to two seconds."""
        power = _phone(self._termux) if self._termux else _computer()
        return replace(power, temperature_c=_processor_c(), load_per_core=self._load.read())

    @contextmanager
    def watched(self) -> Iterator[Callable[[], Conditions]]:
        """Yield a function that returns the latest conditions at no cost, from a thread that reads them repeatedly."""
        latest = self.read()
        over = threading.Event()

        def watch() -> None:
            nonlocal latest
            pause = PACE_S
            while not over.wait(pause):
                began = time.monotonic()
                latest = self.read()
                pause = max(PACE_S, _COST * (time.monotonic() - began))

        thread = threading.Thread(target=watch, name="sensors", daemon=True)
        thread.start()
        try:
            yield lambda: latest
        finally:
            over.set()
            thread.join()


class _OthersLoad:
    """The share of the processor that other programs used in the last seconds.

    The system's load average would include the background work, which would then stop itself.
    """

    def __init__(self) -> None:
        self._process = psutil.Process()
        self._samples: deque[tuple[float, float, float]] = deque()
        self._sample()

    def read(self) -> float | None:
        """Return the share from 0 to 1; None where the system does not provide it."""
        if not self._samples:
            return None
        time.sleep(max(0.0, self._samples[0][0] + _LEAST_WINDOW_S - time.monotonic()))
        self._sample()
        (began, busy_before, own_before), (now, busy, own) = self._samples[0], self._samples[-1]
        if now == began:
            return None
        share = (busy - busy_before - own + own_before) / ((now - began) * (psutil.cpu_count() or 1))
        return min(1.0, max(0.0, share))

    def _sample(self) -> None:
        now = time.monotonic()
        with suppress(*_MISSING):
            times, mine = psutil.cpu_times(), self._process.cpu_times()
            # Guest time is part of user time already.
            busy = sum(times) - sum(getattr(times, name, 0.0) for name in ("idle", "iowait", "guest", "guest_nice"))
            self._samples.append((now, busy, mine.user + mine.system))
        while len(self._samples) > 2 and self._samples[1][0] <= now - _LOAD_WINDOW_S:
            self._samples.popleft()


def _computer() -> Conditions:
    try:
        battery = psutil.sensors_battery()
    except _MISSING:
        battery = None
    if battery is None:
        return Conditions()
    return Conditions(on_mains=battery.power_plugged, battery_percent=battery.percent)


def _processor_c() -> float | None:
    try:
        sensors = psutil.sensors_temperatures()
    except _MISSING:
        return None
    return max(
        (sensor.current for name, some in sensors.items() if name.startswith(_PROCESSOR) for sensor in some),
        default=None,
    )


def _phone(command: str) -> Conditions:
    """Return the conditions that `termux-battery-status` reports."""
    try:
        battery = msgspec.json.decode(_said(command), type=_Battery)
    except (OSError, ValueError, msgspec.DecodeError, subprocess.TimeoutExpired):
        return Conditions()
    return Conditions(
        on_mains=None if battery.plugged is None else battery.plugged.startswith("PLUGGED"),
        battery_percent=battery.percentage,
        battery_temperature_c=battery.temperature,
    )


@dataclass(frozen=True, slots=True)
class _Battery:
    plugged: str | None = None
    percentage: float | None = None
    temperature: float | None = None


def _said(command: str) -> bytes:
    """Return a command's output. If it hangs, kill its process group, so that no processes gather on the phone."""
    with subprocess.Popen(
        [command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        try:
            return process.communicate(timeout=_TERMUX_S)[0]
        except BaseException:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise
