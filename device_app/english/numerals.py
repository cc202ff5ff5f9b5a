"""Writes numbers that stand in words in digits: "two hundred and fifty" is 250, "half a million" 500000."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Final

from device_app.english.lexicon import NUMBERS, TENS
from device_app.english.stop_words import word_set

_SCALES: Final = {"hundred": 100, "thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}
_UNITS: Final = frozenset(word for word, digits in NUMBERS.items() if digits in {*map(str, range(1, 10))})
_SMALL: Final = frozenset(TENS) | word_set(
    """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen"""
)
_TOKEN: Final = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?(?![\d%])|[a-z]+(?:'[a-z]+)?|\s+|.", re.DOTALL)
_AND_A_PART: Final = re.compile(r"\b(\d+) and (?:a half|a quarter|three quarters)\b")
_PARTS: Final = {"a half": ".5", "a quarter": ".25", "three quarters": ".75"}
_HALF_A: Final = re.compile(r"\bhalf (?:a|an) (hundred|thousand|million|billion|dozen)\b")


def in_digits(text: str) -> str:
    """Return a text in lower case with its cardinal numbers in digits; other words stay as they are."""
    text = _HALF_A.sub(lambda match: f"0.5 {match[1]}", text)
    text = "".join(_written(_TOKEN.findall(re.sub(r"(?<=[a-z])-(?=[a-z])", " ", text))))
    return _AND_A_PART.sub(lambda match: match[1] + _PARTS[match[0].partition(" and ")[2]], text)


def _written(tokens: list[str]) -> Iterator[str]:
    """Yield the tokens with each number in words as one token of digits."""
    place = 0
    while place < len(tokens):
        value, end = _number(tokens, place)
        if end > place:
            yield f"{value.normalize():f}"
            place = end
        else:
            yield tokens[place]
            place += 1


def _number(tokens: list[str], place: int) -> tuple[Decimal, int]:
    """Return the number in words that begins at a place, and where it ends; the same place if none begins there."""
    total = current = Decimal(0)
    end, before, is_in_words = place, "", False
    if tokens[place].isspace():
        return total, place
    for at in range(place, len(tokens)):
        word = tokens[at]
        is_joined = before in ("", "hundred", "thousand", "million", "billion")
        if word.isspace() or (word == "and" and before in _SCALES) or (word == "a" and not before):
            continue
        if word in _SCALES and (before or tokens[place] == "a"):
            current = (current or Decimal(1)) * _SCALES[word]
            total, current = (total, current) if word == "hundred" else (total + current, Decimal(0))
        elif word == "dozen" and (before or tokens[place] == "a"):
            current *= 12 if before else 1
            current = current or Decimal(12)
        elif word in _SMALL and (is_joined or (before in TENS and word in _UNITS)):
            current += int(NUMBERS[word])
        elif not before and word[0].isdecimal():
            current = Decimal(word.replace(",", ""))
        else:
            break
        end, before = at + 1, word
        is_in_words |= not word[0].isdecimal()
    return total + current, end if is_in_words else place
