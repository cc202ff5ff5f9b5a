"""Answers questions for the value of a calculation, and for conversions of units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from device_app.english import arithmetic, measures
from device_app.english.measures import Conversion
from device_app.everyday.rule import Asked, Item, Ruled


@dataclass(frozen=True, slots=True)
class NumberItem(Item):
    """A computed number, and the expression that it was computed from."""

    TYPE: ClassVar[str] = "number"
    expression: str
    value: str


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """Computes sums such as "15% of 80", and converts units."""

    stands_alone: ClassVar[bool] = False

    def answer(self, asked: Asked) -> Ruled | None:
        """Return the value that the question asks for; None if it asks for no sum and no conversion."""
        if asked.query.is_limited:
            return None
        if converted := measures.read(asked.text):
            return _converted(converted)
        if not (read := arithmetic.read(asked.text)):
            return None
        if read.value is None:
            return Ruled(f"{read.text} has no value that can be computed.", f"arithmetic · {read.text}")
        value = arithmetic.shown(read.value)
        sign = "=" if abs(read.value) < arithmetic.LARGE else "≈"
        item = NumberItem(read.text, value.replace(",", ""))
        return Ruled(f"{read.text} {sign} {value}", f"arithmetic · {read.text}", (item,))


def _converted(conversion: Conversion) -> Ruled:
    amount, value = arithmetic.shown(conversion.amount), conversion.value
    rounded = arithmetic.shown(value, 2 if abs(value) >= 1 else 6)
    rest = "" if conversion.inches is None else f" {arithmetic.shown(conversion.inches, 1)} in"
    text = f"{amount} {conversion.unit} = {rounded} {conversion.other}{rest}"
    item = NumberItem(f"{amount} {conversion.unit} in {conversion.other}", str(value))
    return Ruled(text, f"units · {item.expression}", (item,))
