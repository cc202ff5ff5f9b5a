"""Dates and times in the answers of rules: as entries of `ask --json`, and in words."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import ClassVar

from device_app.everyday.rule import Item, Ruled


@dataclass(frozen=True, slots=True)
class MomentItem(Item):
    """A date or time as an entry of `ask --json`: in ISO 8601, or a number of days, weeks or hours with its `unit`."""

    TYPE: ClassVar[str] = "moment"
    value: str
    unit: str = ""


def ruled(text: str, understood: str, value: str, unit: str = "") -> Ruled:
    """Return a rule's answer with one value, and its unit, in `items`.

    `understood` is how the question was interpreted.
    """
    return Ruled(text, understood, (MomentItem(value, unit),))


def day_in_words(day: date) -> str:
    """Return a day in words: "Friday 20 November 2026"."""
    return f"{day:%A} {day.day} {day:%B} {day.year}"
