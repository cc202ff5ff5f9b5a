"""Random values for the placeholders of a text template: people, places, amounts, dates, times, codes. All values come
from lists and random numbers.
"""

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from scripts.answerer.slots_made import MADE, words

_GAP = re.compile(r"\{(!?)([a-z_]+)(\d*)(?:\.([a-z]+))?\}")
_CHOICE = re.compile(r"\[([^\[\]]*)\]")
_TRIES = 60

# Formats of amounts, each with the factor that makes prices plausible and the number of decimals.
_CURRENCIES = (
    ("{} EUR", 1, 2), ("€{}", 1, 2), ("{} euros", 1, 0), ("{} €", 1, 2), ("${}", 1, 2), ("£{}", 1, 2), ("CHF {}", 1, 2),
    ("{} kr", 10, 0), ("{} zł", 4, 0), ("₹{}", 80, 0), ("¥{}", 150, 0), ("{} CZK", 25, 0), ("{} lei", 5, 0),
    ("R{}", 18, 0), ("{} pounds", 1, 0), ("{} dollars", 1, 0), ("A${}", 1, 2), ("{} BAM", 2, 0),
)  # fmt: skip
_DATES = (
    "{d:%A} {d.day} {d:%B}", "{d.day} {d:%B}", "{d:%B} {d.day}", "{d:%a} {d.day} {d:%b}", "{d.day} {d:%B} {d.year}",
    "{d.day}.{d.month}.{d.year}", "{d:%Y-%m-%d}", "{d:%A}, {d.day} {d:%B}", "{d:%B} {th}", "the {th} of {d:%B}",
    "{d:%d/%m/%Y}", "{d:%A} the {th}",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Value:
    """The value of a placeholder; `forms` are other ways to write it; `order` compares it with values of the
    same kind.
    """

    text: str
    order: float = 0.0
    forms: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Person:
    """A person of a fictional life."""

    first: str
    last: str

    @property
    def full(self) -> str:
        """The first and the last name."""
        return f"{self.first} {self.last}"


def person(chance: random.Random, initial: str = "") -> Person:
    """Return a random person, whose first name begins with `initial`."""
    fitting = [name for name in words()["first"] if name.startswith(initial)] or words()["first"]
    return Person(chance.choice(fitting), chance.choice(words()["last"]))


def spun(chance: random.Random, text: str) -> str:
    """Replace each alternative, such as `[these|those]`, by one of its parts, innermost first."""
    while _CHOICE.search(text):
        text = _CHOICE.sub(lambda match: chance.choice(match[1].split("|")), text)
    return text


def gaps(text: str) -> list[str]:
    """Return the names of the placeholders in a text template, without the forms in which their values are written."""
    return [f"{match[2]}{match[3]}" for match in _GAP.finditer(text)]


class Slots:
    """The values for the placeholders of one passage, drawn when first used; values of a kind are distinct. `written`
    are the names of the placeholders used in the text.

    The number in a name distinguishes values of a kind: `{money}` and `{money2}`. Dates and times increase with it.
    """

    def __init__(self, chance: random.Random, cast: Sequence[Person], picks: Mapping[str, Sequence[str]]) -> None:
        self._chance, self._picks = chance, picks
        self._cast = chance.sample(list(cast), len(cast))
        self._values: dict[str, Value] = {}
        self.written: set[str] = set()
        self.day = datetime(2024, 1, 1) + timedelta(days=chance.randrange(1300), hours=chance.randrange(7, 23))
        self._currency, self._scale, self._decimals = chance.choice(_CURRENCIES)
        self._date = chance.choice(_DATES)
        self._start = 5 * self._chance.randrange(7 * 12, 19 * 12)
        self._noon = chance.random() < 0.35
        self._tag = chance.choice(("{0.first}{0.last}", "{0.first}", "{0.full}"))

    def value(self, name: str) -> Value:
        """Return the value of the placeholder with the given name."""
        if name not in self._values:
            self._values[name] = self.other(name)
        return self._values[name]

    def other(self, name: str) -> Value:
        """Return a new value for a placeholder with the given name, different from all values so far."""
        kind = name.rstrip("0123456789")
        number = int(name[len(kind) :] or 1)
        kind = name if name in self._picks else kind
        taken = {value.text for value in self._values.values()}
        for _ in range(_TRIES):
            value = self._drawn(kind, number)
            if value.text not in taken:
                return value
        return value

    def put(self, name: str, text: str) -> None:
        """Set the value of a placeholder."""
        self._values[name] = Value(text)

    def write(self, text: str) -> str:
        """Choose among the template's alternatives and fill its placeholders; record their names in `written`."""
        text = spun(self._chance, text)
        self.written.update(gaps(text))
        return self.fill(text)

    def fill(self, text: str, replacements: Mapping[str, Value] | None = None) -> str:
        """Fill the template's placeholders; the given replacements are used instead of the placeholders' own values."""

        def filled(match: re.Match[str]) -> str:
            if match[1]:
                return ""
            name = f"{match[2]}{match[3]}"
            value = (replacements or {}).get(name) or self.value(name)
            return value.forms[match[4]] if match[4] else value.text

        return _GAP.sub(filled, text)

    def named(self, person: Person) -> Value:
        """Return a person as a value for a placeholder, to be written as the person's name."""
        return Value(person.first, forms={"full": person.full, "last": person.last, "tag": self._tag.format(person)})

    def people(self) -> list[Person]:
        """Return the people whose names appear in the text."""
        drawn = {name: value for name, value in self._values.items() if name in self.written and "full" in value.forms}
        return [Person(value.text, value.forms["last"]) for value in drawn.values()]

    def _drawn(self, kind: str, number: int) -> Value:
        if kind in self._picks:
            return Value(self._chance.choice(self._picks[kind]))
        if kind in ("person", "author"):
            return self._someone()
        if kind in _MONEY:
            return self._money(*_MONEY[kind])
        if kind in _WHEN:
            return getattr(self, _WHEN[kind])(number)  # type: ignore[no-any-return]
        if kind in MADE:
            return Value(MADE[kind](self._chance))
        return Value(self._chance.choice(words()[kind]))

    def _someone(self) -> Value:
        return self.named(self._cast.pop() if self._cast and self._chance.random() < 0.5 else person(self._chance))

    def _money(self, low: int, high: int) -> Value:
        amount = self._chance.randrange(low * 2, high * 2) / 2 * self._scale
        if self._decimals and self._chance.random() < 0.5 and high < 2000:
            amount += self._chance.randrange(1, 50) / 100
        whole = amount == int(amount) or not self._decimals
        written = f"{amount:,.0f}" if whole else f"{amount:,.2f}"
        return Value(self._currency.format(written), amount)

    def _on(self, number: int, spoken: str | None = None) -> Value:
        day = self.day + timedelta(days=7 * number + self._chance.randrange(2, 9))
        ending = "th" if day.day in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(day.day % 10, "th")
        return Value((spoken or self._date).format(d=day, th=f"{day.day}{ending}"), day.timestamp())

    def _date_to_come(self, number: int) -> Value:
        return self._on(number)

    def _date_soon(self, number: int) -> Value:
        return self._on(number - 1)

    def _date_gone(self, number: int) -> Value:
        return self._on(number - 6)

    def _today(self, _: int) -> Value:
        return Value(f"{self.day:%Y-%m-%d}", self.day.timestamp())

    def _iso(self, number: int) -> Value:
        return self._on(number - 9, "{d:%Y-%m-%d}")

    def _long_today(self, _: int) -> Value:
        return Value(f"{self.day:%A}, {self.day.day} {self.day:%B} {self.day.year}", self.day.timestamp())

    def _weekday_today(self, _: int) -> Value:
        return Value(f"{self.day:%A}")

    def _time(self, number: int) -> Value:
        minutes = self._minutes(number)
        hour, minute = divmod(minutes, 60)
        if not self._noon:
            return Value(f"{hour:02}:{minute:02}", minutes)
        half = "am" if hour < 12 else "pm"
        spoken = f"{(hour - 1) % 12 + 1}" + (f":{minute:02}" if minute else "")
        return Value(f"{spoken} {half}" if self._tag == "{0.first}" else f"{spoken}{half}", minutes)

    def _clock(self, number: int) -> Value:
        hour, minute = divmod(self._minutes(number), 60)
        return Value(f"{hour:02}:{minute:02}")

    def _minutes(self, number: int) -> int:
        return min(self._start + 100 * ((number - 1) % 4) + 5 * self._chance.randrange(0, 16), 23 * 60 + 55)


_MONEY = {"price": (2, 60), "cost": (61, 900), "sum": (1000, 9000)}
_WHEN = {
    "date": "_date_to_come", "soon": "_date_soon",
    "past": "_date_gone", "time": "_time", "clock": "_clock", "today": "_today", "iso": "_iso",
    "eventdate": "_long_today", "eventday": "_weekday_today",
}  # fmt: skip
