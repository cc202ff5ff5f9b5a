"""Reads the device's conditions on computers and phones: power, charge, heat and load.

Background work and the cost of an answer's energy are decided by these conditions.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace

import msgspec
import psutil

from device_app.system import battery, termux
from device_app.system.battery import Reading, Supply

PACE_S = 0.5
"""Seconds between two readings during work, so that an unplugged cable is noticed within a second."""

_COST = 20
"""The shortest pause after a reading, in multiples of the reading's duration: reading a phone's battery is slow."""

_STATUS = "termux-battery-status"
_TERMUX_S = 2.0
"""Seconds to wait for the phone's command, which hangs if its companion app is missing."""

FRESH_S, WAIT_S = 30.0, 0.1
"""Seconds for which conditions count as current, and the most seconds to wait for newer ones."""

_PROCESSOR_C, _BATTERY_C = (-40.0, 150.0), (-40.0, 100.0)
"""The lowest and highest credible temperatures in °C of a processor and of a battery; others are ignored."""

_LOAD_WINDOW_S, _LEAST_WINDOW_S = 10.0, 0.2
"""The most and the fewest seconds over which the load is measured."""
_PROCESSOR = ("coretemp", "k10temp", "zenpower", "cpu", "soc", "x86_pkg_temp", "acpitz")
"""Prefixes of the names of processor sensors on Linux; sensors of disks and radios have other temperature ranges."""

_MISSING = (AttributeError, NotImplementedError, OSError, RuntimeError, ValueError, psutil.Error)
"""The errors of psutil where a sensor is missing, or reading it is denied."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """The device's conditions at one moment; a value is None if it is unknown or implausible.

    `quiet_s` are the seconds since the last question. `battery_percent` is from 0 to 100. `load_per_core` (0 to 1) is
    the load of other programs. `metered`: whether the network's traffic costs money or is limited.
    """

    quiet_s: float | None = None
    on_mains: bool | None = None
    battery_percent: float | None = None
    temperature_c: float | None = None
    battery_temperature_c: float | None = None
    load_per_core: float | None = None
    metered: bool | None = None


class Sensors:
    """Reads power, charge, temperature and load. Values are None for missing, failing or implausible sensors."""

    def __init__(self) -> None:
        self._load = _LoadOfOthers()
        self._is_phone = termux.find(_STATUS) is not None

    def read(self) -> Conditions:
        """Read all conditions except `quiet_s`. Takes a millisecond; on a phone up to two seconds."""
        return replace(self.power(), load_per_core=self._load.read())

    def power(self) -> Conditions:
        """Read only power, charge and heat. Takes as long as `read`."""
        power = _phone() if self._is_phone else _computer()
        return replace(power, temperature_c=_processor_c())

    def charge(self) -> Reading | None:
        """Read the charge left in the batteries; None on mains power, or if it is not available."""
        return battery.read()

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


@dataclass
class Latest:
    """The latest conditions, read in a separate thread, as `look` takes seconds on a phone.

    Threads may share it; two that begin at the same moment may read twice. `clock` is the monotonic clock.
    """

    look: Callable[[], Conditions]
    clock: Callable[[], float] = time.monotonic
    _known: Conditions = field(default_factory=Conditions)
    _read_at: float = float("-inf")
    _reading: threading.Thread | None = None

    def begin(self) -> None:
        """Start to read the conditions, unless the known ones are still current."""
        is_current = self.clock() - self._read_at < FRESH_S
        if not is_current and not (self._reading and self._reading.is_alive()):
            self._reading = threading.Thread(target=self._read, name="conditions", daemon=True)
            self._reading.start()

    def __call__(self) -> Conditions:
        """Return current conditions, waiting at most `WAIT_S` for them; after that, older or unknown ones."""
        self.begin()
        if self._reading:
            self._reading.join(WAIT_S)
        return self._known

    def _read(self) -> None:
        self._known = self.look()
        self._read_at = self.clock()


class _LoadOfOthers:
    """Measures the share of the processor that other programs used in the last seconds.

    The system's load average would include the background work, which would then stop itself.
    """

    def __init__(self) -> None:
        self._process = psutil.Process()
        self._samples: deque[tuple[float, float, float]] = deque()
        self._sample()

    def read(self) -> float | None:
        """Return the share from 0 to 1; None if the system does not provide it."""
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
    supply = battery.supply() or _by_psutil()
    return Conditions(
        on_mains=supply.on_mains,
        battery_percent=_credible(supply.percent, 0, 100),
        battery_temperature_c=_credible(supply.temperature_c, *_BATTERY_C),
    )


def _by_psutil() -> Supply:
    """Read the conditions with psutil, on systems other than Linux."""
    try:
        power = psutil.sensors_battery()
    except _MISSING:
        power = None
    return Supply(power.power_plugged, power.percent) if power else Supply()


def _processor_c() -> float | None:
    try:
        sensors = psutil.sensors_temperatures()
    except _MISSING:
        return None
    processor = (sensor for name, some in sensors.items() if name.startswith(_PROCESSOR) for sensor in some)
    credible = (_credible(sensor.current, *_PROCESSOR_C) for sensor in processor)
    return max((celsius for celsius in credible if celsius is not None), default=None)


def _credible(value: float | None, least: float, most: float) -> float | None:
    """Return a sensor's value; None if it is missing, not a number, or outside the credible range."""
    return value if value is not None and least <= value <= most else None


def _phone() -> Conditions:
    """Return the conditions that `termux-battery-status` reports."""
    try:
        said = msgspec.json.decode(termux.call(_STATUS, seconds=_TERMUX_S).printed, type=_Battery)
    except (RecursionError, ValueError, msgspec.DecodeError):  # also where it prints nothing
        return Conditions()
    return Conditions(
        on_mains=said.on_mains,
        battery_percent=_credible(said.percentage, 0, 100),
        battery_temperature_c=_credible(said.temperature, *_BATTERY_C),
    )


@dataclass(frozen=True, slots=True)
class _Battery:
    plugged: str | None = None
    status: str | None = None
    percentage: float | None = None
    temperature: float | None = None

    @property
    def on_mains(self) -> bool | None:
        """Whether the phone is plugged in; None if the plug's state and the current's direction disagree."""
        if self.plugged is None or not self.plugged.startswith(("PLUGGED", "UNPLUGGED")):
            return None
        plugged = self.plugged.startswith("PLUGGED")
        return None if self.status == ("DISCHARGING" if plugged else "CHARGING") else plugged
