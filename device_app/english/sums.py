"""Parses a sum in words and writes it with signs: "if four people split 138 euros, how much is it each?" is 138/4.

Numbers and operators are read from left to right. All other words must be in the vocabulary, except for a few nouns.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from device_app.english.slots import Slot, Vocabulary

_NUMBER: Final = re.compile(r"[€$£]?(\d[\d,]*(?:\.\d+)?)(%?)(?:€|k\b)?")
_MONTHS: Final = re.compile(
    r"\b(?:january|february|april|june|july|august|september|october|november|december|today|yesterday|tomorrow|"
    r"monday|tuesday|wednesday|thursday|friday|saturday|sunday)\b|\d{4}-\d\d|\d:\d\d"
)
_CENTS: Final = re.compile(r"\b(?:cents?|pence|pennies)\b")
_WHOLE_MONEY: Final = re.compile(r"[€$£]|\b(?:euros?|dollars?|pounds?)\b")
_IN_A_YEAR: Final = {"day": "365", "week": "52", "month": "12"}
_SHARES: Final = {"half": "2", "third": "3", "quarter": "4", "fifth": "5", "tenth": "10"}
_TIMES: Final = {"double": "2", "triple": "3"}
_MOST_OTHERS: Final = 2
"""The maximum number of unknown words, which name what has a price: "if rent is 850"."""


@dataclass(slots=True)
class _Read:
    """The numbers of a text in order, and the kinds of all its words.

    `counts_people` is the number of people, `whole` the number after "of"; "" if there is none.
    """

    numbers: list[str]
    kinds: list[str]
    counts_people: str = ""
    whole: str = ""

    def has(self, *kinds: str) -> bool:
        return not {*kinds}.isdisjoint(self.kinds)


def written(text: str) -> str:
    """Return the sum that a text asks for, with signs; "" if it asks for none. Numbers stand in digits."""
    read = None if text.startswith(("is ", "are ")) else _read(text)
    if read is None:
        return ""
    if read.has("%of") and not any(number.endswith("%") for number in read.numbers) and not read.whole:
        return ""
    by_two = _of_two(read) if len(read.numbers) == 2 else ""
    return by_two or _of_list(read) or _in_turn(read)


def _read(text: str) -> _Read | None:
    if _MONTHS.search(text) or (_CENTS.search(text) and _WHOLE_MONEY.search(text)):
        return None
    read, others = _Read([], []), 0
    slots = [
        slot for part in re.split(r"((?<![\w.])[€$£]?\d[\d,]*(?:\.\d+)?%?€?(?![\w]))", text) for slot in _slots(part)
    ]
    for place, slot in enumerate(slots):
        if slot.kind == "number":
            number = slot.text
            read.numbers.append(number)
            read.kinds.append("number")
            if place + 1 < len(slots) and slots[place + 1].kind == "people":
                read.counts_people = number
            if place and slots[place - 1].text in ("of", "out of"):
                read.whole = number
        elif slot.kind == "other":
            return None
        elif slot.kind:
            read.kinds += [slot.kind] if slot.kind != "filler" else []
        else:
            others += len(slot.text.split())
    return read if read.numbers and others <= _MOST_OTHERS else None


def _slots(part: str) -> Sequence[Slot]:
    if match := _NUMBER.fullmatch(part.strip()):
        return [Slot("number", match[1].replace(",", "") + match[2])]
    return _WORDS.read(part)


def _of_two(read: _Read) -> str:
    """Return the sum of two numbers whose order follows from the words; "" if it does not."""
    first, second = read.numbers
    rate, amount = (first, second) if first.endswith("%") else (second, first)
    if rate.endswith("%") and not amount.endswith("%"):
        return _of_rate(read, rate, amount)
    part = first if read.whole == second else second if read.whole == first else ""
    other = second if read.counts_people == first else first
    readings = (
        (read.has("%of") and bool(part), f"{part}/{read.whole}*100"),
        (bool(read.counts_people) and read.has("/", "each"), f"{other}/{read.counts_people}"),
        (read.has("/", "list") and read.has("each"), _shared(first, second)),
        (read.has("into"), f"{second}/{first}"),
        (read.has("difference"), f"{first}-{second}"),
        (read.has("off") or (read.has("from") and read.has("-", "take")), f"{second}-{first}"),
        (read.has("power"), f"{first}^{second}"),
        (read.has(*_IN_A_YEAR) and read.has("span", "by"), f"{first}*{second}"),
    )
    return next((text for is_so, text in readings if is_so), "")


def _shared(first: str, second: str) -> str:
    """Return an amount divided by a number of people: the whole number or, if both are whole, the smaller one."""
    people, amount = sorted((first, second), key=lambda number: ("." in number, float(number.rstrip("%"))))
    return f"{amount}/{people}"


def _of_rate(read: _Read, rate: str, amount: str) -> str:
    """Return the amount plus or minus a percentage of it, or that percentage of the amount."""
    if read.has("-", "off"):
        return f"{amount}-{rate}"
    is_added = read.has("+", "with") or (read.has("tax") and read.has("list", "each"))
    return f"{amount}+{rate}" if is_added else f"{rate} of {amount}"


def _of_list(read: _Read) -> str:
    """Return the sum or the mean of numbers, or a regular payment converted to or from a year's; else ""."""
    each_time = next((kind for kind in _IN_A_YEAR if kind in read.kinds), "")
    if len(read.numbers) == 1 and each_time and read.has("year"):
        behind = [kind for kind in read.kinds[read.kinds.index("number") :] if kind in ("year", each_time)]
        return f"{read.numbers[0]}{'/' if behind[:1] == ['year'] else '*'}{_IN_A_YEAR[each_time]}"
    if len(read.numbers) > 1 and read.has("average"):
        return f"({'+'.join(read.numbers)})/{len(read.numbers)}"
    if read.counts_people:
        return ""  # people are not added to what each of them pays
    if len(read.numbers) > 1 and read.has("list", "+") and not read.has("-", "*", "/", "each", "%of"):
        return "+".join(read.numbers)
    return ""


def _in_turn(read: _Read) -> str:
    """Return a sum by reading operators and numbers from left to right; "" if they make none."""
    text, waiting = "", ""
    for kind, number in _with_numbers(read):
        if kind == "number" and not text:
            is_unary = waiting not in _DYADIC
            text, waiting = (_applied(waiting, number), "") if is_unary else (number, waiting)
        elif kind == "number":
            if waiting not in _DYADIC or not waiting:
                return ""
            text, waiting = f"{_enclosed(text)}{waiting}{number}", ""
        elif text and kind in _UNARY:
            text = _applied(kind, _enclosed(text))
        elif kind in _UNARY or kind in _DYADIC:
            waiting = kind
    return "" if _is_number(text) or (waiting and waiting != "*") else text


def _enclosed(text: str) -> str:
    return text if _is_number(text) else f"({text})"


def _with_numbers(read: _Read) -> list[tuple[str, str]]:
    numbers = iter(read.numbers)
    return [(kind, next(numbers) if kind == "number" else "") for kind in read.kinds]


def _applied(kind: str, number: str) -> str:
    if kind in _SHARES:
        return f"{number}/{_SHARES[kind]}"
    if kind in _TIMES:
        return f"{number}*{_TIMES[kind]}"
    return {"square": f"{number}^2", "cube": f"{number}^3", "root": f"sqrt {number}"}.get(kind, number)


def _is_number(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None


_UNARY: Final = frozenset((*_SHARES, *_TIMES, "square", "cube", "root"))
_DYADIC: Final = frozenset("+-*/")
_WORDS: Final = Vocabulary.load("sums")
