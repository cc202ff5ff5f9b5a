"""What the batteries have left, as Linux tells in `/sys/class/power_supply`; some phones show it too, most nothing.

Units there are millionths: µWh or µAh, and µV. psutil tells percents alone, so that it is not asked.
"""

import time
from dataclasses import dataclass
from pathlib import Path

SUPPLIES = Path("/sys/class/power_supply")

_JOULES, _COULOMBS = 3600e-6, 3600e-6
"""In a µWh, and in a µAh."""

_STEP = 10_000 * _JOULES, 1_000 * _COULOMBS
"""ACPI counts in tens of mWh, or in mAh."""


@dataclass(frozen=True, slots=True)
class Battery:
    """What one battery has left: joules, or coulombs at so many volts, counted in steps of so many of them."""

    name: str
    left: float
    step: float
    volts: float = 1.0


@dataclass(frozen=True, slots=True)
class Reading:
    """A device that runs on its batteries, at one moment; `asleep_s` is how long it was suspended since it started."""

    at_s: float
    asleep_s: float
    batteries: tuple[Battery, ...]


def read(folder: Path = SUPPLIES) -> Reading | None:
    """The batteries that this device runs on; None on mains, and where that or what they have left is not told."""
    try:
        batteries = [battery for battery in sorted(folder.iterdir()) if _is_own(battery)]
        states = [_text(battery / "status") for battery in batteries]
        if "Discharging" not in states or "Charging" in states:
            return None
        readings = tuple(_battery(battery) for battery in batteries)
        return Reading(time.monotonic(), _asleep_s(), readings)
    except (OSError, ValueError):  # one that vanishes, or says what is no number
        return None


def _is_own(supply: Path) -> bool:
    """Whether it is a battery that is there, of the device itself: a mouse has its own."""
    return (
        _text(supply / "type") == "Battery"
        and _text(supply / "scope", "System") != "Device"
        and _text(supply / "present", "1") != "0"
    )


def _battery(supply: Path) -> Battery:
    """Raises OSError, ValueError."""
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
    """A number that is not negative; None where there is no such file. Raises OSError, ValueError."""
    text = _text(supply / name, "")
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise ValueError(f"no count: {text[:40]!r}")
    return float(text)


def _required(supply: Path, name: str) -> float:
    number = _number(supply, name)
    if number is None:
        raise ValueError(f"{supply.name} does not tell its {name}")
    return number


def _text(file: Path, default: str | None = None) -> str:
    """What stands in a file; raises OSError where it is not there and there is no default."""
    try:
        return file.read_bytes()[:100].decode(errors="replace").strip()
    except FileNotFoundError:
        if default is None:
            raise
        return default


def _asleep_s() -> float:
    """How long this device was suspended since it was started: one of its clocks goes on meanwhile, the other stops."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) - time.monotonic()
