"""Reads a device's batteries and plugs from Linux's `/sys/class/power_supply`, which some phones provide too.

Numbers there are in millionths: µWh or µAh, and µV. psutil is not used: it gives only the percentage of one battery,
and may take a wireless mouse's battery for the computer's.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

SUPPLIES = Path("/sys/class/power_supply")

_JOULES, _COULOMBS = 3600e-6, 3600e-6
"""The joules in one µWh, and the coulombs in one µAh."""

_STEP = 10_000 * _JOULES, 1_000 * _COULOMBS
"""The resolution of the battery counters that ACPI reports: 10 mWh in joules, and 1 mAh in coulombs."""


@dataclass(frozen=True, slots=True)
class Battery:
    """The charge `left` in one battery and the `step` of its counter: in joules, or in coulombs if `volts` is not 1.

    Times `volts`, both are joules.
    """

    name: str
    left: float
    step: float
    volts: float = 1.0


@dataclass(frozen=True, slots=True)
class Reading:
    """The charge of a device's batteries at one moment of the monotonic clock, `at_s`.

    `asleep_s` are the seconds for which the device was suspended since its start.
    """

    at_s: float
    asleep_s: float
    batteries: tuple[Battery, ...]


def read(folder: Path = SUPPLIES) -> Reading | None:
    """Read the batteries that power this device; None on mains power, or if the state or charge is not available."""
    try:
        batteries = [battery for battery in sorted(folder.iterdir()) if _is_own(battery)]
        states = [_text(battery / "status") for battery in batteries]
        if "Discharging" not in states or "Charging" in states:
            return None
        readings = tuple(_battery(battery) for battery in batteries)
        return Reading(time.monotonic(), _asleep_s(), readings)
    except (OSError, ValueError):  # a battery that vanished, or a file without a number
        return None


@dataclass(frozen=True, slots=True)
class Supply:
    """The state reported by batteries and plugs; values are None if missing or contradictory.

    `percent` is of all batteries together, `temperature_c` of the hottest one. Neither is checked for plausibility.
    """

    on_mains: bool | None = None
    percent: float | None = None
    temperature_c: float | None = None


def supply(folder: Path = SUPPLIES) -> Supply | None:
    """Read batteries and plugs; values are None if the system does not report them, or has no battery.

    Return None on a system without the folder.
    """
    try:
        supplies = sorted(folder.iterdir())
    except OSError:
        return None
    batteries = [each for each in supplies if _holds(_is_own, each)]
    if not batteries:
        return Supply()
    plugs = [each for each in supplies if _holds(_is_plug, each)]
    temperatures = [tenths / 10 for each in batteries if (tenths := _signed(each / "temp")) is not None]
    return Supply(
        on_mains=_on_mains([_said(each / "status") for each in batteries], [_said(each / "online") for each in plugs]),
        percent=_percent(batteries),
        temperature_c=max(temperatures, default=None),
    )


def _on_mains(states: Sequence[str], plugs: Sequence[str]) -> bool | None:
    """Return whether the device runs on mains power, by the states of its batteries and by its plugs.

    Return None if they contradict each other: if a battery drains beside a plug (a charger that is too weak, or a wrong
    report), or charges without one.
    """
    is_plugged = any(online not in ("", "0") for online in plugs)
    if "Charging" in states:
        return True if is_plugged or not plugs else None
    if "Discharging" in states:
        return None if is_plugged else False
    if is_plugged:
        return True
    return False if plugs else ("Full" in states or None)


def _percent(batteries: Sequence[Path]) -> float | None:
    """Return the charge of all batteries together; None if one of them reports no or an impossible charge."""
    charges = [_signed(each / "capacity") for each in batteries]
    known = [charge for charge in charges if charge is not None and 0 <= charge <= 100]
    if len(known) < len(batteries):
        return None
    for name in ("energy_full", "charge_full"):
        sizes = [_signed(each / name) for each in batteries]
        weights = [size for size in sizes if size is not None and size > 0]
        if len(weights) == len(known):
            return sum(weight * charge for weight, charge in zip(weights, known, strict=True)) / sum(weights)
    return sum(known) / len(known)


def _is_own(supply: Path) -> bool:
    """Return whether a power supply is a battery inside the device itself, not one of a mouse or another accessory."""
    return (
        _text(supply / "type") == "Battery"
        and _text(supply / "scope", "System") != "Device"
        and _text(supply / "present", "1") != "0"
    )


def _is_plug(supply: Path) -> bool:
    return _text(supply / "type") in ("Mains", "USB", "Wireless") and _text(supply / "scope", "System") != "Device"


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


def _signed(file: Path) -> float | None:
    """Read a whole number; None if the file is missing, or its text is too long for a number."""
    with suppress(ValueError):
        return float(int(_said(file))) if len(_said(file)) < 16 else None
    return None


def _said(file: Path) -> str:
    """Read a file's text; "" if the file cannot be read."""
    with suppress(OSError):
        return _text(file, "")
    return ""


def _holds(rule: Callable[[Path], bool], supply: Path) -> bool:
    """Return whether `rule` is true for a battery or plug; False if it has been removed meanwhile."""
    with suppress(OSError):
        return rule(supply)
    return False


def _text(file: Path, default: str | None = None) -> str:
    """Read a file's text. If the file is missing, return `default`, or raise OSError without a default."""
    try:
        return file.read_bytes()[:100].decode(errors="replace").strip()
    except FileNotFoundError:
        if default is None:
            raise
        return default


def _asleep_s() -> float:
    """Return the seconds that the device was suspended since its start, as the difference of two clocks."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) - time.monotonic()
