"""The charge of the batteries, read from Linux's `/sys/class/power_supply`, which some phones provide and most do not.

Files there count in millionths: µWh or µAh, and µV. psutil is not used because it gives percentages alone.
"""

import time
from dataclasses import dataclass
from pathlib import Path

SUPPLIES = Path("/sys/class/power_supply")

_JOULES, _COULOMBS = 3600e-6, 3600e-6
"""The joules in one µWh, and the coulombs in one µAh."""

_STEP = 10_000 * _JOULES, 1_000 * _COULOMBS
"""The resolution of ACPI's counters: 10 mWh in joules, and 1 mAh in coulombs."""


@dataclass(frozen=True, slots=True)
class Battery:
    """The charge left in one battery, and the resolution of that number, in joules or (at `volts`) in coulombs."""

    name: str
    left: float
    step: float
    volts: float = 1.0


@dataclass(frozen=True, slots=True)
class Reading:
    """The batteries of a device that runs on them, at one moment; `asleep_s` is the time suspended since its start."""

    at_s: float
    asleep_s: float
    batteries: tuple[Battery, ...]


def read(folder: Path = SUPPLIES) -> Reading | None:
    """Read the batteries that this device runs on; None on mains power, or if the state or charge is not available."""
    try:
        batteries = [battery for battery in sorted(folder.iterdir()) if _is_own(battery)]
        states = [_text(battery / "status") for battery in batteries]
        if "Discharging" not in states or "Charging" in states:
            return None
        readings = tuple(_battery(battery) for battery in batteries)
        return Reading(time.monotonic(), _asleep_s(), readings)
    except (OSError, ValueError):  # a battery that vanished, or a file without a number
        return None


def _is_own(supply: Path) -> bool:
    """Return whether the supply is a present battery of the device itself, not of a mouse or another accessory."""
    return (
        _text(supply / "type") == "Battery"
        and _text(supply / "scope", "System") != "Device"
        and _text(supply / "present", "1") != "0"
    )


def _battery(supply: Path) -> Battery:
    """Read the charge of one battery. Raises OSError, ValueError."""
    energy_step, charge_step = _STEP
    if (energy := _number(supply, "energy_now")) is not None:
        return Battery(supply.name, energy * _JOULES, energy_step)
    full = _number(supply, "energy_full")
    if full is not None:
        return Battery(supply.name, full * _JOULES * _required(supply, "capacity") / 100, full * _JOULES / 100)
    volts = _required(supply, "voltage_now") / 1e6
    charge = _number(supply, "charge_now")
    if charge is None:
        charge = _number(supply, "charge_counter")
    if charge is not None:
        return Battery(supply.name, charge * _COULOMBS, charge_step, volts)
    full = _required(supply, "charge_full") * _COULOMBS
    return Battery(supply.name, full * _required(supply, "capacity") / 100, full / 100, volts)


def _number(supply: Path, name: str) -> float | None:
    """Read a non-negative number from a file; None if there is no such file. Raises OSError, ValueError."""
    text = _text(supply / name, "")
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise ValueError(f"the battery's counter is not a number: {text[:40]!r}")
    return float(text)


def _required(supply: Path, name: str) -> float:
    number = _number(supply, name)
    if number is None:
        raise ValueError(f"the battery {supply.name} does not report its {name}")
    return number


def _text(file: Path, default: str | None = None) -> str:
    """Read a file's text. If the file is missing, return `default`, or raise OSError if there is none."""
    try:
        return file.read_bytes()[:100].decode(errors="replace").strip()
    except FileNotFoundError:
        if default is None:
            raise
        return default


def _asleep_s() -> float:
    """Return the seconds that the device was suspended since its start, as the difference of two clocks."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) - time.monotonic()
