"""Parses and computes plain arithmetic: "2+2", "what is 15% of 80?", "(3 + 4) × 5.5". Evaluates no code.

    sum      = product {("+" | "-") product}
    product  = power {("*" | "/") power}
    power    = ["-"] operand ["^" power]
    operand  = number ["%"] | "(" sum ")" | "sqrt" operand

"of" after a percentage multiplies; "a + b%" adds b per cent of a. Numbers have at most 30 digits, powers of at most 99.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Context, Decimal, DivisionByZero, InvalidOperation, Overflow, localcontext
from typing import Final

from device_app.english import sums
from device_app.english.lexicon import NUMBERS
from device_app.english.numerals import in_digits

_MOST_CHARACTERS: Final = 200
_MOST_DIGITS: Final = 30
_MOST_POWER: Final = 99
_PRECISION: Final = 40
LARGE: Final = Decimal(10) ** 25
_MOST_NESTED: Final = 30

_ASKED = re.compile(
    r"""[\s"'“¿]*(?:(?:please|hey|so|and|ok|okay|jackdaw)\b[\s,:]*)*
        (?:(?:(?:what|how\ much)(?:['’]?s|\ is|\ does|\ do)?|calculate|compute|work\ out|evaluate|solve|tell\ me)\s+)*
        (?P<sum>.+?)
        \s*(?:\b(?:makes?|equals?|come\ to|is|please)\b\s*)?[=?.!\s]*""",
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)
_WORDS: Final = (
    (re.compile(r"\bplus\b"), "+"),
    (re.compile(r"\bminus\b"), "-"),
    (re.compile(r"\b(?:times|multiplied by)\b"), "*"),
    (re.compile(r"\b(?:divided by|over)\b"), "/"),
    (re.compile(r"\b(?:to the power of)\b"), "^"),
    (re.compile(r"\bsquared\b"), "^2"),
    (re.compile(r"\bcubed\b"), "^3"),
    (re.compile(r"(?:\bthe )?\bsquare root of\b|√"), "sqrt "),
    (re.compile(r"\s*(?:\bper ?cent\b|\bpercent\b)"), "%"),
    (re.compile(r"\bhalf (?:of )?"), "0.5*"),
    (re.compile(r"[×·∙]|(?<=[\d\s)])x(?=[\d\s(])"), "*"),
    (re.compile(r"[÷∶:]"), "/"),
    (re.compile(r"[−–]"), "-"),
    (re.compile(r"\*\*"), "^"),
)
_ORDINAL = re.compile(r"(?<=\d)(?:st|nd|rd|th)\b")
_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|\.\d+)|(?P<mark>[-+*/^%()])|(?P<of>of\b|sqrt\b))"
)
_PARTS: Final = frozenset(("half", "third", "quarter", "fifth", "tenth", "twice", "double"))
"""Words for fractions and multiples, which do not count as plain numbers though the lexicon has digits for some."""

_PARTS_OF: Final = {"thirds": 3, "quarters": 4, "fifths": 5, "sixths": 6, "eighths": 8, "tenths": 10}
_PRONOUN = re.compile(r"\b(single|each|every|this|that|the|which|another) one\b")
_FRACTION = re.compile(rf"\b(\d+)[ -]({'|'.join(_PARTS_OF)}) of\b")
_DATE = re.compile(r"\s*\d+(?:[-/]\d+){2,}\s*|\s*\d{1,2}[:/]\d{2}\s*|\s*\d{4}-\d{1,2}\s*")
"""Matches dates, times and telephone numbers, which are not sums: 2026-03-14, 12:30, 040-123-4567."""

_MONTHS: Final = "|".join(calendar.month_name[1:]).lower()
_PART_OF_TIME: Final = re.compile(
    rf"\b(?:half|quarter|third) of (?:(?:the|this|last|next) )?(?:{_MONTHS}|month|week|year)\b"
)
"""Matches a part of a month, which names days: "the second half of March"."""


@dataclass(frozen=True, slots=True)
class Sum:
    """A sum as the parser understood it, and its value; None if the sum divides by zero or its value is too large."""

    text: str
    value: Decimal | None


def read(question: str) -> Sum | None:
    """Parse the sum in a question; return None if the question asks for anything else."""
    match = _ASKED.fullmatch(question[: _MOST_CHARACTERS + 1])
    text = match["sum"].lower() if match else ""
    if len(question) > _MOST_CHARACTERS or _DATE.fullmatch(text) or _PART_OF_TIME.search(text):
        return None
    in_numbers = _in_digits(text)
    for said in filter(None, (in_numbers, sums.written(in_numbers))):
        try:
            tokens = list(_tokens(_in_signs(said)))
            if _computes(tokens):
                return Sum(_written(tokens), _value(tokens))
        except ValueError:
            continue
    return None


def _in_digits(text: str) -> str:
    """Return the text with words for numbers in digits."""
    text = _PRONOUN.sub(r"\1", text)
    text = re.sub(r"[a-z]+", lambda match: _number(match[0]), in_digits(text))
    text = re.sub(r"(?<=\d)\s*\b(?:per ?cent|pct)\b", "%", text)
    text = _FRACTION.sub(lambda match: f"{match[1]}/{_PARTS_OF[match[2]]}*", text)
    text = re.sub(r"\b(\d+/\d+) of\b", r"\1*", text)
    return " ".join(re.sub(r",(?=\s)", "", _ORDINAL.sub("", text)).split())


def _in_signs(text: str) -> str:
    """Return the text with words for operators in signs."""
    for pattern, mark in _WORDS:
        text = pattern.sub(mark, text)
    return text


def _number(word: str) -> str:
    return word if word in _PARTS else NUMBERS.get(word, word)


def _computes(tokens: list[str]) -> bool:
    """Return whether the tokens hold a number and an operator to apply to it."""
    marks = {token for token in tokens if not token[-1].isdigit()} - {"%", "(", ")"}
    return bool(marks) and ("sqrt" in tokens or any(token[-1].isdigit() for token in tokens[:-1]))


def _value(tokens: list[str]) -> Decimal | None:
    """Return the value of a sum; None if it has none. Raises ValueError if the tokens do not form a sum."""
    with localcontext(Context(prec=_PRECISION, Emax=10_000, traps=[InvalidOperation, DivisionByZero, Overflow])):
        try:
            return _Reader(tokens).value()
        except ArithmeticError:
            return None


def shown(value: Decimal, decimals: int = 10) -> str:
    """Format a number: thousands separated, at most `decimals` decimals, no zeros at the end.

    A number of LARGE or more is rounded to ten digits.
    """
    with localcontext(Context(prec=_PRECISION)):
        if abs(value) >= LARGE:
            return f"{value.normalize():.10g}"
        text = f"{value.quantize(Decimal(1).scaleb(-decimals)):,f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text) or "0"


def _tokens(text: str) -> Iterator[str]:
    place = 0
    while place < len(text.rstrip()):
        if not (match := _TOKEN.match(text, place)):
            raise ValueError(text)
        place = match.end()
        if number := match["number"]:
            if len(number) > _MOST_DIGITS:
                raise ValueError(number)
            yield number.replace(",", "")
        else:
            yield match["mark"] or match["of"]


def _written(tokens: list[str]) -> str:
    text = " ".join(tokens)
    for pattern, replaced in ((r" %", "%"), (r"\( ", "("), (r" \)", ")"), (r" \^ ", "^"), (r"(^|[-+*/(] )- ", r"\1-")):
        text = re.sub(pattern, replaced, text)
    return text.replace("*", "×").replace("/", "÷").replace("-", "−")


class _Reader:
    """Parses and computes tokens by recursive descent. Raises ValueError if they do not form a sum."""

    def __init__(self, tokens: list[str]) -> None:
        self._tokens, self._place, self._depth = tokens, 0, 0

    def value(self) -> Decimal:
        """Return the value of all tokens."""
        value = self._sum()
        if self._place < len(self._tokens):
            raise ValueError(self._tokens[self._place])
        return value

    def _next(self, *marks: str) -> str:
        token = self._tokens[self._place] if self._place < len(self._tokens) else ""
        if token and token in marks:
            self._place += 1
            return token
        return ""

    def _sum(self) -> Decimal:
        value = self._product()[0]
        while mark := self._next("+", "-"):
            other, is_percentage = self._product(is_added=True)
            other = value * other if is_percentage else other
            value = value + other if mark == "+" else value - other
        return value

    def _product(self, *, is_added: bool = False) -> tuple[Decimal, bool]:
        """Return a product, and whether it is a percentage alone. Raises ValueError if ambiguous: "96 + 10% / 4"."""
        value, is_percentage = self._power()
        while mark := self._next("*", "/", "of"):
            if not is_percentage if mark == "of" else is_percentage and is_added:
                raise ValueError(mark)
            other, _ = self._power()
            value = value / other if mark == "/" else value * other
            is_percentage = False
        return value, is_percentage

    def _power(self) -> tuple[Decimal, bool]:
        if self._next("-"):
            value, is_percentage = self._power()
            return -value, is_percentage
        value, is_percentage = self._operand()
        if self._next("^"):
            exponent, _ = self._power()
            if abs(exponent) > _MOST_POWER:
                raise Overflow
            value = value**exponent
        return value, is_percentage

    def _operand(self) -> tuple[Decimal, bool]:
        if self._next("sqrt"):
            return self._operand()[0].sqrt(), False
        if self._next("("):
            self._depth += 1
            if self._depth > _MOST_NESTED:
                raise ValueError("(")
            value = self._sum()
            if not self._next(")"):
                raise ValueError("(")
            return value, False
        if self._place >= len(self._tokens):
            raise ValueError("end")
        number = self._tokens[self._place]
        if not number[:1].isdigit() and not number.startswith("."):
            raise ValueError(number)
        self._place += 1
        value = Decimal(number)
        return (value / 100, True) if self._next("%") else (value, False)
