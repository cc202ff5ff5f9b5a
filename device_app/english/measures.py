"""Parses conversions of plain units: "Convert 30 celsius to fahrenheit", "5 feet in metres"."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from device_app.english.numerals import in_digits
from device_app.english.politeness import bare
from device_app.english.stop_words import word_set

_MOST_CHARACTERS: Final = 120

_UNITS: Final[Mapping[str, Mapping[str, tuple[str, str]]]] = {
    "length": {
        "mm": ("0.001", "millimetre"), "cm": ("0.01", "centimetre"), "m": ("1", "metre meter"),
        "km": ("1000", "kilometre kilometer"), "in": ("0.0254", "inch inches"), "ft": ("0.3048", "foot feet"),
        "yd": ("0.9144", "yard"), "mi": ("1609.344", "mile"),
    },
    "mass": {
        "mg": ("0.000001", "milligram"), "g": ("0.001", "gram gramme"), "kg": ("1", "kilo kilogram kilogramme kgs"),
        "t": ("1000", "tonne"),
        "oz": ("0.028349523125", "ounce"), "lb": ("0.45359237", "pound lbs"), "st": ("6.35029318", "stone stones"),
    },
    "volume": {
        "ml": ("0.001", "millilitre milliliter"), "cl": ("0.01", "centilitre"), "dl": ("0.1", "decilitre deciliter"),
        "l": ("1", "litre liter"), "cups": ("0.2365882365", "cup"), "tbsp": ("0.0147867648", "tablespoon"),
        "tsp": ("0.0049289216", "teaspoon"), "gal": ("3.785411784", "gallon"), "pt": ("0.473176473", "pint"),
    },
    "area": {
        "m²": ("1", "m2 sqm"), "ha": ("10000", "hectare"), "acre": ("4046.8564224", "acres"),
        "km²": ("1000000", "km2"),
    },
    "speed": {"km/h": ("1", "kmh kph"), "mph": ("1.609344", ""), "m/s": ("3.6", ""), "kn": ("1.852", "knot")},
    "time": {
        "s": ("1", "second sec"), "min": ("60", "minute mins"), "h": ("3600", "hour hr hrs"), "days": ("86400", "day"),
        "weeks": ("604800", "week"),
    },
    "data": {
        "kB": ("1", "kilobyte kb"), "MB": ("1000", "megabyte mb"), "GB": ("1000000", "gigabyte gb"),
        "TB": ("1000000000", "terabyte tb"),
    },
    "pressure": {"bar": ("1", ""), "psi": ("0.0689475729", ""), "kPa": ("0.01", "kpa")},
    "temperature": {"°C": ("C", "celsius centigrade c"), "°F": ("F", "fahrenheit f"), "K": ("K", "kelvin k")},
}  # fmt: skip
"""Each unit of a quantity: its size, and its other names, to which an "s" may be added."""


@dataclass(frozen=True, slots=True)
class Conversion:
    """An amount in one unit and its value in another, with the units' short names; `inches` are those beyond whole
    feet.
    """

    amount: Decimal
    unit: str
    value: Decimal
    other: str
    inches: Decimal | None = None


def read(question: str) -> Conversion | None:
    """Return the conversion that a question asks for; None if it asks for anything else.

    Such a question names an amount with its unit and another unit of the same quantity, and has no other words than
    those that ask.
    """
    text = in_digits(bare(question).lower())
    match = _AMOUNT.search(text) if text and len(text) <= _MOST_CHARACTERS else None
    if match is None:
        return None
    rest = _WORD.findall(f"{text[: match.start()]} {text[match.end() :]}")
    others = [word for word in rest if word not in _ASKING]
    if not others and "degrees" in rest:
        others = ["celsius" if match["unit"].startswith("f") else "fahrenheit"]
    if len(others) > 1 and (target := _target(text, match)):
        others = [target]
    is_in_two = others in (["feet", "inches"], ["ft", "in"], ["foot", "inches"], ["feet", "inch"])
    if not is_in_two and (len(others) != 1 or (len(rest) == 1 and match.start() > 0)):
        return None
    said = {"a": "1", "an": "1", "half a": "0.5", "half an": "0.5"}.get(match["number"], match["number"])
    amount = Decimal(said.replace(",", "").replace("−", "-"))
    for units in UNITS.values():
        unit, other = units.get(match["unit"]), units.get(others[0])
        if unit and other:
            value = _converted(amount, unit[1], other[1])
            inches = value % 1 * 12 if is_in_two else None
            return Conversion(amount, unit[0], value // 1 if is_in_two else value, other[0], inches)
    return None


def _target(text: str, amount: re.Match[str]) -> str:
    """Return the unit that a question plainly asks for besides other words: "23 kilos of luggage, in pounds".

    "" unless it names the amount and that unit alone, and asks for nothing that was done, paid or planned.
    """
    rest = f"{text[: amount.start()]} , {text[amount.end() :]}"
    if _ASKS_MORE.search(rest) or amount["number"] in ("a", "an"):
        return ""
    asked = {match["unit"] or match["many"] for match in _ASKED_FOR.finditer(rest)}
    target = asked.pop() if len(asked) == 1 else ""
    is_held = any(amount["unit"] in units and target in units for name, units in UNITS.items() if name not in _LOOSE)
    return target if is_held else ""


def _converted(amount: Decimal, size: str, other: str) -> Decimal:
    if size in ("C", "F", "K"):
        celsius = {"C": amount, "F": (amount - 32) * 5 / 9, "K": amount - Decimal("273.15")}[size]
        return {"C": celsius, "F": celsius * 9 / 5 + 32, "K": celsius + Decimal("273.15")}[other]
    return amount * Decimal(size) / Decimal(other)


def _named(units: Mapping[str, tuple[str, str]]) -> dict[str, tuple[str, str]]:
    named: dict[str, tuple[str, str]] = {}
    for unit, (size, names) in units.items():
        for name in (unit.lower(), *names.split()):
            named |= dict.fromkeys((name, f"{name}s"), (unit, size))
    return named


UNITS: Final = {quantity: _named(units) for quantity, units in _UNITS.items()}
"""The units of each quantity by all their names, in lower case: the short name, and the size in the basic unit."""

_NAMES: Final = sorted({name for units in UNITS.values() for name in units}, key=len, reverse=True)
_AMOUNT: Final = re.compile(
    r"(?<![\w.,/])(?P<number>[-−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|\ban?|\bhalf an?)\s*(?:degrees?\s+|°\s*)?"
    rf"(?P<unit>{'|'.join(map(re.escape, _NAMES))})(?![\w/²])"
)
_LOOSE: Final = frozenset(["time", "data"])
"""Quantities whose units stand in many other questions, such as "how many days"."""

_ASKED_FOR: Final = re.compile(
    rf"\b(?:in|into|to|as) (?P<unit>{'|'.join(re.escape(name) for name in _NAMES if len(name) > 1)})(?=\W*$|\W* ,)"
    rf"|\bhow many (?P<many>{'|'.join(re.escape(name) for name in _NAMES if len(name) > 1)})\b"
)
_ASKS_MORE: Final = re.compile(
    r"\d|\b(?:did|was|were|had|have|has|will|would|could|who|when|where|why|which|cost|costs|price|pay|paid|spend|"
    r"spent|euros?|uk|us|imperial|per|not|if i|than|left|more|less|need|needed|other|others)\b"
)
_WORD: Final = re.compile(r"[^\W_]+(?:/[a-z]+)?")
_ASKING: Final = word_set(
    """what what's whats is are was how many much convert converted change turn express translate put make makes to in
    into as of far long big there the do does did i you get from go goes fit have has equal equals equivalent please
    total our my degrees degree and that it if when exactly about roughly worth work out calculate tell me us give show
    s hot cold warm tall heavy fast high deep wide thick"""
)
"""Words that ask for a conversion, and stand between its units."""
