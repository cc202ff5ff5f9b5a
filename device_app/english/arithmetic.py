"""Parses and computes plain arithmetic: "2+2", "what is 15% of 80?", "(3 + 4) × 5.5". Evaluates no code.

    sum      = product {("+" | "-") product}
    product  = power {("*" | "/") power}
    power    = ["-"] operand ["^" power]
    operand  = number ["%"] | "(" sum ")" | "sqrt" operand

"of" after a percentage multiplies; "a + b%" adds b per cent of a. Numbers have at most 30 digits, powers of at most 99.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Context, Decimal, DivisionByZero, InvalidOperation, Overflow, localcontext
from typing import Final

from device_app.english.lexicon import NUMBERS, TENS

_MOST_CHARACTERS: Final = 200
_MOST_DIGITS: Final = 30
_MOST_POWER: Final = 99
_PRECISION: Final = 40
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
_PHRASED: Final = (
    (r"(?:divide|split|share) (?P<a>{N}) (?:by|between|among|in|into|through|across) (?P<b>{N})(?: \w+)?(?: equally)?", "{a}/{b}"),
    (r"(?:if )?(?:we|i|you|they) (?:divide|split|share) (?P<a>{N}) (?:by|between|among|in|into) (?P<b>{N})(?: \w+)?,? (?:how much|what) (?:does|do|is|will|would|must|should)"
    r"(?: \w+){{1,4}}", "{a}/{b}"),
    (r"multiply (?P<a>{N}) (?:by|with|times|and) (?P<b>{N})", "{a}*{b}"),
    (r"(?:subtract|take|deduct) (?P<a>{N}) (?:away )?from (?P<b>{N})", "{b}-{a}"),
    (r"add (?P<a>{N}) (?:to|and|plus|with) (?P<b>{N})", "{a}+{b}"),
    (r"(?:take |subtract |deduct )?(?P<a>\d[\d.,]*)% off (?:of )?(?P<b>{N})", "{b}-{a}%"),
    (r"(?P<b>{N}) (?:with|less|minus|after) (?:an? )?(?P<a>\d[\d.,]*)% (?:off|discount|reduction|rebate)", "{b}-{a}%"),
    (r"(?:add )?(?P<a>\d[\d.,]*)% (?:vat|tax|tip|more)?(?: ?(?:to|on|on top of|onto)) (?P<b>{N})(?: bill)?", "{a}% of {b}"),
    (r"(?P<b>{N}) (?:plus|with|and|incl\w*) (?P<a>\d[\d.,]*)% (?:vat|tax|tip|more|interest|extra|on top)", "{b}+{a}%"),
    (r"(?:what )?(?:percentage|percent|%|share|part) (?:of (?P<b>{N}) is (?P<a>{N})|is (?P<a2>{N}) of (?P<b2>{N}))", "{a}/{b}*100"),
    (r"(?P<a>{N}) is (?:what|how many|which) (?:percentage|percent|%) of (?P<b>{N})", "{a}/{b}*100"),
    (r"(?:a |the )?(?P<f>third|quarter|fifth|tenth|half|double|twice|triple|three times) (?:of )?(?P<a>{N})", "{a}{f}"),
    (r"(?:the )?(?:average|mean) of (?P<list>{N}(?:(?:,|\s|and)+{N})+)", "({list})/{count}"),
    (r"(?:the )?(?:product) of (?P<a>{N}) and (?P<b>{N})", "{a}*{b}"),
    (r"(?:the )?(?:difference) (?:between|of) (?P<a>{N}) and (?P<b>{N})", "{a}-{b}"),
    (r"(?P<a>{N}) (?:to the|raised to the|to the power) (?P<b>\d+)(?:st|nd|rd|th)?(?: power)?", "{a}^{b}"),
    (r"(?P<a>{N}) (?:a|per|each|every) (?P<each>day|week|month) (?:for|over|during|in) (?P<b>{N}) (?P=each)s?", "{a}*{b}"),
    (r"(?P<b>{N}) \w+ (?:at|for|of) (?P<a>{N}) (?:each|apiece|a piece|per piece)", "{a}*{b}"),
    (r"(?P<b>{N}) times (?P<a>{N}) (?:each)?", "{a}*{b}"),
)
"""Sums as they are told, with numbers in digits, and how they are written."""

_FACTORS: Final = {
    "third": "/3", "quarter": "/4", "fifth": "/5", "tenth": "/10", "half": "/2", "double": "*2", "twice": "*2",
    "triple": "*3", "three times": "*3",
}  # fmt: skip
_NUMBER: Final = r"[€$£]?\d[\d.,]*(?:\s?(?:euros?|eur|dollars?|pounds?|francs?|€|\$|£))?"
_UNIT = r"(?:\s?(?:euros?|dollars?|pounds?|francs?|€|\$|£))?"
_EVERY = re.compile(
    rf"if i (?:pay|spend|save|earn|get|put aside) [€$£]?(?P<amount>\d[\d.,]*){_UNIT} (?:a|per|each|every) (?P<each>day|week|month|"
    rf"quarter),? (?:what|how much) (?:is|does|do|would|will) (?:that|it|i)(?: \w+)?(?: (?:to|for|in|over|after|up to))? (?:a year|one year|1 year|"
    r"the year|(?P<times>\d+) (?P=each)s?)"
)
"""An amount that is paid again and again, for a year or a number of times."""

_ADDED = re.compile(r"(?:add(?: up)?|(?:the )?(?:sum|total) of|sum(?: up)?)\s+(?P<numbers>\d[\d.,]*(?:(?:,|\s|\band\b|\bplus\b)+\d[\d.,]*)+)")
_TOKEN = re.compile(r"\s*(?:(?P<number>(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|\.\d+)|(?P<mark>[-+*/^%()])|(?P<of>of\b|sqrt\b))")
_DATE = re.compile(r"\s*\d{1,4}(?:[-/]\d{1,4}){2}\s*|\s*\d{1,2}[:/]\d{2}\s*|\s*\d{4}-\d{1,2}\s*")
"""A day, a time or a fraction-like date, which is no arithmetic: 2026-03-14, 12:30, 3/14."""


@dataclass(frozen=True, slots=True)
class Sum:
    """A sum: how it was read, and its value; None if it divides by zero or is too large."""

    text: str
    value: Decimal | None


def read(question: str) -> Sum | None:
    """Return the sum that a question asks for; None if it asks for anything else."""
    match = _ASKED.fullmatch(question[: _MOST_CHARACTERS + 1])
    text = match["sum"].lower() if match else ""
    if len(question) > _MOST_CHARACTERS or _DATE.fullmatch(text):
        return None
    text = _of_words(text)
    try:
        tokens = list(_tokens(text))
        return Sum(_written(tokens), _value(tokens)) if _computes(tokens) else None
    except ValueError:
        return None


def _of_words(text: str) -> str:
    """Return the text with words for numbers and operators in signs."""
    text = re.sub(r"[a-z]+(?:-[a-z]+)?", lambda match: _number(match[0]), text)
    text = re.sub(r"\s*(?:\bper ?cent\b)", "%", text)
    if told := _told(text):
        return told
    if match := _ADDED.fullmatch(text):
        numbers = re.findall(r"[^\s,]+", re.sub(r"\band\b", " ", match["numbers"]))
        return "+".join(number.strip(",") for number in numbers)
    if match := _EVERY.fullmatch(text):
        times = match["times"] or {"month": "12", "week": "52", "quarter": "4", "day": "365"}[match["each"]]
        return f"{match['amount']}*{times}"
    for pattern, mark in _WORDS:
        text = pattern.sub(mark, text)
    return text


def _told(text: str) -> str:
    """Return a sum that is told in words as it is written; "" if it is none."""
    for pattern, written in _PHRASED:
        if match := re.fullmatch(pattern.format(N=_NUMBER), text):
            parts = {name.rstrip("2"): words for name, words in match.groupdict().items() if words}
            numbers = re.findall(r"\d[\d.,]*\d|\d", parts.get("list", ""))
            parts |= {"list": "+".join(numbers), "count": str(len(numbers)), "f": _FACTORS.get(parts.get("f", ""), "")}
            return re.sub(r"[€$£]|euros?|eur|dollars?|pounds?|francs?|[.,](?=[\s)/*+^-]|$)", "", written.format(**parts))
    return ""


def _number(word: str) -> str:
    tens, _, ones = word.partition("-")
    if ones and tens in TENS and ones in NUMBERS:
        return str(int(TENS[tens]) + int(NUMBERS[ones]))
    return NUMBERS.get(word, word)


def _computes(tokens: list[str]) -> bool:
    """Return whether the tokens have a number, and an operator that makes them more than that number."""
    marks = {token for token in tokens if not token[-1].isdigit()} - {"%", "(", ")"}
    return bool(marks) and ("sqrt" in tokens or any(token[-1].isdigit() for token in tokens[:-1]))


def _value(tokens: list[str]) -> Decimal | None:
    """Return the value of a sum; None if there is none. Raises ValueError if the tokens are no sum."""
    with localcontext(Context(prec=_PRECISION, Emax=10_000, traps=[InvalidOperation, DivisionByZero, Overflow])):
        try:
            return _Reader(tokens).value()
        except ArithmeticError:
            return None


def shown(value: Decimal) -> str:
    """Return a number as a person writes it: thousands separated, at most ten decimals, no zeros at the end."""
    rounded = value.quantize(Decimal(1).scaleb(-10)) if abs(value) < Decimal(10) ** 25 else value.normalize()
    text = f"{rounded:,f}" if abs(value) < Decimal(10) ** 25 else f"{rounded:.10g}"
    return (text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text) or "0"


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
    """Reads tokens by recursive descent. Raises ValueError where they are no sum."""

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
            other, is_percentage = self._product()
            other = value * other if is_percentage else other
            value = value + other if mark == "+" else value - other
        return value

    def _product(self) -> tuple[Decimal, bool]:
        """Return a product, and whether it is a bare percentage."""
        value, is_percentage = self._power()
        while mark := self._next("*", "/", "of"):
            if mark == "of" and not is_percentage:
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
