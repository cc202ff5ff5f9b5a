"""Word lists, and what is made up by a rule: numbers, codes, addresses, lengths of time."""

import random
import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

_WORDS = Path(__file__).with_name("slots_words.toml")
_NUMBERS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


@cache
def words() -> Mapping[str, tuple[str, ...]]:
    """The lists that values are drawn from, by name."""
    lists = tomllib.loads(_WORDS.read_text("utf-8"))
    return {
        name: tuple(" ".join(part.split()) for part in text.split(",") if part.strip()) for name, text in lists.items()
    }


def _phone(chance: random.Random) -> str:
    digits = "".join(str(chance.randrange(10)) for _ in range(9))
    shape = chance.choice(
        ("555 {0}{1}{2}{3}", "+{0}{1} {2}{3}{4} {5}{6}{7}{8}", "0{0}{1}{2} {3}{4}{5} {6}{7}", "{0}{1}{2}-{3}{4}{5}{6}")
    )
    return shape.format(*digits)


def _code(chance: random.Random) -> str:
    letters = "".join(chance.choice("ABCDEFGHJKLMNPRSTUVWXYZ") for _ in range(4))
    number = chance.randrange(1000, 99999)
    return chance.choice(
        (
            f"{letters[:2]}-{number}",
            f"{letters}{number % 100:02}",
            f"#{number}",
            f"{number}-{letters[0]}",
            f"{letters[:3]}{number}",
        )
    )


def _password(chance: random.Random) -> str:
    made = words()["secret"]
    return chance.choice(("-", "_", "")).join((*chance.sample(made, 2), str(chance.randrange(10, 9999))))


def _street(chance: random.Random) -> str:
    return chance.choice(words()["streets"]).replace("#", str(chance.randrange(1, 140)))


MADE: Mapping[str, Callable[[random.Random], str]] = {
    "phone": _phone,
    "code": _code,
    "password": _password,
    "street": _street,
    "minutes": lambda chance: f"{5 * chance.randrange(2, 25)} minutes",
    "weeks": lambda chance: f"{chance.choice(_NUMBERS)} {chance.choice(('weeks', 'months'))}",
    "days": lambda chance: f"{chance.choice(_NUMBERS)} days",
    "years": lambda chance: f"{chance.choice(_NUMBERS)} years",
    "small": lambda chance: str(chance.randrange(2, 13)),
    "count": lambda chance: str(chance.randrange(13, 96)),
    "big": lambda chance: f"{chance.randrange(1100, 99000):,}",
    "km": lambda chance: f"{chance.randrange(3, 42)} km",
    "kilos": lambda chance: f"{chance.randrange(21, 340) / 10} kg",
    "grams": lambda chance: f"{25 * chance.randrange(2, 30)} g",
    "degrees": lambda chance: f"{5 * chance.randrange(30, 48)} degrees",
    "percent": lambda chance: f"{chance.randrange(3, 60)}%",
    "room": lambda chance: chance.choice(
        (str(chance.randrange(2, 480)), f"{chance.choice('ABCD')}{chance.randrange(1, 40)}")
    ),
    "platform": lambda chance: str(chance.randrange(1, 24)),
    "seat": lambda chance: f"{chance.randrange(1, 60)}{chance.choice('ABCDEF')}",
    "flight": lambda chance: f"{chance.choice(words()['carrier'])}{chance.randrange(100, 9900)}",
    "mail": lambda chance: (
        f"{chance.choice(words()['first']).lower()}.{chance.choice(words()['secret'])}@{chance.choice(words()['host'])}.example"
    ),
}
"""Values by kind, each from chance alone."""
