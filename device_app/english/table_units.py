"""The units and currencies that tables use. Units of one dimension convert into each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from device_app.english.measures import UNITS
from device_app.english.stop_words import STOP_WORDS, word_set
from device_app.english.terms import plain

_CURRENCIES: Final = {
    "EUR": "€ euro euros", "CHF": "fr fr. sfr franc francs", "USD": "$ dollar dollars", "GBP": "£ quid",
    "JPY": "¥ yen", "SEK": "", "NOK": "", "DKK": "", "PLN": "zł zloty", "CZK": "kč", "HUF": "ft", "CAD": "", "AUD": "",
    "INR": "₹ rupee rupees", "CNY": "yuan",
}  # fmt: skip
_NO_UNITS: Final = word_set("second day days week weeks m s h t c f k g l in st ft") | STOP_WORDS
"""Words of a question that hardly ever mean a unit."""

_SIGNS: Final = word_set("m s h t g l f c k d")
"""Words that mean a unit only after a number."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit: its usual sign, the dimension that it measures, and its size in the dimension's basic unit."""

    sign: str
    dimension: str
    factor: float = 1.0

    @property
    def is_money(self) -> bool:
        """Whether the unit is a currency, which converts into no other unit."""
        return self.dimension.startswith("money")

    @property
    def quantity(self) -> str:
        """The quantity that the unit measures: "length", "mass", "money"."""
        return self.dimension.partition(" ")[0]


def _read() -> dict[str, Unit]:
    units = {
        name: Unit(sign, quantity, float(size))
        for quantity, names in UNITS.items()
        if quantity != "temperature"
        for name, (sign, size) in names.items()
    }
    for code, names in _CURRENCIES.items():
        units |= dict.fromkeys((code.lower(), *names.split()), Unit(code, f"money {code}"))
    pieces = Unit("pieces", "pieces")
    return units | dict.fromkeys(("piece", "pieces", "pcs", "pc"), pieces)


_BY_NAME: Final = _read()


def unit_named(name: str) -> Unit:
    """Return the unit of this name; an unknown name gives a unit with a dimension of its own."""
    written = plain(name.strip())
    return _BY_NAME.get(written) or _BY_NAME.get(written.strip(".")) or Unit(name.strip(), f"unit {written}")


def is_unit(name: str) -> bool:
    """Return whether a name is one of a known unit, such as "kg", rather than a noun such as "crates"."""
    return not unit_named(name).dimension.startswith("unit ")


def asked_unit(word: str, *, behind_number: bool = False) -> Unit | None:
    """Return the unit that a question's word, in lower case, names; None if the word hardly ever means a unit."""
    return None if word in (_NO_UNITS - _SIGNS if behind_number else _NO_UNITS) else _BY_NAME.get(word)


def names_of(unit: Unit) -> tuple[str, ...]:
    """Return the names by which cells of a table may name the unit."""
    names = [unit.sign, *(name for name, other in _BY_NAME.items() if other == unit)]
    return tuple(dict.fromkeys(form for name in names for form in (name, name.upper(), name.capitalize())))
