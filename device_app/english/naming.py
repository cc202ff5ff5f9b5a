"""Compares names, e-mail addresses and telephone numbers of people. Pure; uses no store.

A name is compared by its letters alone, so that "JakeWatson", "Watson, Jake" and "Dr. Jake Watson" are the same name. A
number is compared by its last nine digits, which are the same with and without the country's code.
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from device_app.english.stop_words import word_set

_SIGNIFICANT_DIGITS = 9
_LEAST_DIGITS = 3
"""The fewest digits of a telephone number: short codes have three or more."""

_MOST_CHARACTERS = 200
"""The most characters of a name that are compared; a longer text is not a name."""

_TITLES = word_set("dr prof mr mrs ms mx sir herr frau dipl ing mme mlle m")
_KEPT = 1 << 15
"""The number of names whose parsed parts are cached, as the same names are compared again and again."""

_SELF = word_set("me myself i")

_ENCLOSED = re.compile(r"\([^)]*\)|\[[^\]]*\]")
_VIA = re.compile(r"\s+via\s+.*", re.IGNORECASE)
_SEPARATORS = re.compile(r"[\s._\-+/,;&'’\"“”]+")
_IN_ONE_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_NUMBER = re.compile(r"[+(]?\d[\d\s()./\-\u00a0\u202f]*")
_ADDRESS = re.compile(r"[^\s<>@,;]+@[^\s<>@,;]+")
_POINTS = re.compile("[\u0591-\u05c7\u064b-\u065f\u0670\u0640]")
"""Hebrew and Arabic vowel points, which are mostly left out in writing, and the stroke that lengthens a line."""


@dataclass(frozen=True, slots=True)
class Named:
    """A person's name, address and number as a document gives them; each is "" if missing."""

    name: str = ""
    address: str = ""
    number: str = ""


@lru_cache(_KEPT)
def split(person: str) -> Named:
    """Split a person's mention in a document: "Anna Berg <anna@berg.org>", "+49 170 1234567", "JakeWatson"."""
    text = person[:_MOST_CHARACTERS].strip()
    name, bracket, rest = text.rpartition("<")
    if bracket and rest.endswith(">"):
        inside, name = split(rest[:-1].strip()), name.strip()
        if inside.name:
            return Named(name or inside.name)
        return Named("" if split(name).name == "" else name, inside.address, inside.number)
    if _ADDRESS.fullmatch(text):
        return Named(address=text)
    if number_key(text):
        return Named(number=text)
    return Named(text)


@lru_cache(_KEPT)
def words(name: str) -> tuple[str, ...]:
    """Return the words of a name for comparison, first name first, without titles and text in brackets."""
    text = _VIA.sub("", _ENCLOSED.sub(" ", name[:_MOST_CHARACTERS]))
    last, comma, first = text.partition(",")
    if comma and first.strip():
        text = f"{first} {last}"
    parts = (_letters(each) for part in _SEPARATORS.split(text) for each in _unjoined(part))
    kept = [part for part in parts if part]
    return tuple([part for part in kept if part not in _TITLES] or kept)


def name_key(name: str) -> str:
    """Return the letters by which names are compared; "" if there are none."""
    return "".join(words(name))


def address_key(address: str) -> str:
    """Return an address in the form for comparison; "" if the text is no address."""
    text = address.strip().casefold()
    return text if _ADDRESS.fullmatch(text) else ""


def number_key(number: str) -> str:
    """Return the digits by which telephone numbers are compared; "" if the text is no telephone number."""
    if not _NUMBER.fullmatch(number.strip()):
        return ""
    digits = "".join(str(unicodedata.digit(each)) for each in number if each.isdigit())
    return digits[-_SIGNIFICANT_DIGITS:] if len(digits) >= _LEAST_DIGITS else ""


def is_full(name: str) -> bool:
    """Return whether a name has a first and a last name, which identify a person."""
    parts = words(name)
    return len(parts) > 1 or (len(parts) == 1 and len(parts[0]) > 1 and _is_unspaced(parts[0]))


def shown(person: str) -> str:
    """Return a person's name as it is shown, "AdamSmith" as "Adam Smith"; without a name, the address or number."""
    name = split(person).name
    return (" ".join(_unjoined(name)) if _IN_ONE_WORD.fullmatch(name) else name) or split(person).address or person


def is_self(name: str) -> bool:
    """Return whether a name in a filter stands for the user, as "me" does."""
    return name.strip().casefold() in _SELF


def fits(name: str, other: str) -> bool:
    """Return whether two names may belong to the same person, as "Rick" and "Rick Moen" may: they share a word."""
    return bool(set(words(name)) & set(words(other))) or name_key(name) == name_key(other)


def _unjoined(part: str) -> list[str]:
    """Split a word where a capital follows a small letter: "JakeWatson"."""
    begins = [place for place in range(1, len(part)) if part[place].isupper() and part[place - 1].islower()]
    return [part[start:end] for start, end in zip([0, *begins], [*begins, len(part)], strict=True)]


def _letters(word: str) -> str:
    """Return the letters and digits of a word, in lower case, without accents and invisible characters."""
    decomposed = unicodedata.normalize("NFKD", _POINTS.sub("", word).casefold())
    latin = "".join(each for each in decomposed if not 0x300 <= ord(each) <= 0x36F)
    kept = (each for each in latin if each.isalnum() or unicodedata.category(each)[0] == "M")
    return unicodedata.normalize("NFC", "".join(kept))


def _is_unspaced(word: str) -> bool:
    """Return whether a word is in a script without a space between first and last name, such as Chinese."""
    return all(unicodedata.name(each, "").startswith(("CJK", "HANGUL", "HIRAGANA", "KATAKANA")) for each in word)
