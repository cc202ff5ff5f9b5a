"""Parses a question into facts that can be compared with those of another question.

The parser knows English: in other languages numbers, names and identical words still count, but the tables of meanings
do not apply.
"""

import calendar
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from device_app.english.lexicon import NUMBERS, related
from device_app.english.stemming import stemmed
from device_app.english.stop_words import CHANGES_NO_ANSWER, word_set
from device_app.english.terms import terms

_NUMBERS = {word: digits for word, digits in NUMBERS.items() if word != "one"}  # mostly a pronoun
_MONTHS, _WEEKDAYS = [[name.lower() for name in names if name] for names in (calendar.month_name, calendar.day_name)]
_DAYS = {form: name for name in (*_MONTHS, *_WEEKDAYS) for form in (name, f"{name}s", name[:3])} | {"sept": "september"}
_MOVING = word_set("today tonight yesterday tomorrow ereyesterday overmorrow")
_DAYS |= {day: day for day in _MOVING}
_DAYS = {form: name for form, name in _DAYS.items() if form not in ("may", "sat", "sun")}  # May only with a capital

_ISO = re.compile(r"\b((?:19|20)\d\d)-(0?[1-9]|1[0-2])-(0?[1-9]|[12]\d|3[01])\b")
_REWRITTEN: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), form)
    for pattern, form in (
        # Introductions to the question.
        (r"^\s*(?:(?:(?:please|hey|hi|ok|so)\b[,!]?|(?:yes|no),)\s+)+", ""),
        (r"^(?:(?:can|could|would|will) you )?(?:please )?(?:tell|give|show|remind) me\b(?: again| about| of)?\s+", ""),
        (r"\b(e|wi)-(mail|fi)\b", r"\1\2"),
        (r"\bcannot\b|\bcan['’]t\b", "can not"),
        (r"\bwon['’]t\b", "will not"),
        (r"n['’]t\b", " not"),
        (r"['’](?:s|d|m|re|ve|ll)\b", ""),
        (r"\b1st\b", "first"),
        (r"\bday before yesterday\b", "ereyesterday"),
        (r"\bday after tomorrow\b", "overmorrow"),
        (r"\bnot only\b|\bor not\b|\bnot just\b|\b(?:e\.g|i\.e)\b|(?<!\S)\d\)", ""),
    )
)
_POSSESSIVE = re.compile(r"\b(\w+)(?:['’]s|(?<=s)['’])(?=\s+(\w+))")
_CONTRACTED = word_set("what who where when how it that there here he she let")
_UNITS = "week|month|year|weekend|night|morning|afternoon|evening|spring|summer|autumn|winter"
_TURN = re.compile(
    r"\b(last|this|next|early|mid|late) "
    rf"({'|'.join((_UNITS, *_WEEKDAYS, *_MONTHS))})\b",
    re.IGNORECASE,
)
_TOKEN = re.compile(r"(\d+(?:[.,:/-]\d+)*)(?:st|nd|rd|th)?\b|v(\d[\d.]*\d)|\w+(?:[._/:]+\w+)*(?:\+\+|#)?")
_PUNCTUATION = ".,;:!?…\"'“”‘’()"
_CODE = re.compile(r"[_./:+#]|[a-z][A-Z]")
_ENDS_SENTENCE = re.compile(r"[?!:\n\"“]|(?<!\bDr)(?<!\bMr)(?<!\bMrs)(?<!\bMs)(?<!\bSt)(?<!\bProf)\.")
_NEGATIONS = word_set(
    "not no never none nobody nothing nowhere neither nor without non absence fail failed lack impossible unable "
    "besides except excluding unless"
)
_DENIALS = _NEGATIONS | word_set(
    "absent fails lacks lacking lacked missing misses missed avoid avoids avoided refuse refuses refused decline "
    "declines declined forbid forbids forbidden prohibited banned cannot hardly outstanding pending cancel cancels "
    "cancelled canceled reject rejects rejected deny denies denied"
)
"""Words that count as negations in a short question, in addition to the usual ones."""

_NEGATIVE = re.compile(
    r"(?:is|are|was|were|do|does|did|has|have|had|ca|could|wo|would|should|must|need|might)nt"  # typed without ’
    r"|un(?!der|it|ion|iv|cle|til|less|pack|lock|load|plug|do)\w+(?:ed|en|able|t|d|ing)|dis(?:allow|approv|agre|lik|connect|qualif)\w+|illegal"
    r"|in(?:complete|active|valid|eligible|correct|visible|edible|capable)|im(?:possible|proper)|ir(?:relevant|regular)"
)
_NEGATIVE_PHRASES = re.compile(
    r"\b(?:yet to|still to|(?:any|every|some)?(?:one|body|thing|where)? ?(?:but|other than)(?= \w)|left to|out of date"
    r"|instead of|rather than|apart from|far from)\b"
)
_TIMES = word_set(
    "before after until till since within eve following previous same even odd itself ago later earlier onwards "
    "past nineties eighties seventies sixties fifties forties thirties twenties"
)
"""Words for a time relative to a day; two questions with different ones ask about different times."""

_KINDS = {word: {word} for word in ("who", "when", "where", "why", "summary")}
_KINDS |= {"whom": {"who"}, "whose": {"who"}, "summarize": {"summary"}, "summarise": {"summary"}}
_NOUNS = {
    noun: kind
    for kind, nouns in {
        "when": "time date day year month birth deadline",
        "where": "birthplace place city town address location room country street",
        "why": "reason",
        "how many": "number population",
        "how long": "duration length",
    }.items()
    for noun in nouns.split()
}
_OF_WHAT = frozenset({"who", "how", "how much"})
_MEASURES = word_set("many much long often far")
_AUXILIARIES = word_set("is are was were am do does did has have had can could will would shall should may might must")


@dataclass(frozen=True, slots=True)
class Wording:
    """The facts of a question. `words` are in order and in lower case.

    `content` maps stems of content words to the words. `possessed` are the stems of words that follow a possessive:
    "the drill's price". `denials` counts negations, `times` are words for a time relative to a day. `small`: the
    question is all in lower case.
    """

    words: tuple[str, ...]
    content: dict[str, str]
    numbers: frozenset[str]
    days: frozenset[str]
    names: frozenset[str]
    codes: frozenset[str]
    possessed: frozenset[str]
    negative: bool
    denials: int
    times: frozenset[str]
    asks: frozenset[str]
    small: bool
    trigrams: frozenset[str]


@lru_cache(maxsize=512)
def read(question: str) -> Wording:
    """Parse a question. Results are cached, since the same kept question is compared again and again."""
    text = "".join(sign for sign in unicodedata.normalize("NFKD", question) if not unicodedata.combining(sign))
    text = _ISO.sub(lambda day: f"{int(day[3])} {calendar.month_name[int(day[2])]} {day[1]}", text)
    owned = [word for owner, word in _POSSESSIVE.findall(text) if owner.lower() not in _CONTRACTED]
    for pattern, form in _REWRITTEN:
        text = pattern.sub(form, text)
    words: list[str] = []
    content: dict[str, str] = {}
    numbers, days, names, codes = set[str](), set[str](), set[str](), set[str]()
    searched = set(terms(text)) - CHANGES_NO_ANSWER
    end = 0
    for match in _TOKEN.finditer(text):
        raw, gap = match[0], text[end : match.start()]
        opens = end == 0 or _ENDS_SENTENCE.search(text, max(0, end - 4), match.start()) is not None
        end = match.end()
        word = (match[1] or match[2] or raw).lower()
        words.append(word)
        if word[0].isdigit():
            numbers.add(word.replace(",", ""))
        elif number := _NUMBERS.get(word) or _NUMBERS.get(word.removesuffix("s")):
            numbers.add(number)
        elif day := _DAYS.get(word) or ("may" if raw == "May" and not opens else ""):
            days.add(day)
        else:
            stem = stemmed(word)
            if _CODE.search(raw) or gap.endswith("`") or text[end : end + 1] == "(":
                codes.add(word)
            if _is_name(raw, opens):
                names.add(word)
            if word in searched or word in names or _CODE.search(raw):
                content[stem] = word
    days |= {f"{turn} {unit}" for turn, unit in _TURN.findall(text.lower())}
    return Wording(
        words=tuple(words),
        content=content,
        numbers=frozenset(numbers),
        days=frozenset(days),
        names=frozenset(names),
        codes=frozenset(codes),
        possessed=frozenset(stemmed(word.lower()) for word in owned),
        negative=not _NEGATIONS.isdisjoint(words),
        denials=_denials(words),
        times=frozenset(_TIMES.intersection(words)),
        asks=frozenset(_asked(words)),
        small=question.islower(),
        trigrams=_trigrams(" ".join(words)),
    )


def _denials(words: Sequence[str]) -> int:
    """Count the negations of a question; "unpaid" and "not paid" count as one each."""
    single = sum(word in _DENIALS or _NEGATIVE.fullmatch(word) is not None for word in words)
    return single + len(_NEGATIVE_PHRASES.findall(" ".join(words)))


def same_kind(asked: frozenset[str], other: frozenset[str]) -> bool:
    """Return whether one answer can fit both kinds of question, as for "who wrote it" and "which author wrote it"."""
    if not asked or not other or asked & other:
        return True
    return any("what" in first and _OF_WHAT & second for first, second in ((asked, other), (other, asked)))


def moves(question: str) -> bool:
    """Return whether the question's meaning depends on the current day: "yesterday", "next week", "two days ago"."""
    wording = read(question)
    return "ago" in wording.words or any(day in _MOVING or day in _WEEKDAYS or " " in day for day in wording.days)


def adds(question: str, answer: str) -> bool:
    """Return whether the answer has any content word that the question does not have."""
    asked, said = read(question), read(answer)
    known = asked.content
    return bool(said.numbers - asked.numbers or said.days - asked.days) or any(
        stem not in known and not any(related(stem, asked_stem) for asked_stem in known) for stem in said.content
    )


def normal(question: str) -> str:
    """Return the question in lower case without punctuation, so that equal questions have equal results."""
    return " ".join(word.strip(_PUNCTUATION) or word for word in question.lower().split())


def _is_name(raw: str, opens: bool) -> bool:
    """Return whether the word is a name: with a capital inside, or with a first capital but not opening a sentence."""
    return raw != "I" and (raw[1:] != raw[1:].lower() or (raw[0].isupper() and not opens))


def _asked(words: Sequence[str]) -> set[str]:
    """Return the kinds of answer that the question asks for (such as a person or a time); none if that is unclear."""
    for place, word in enumerate(words[:3]):
        rest = words[place + 1 :]
        if word in _KINDS:
            return _KINDS[word]
        if word == "how":
            return {" ".join((word, *_MEASURES.intersection(rest[:1])))}
        if word in ("what", "which"):
            named = {_NOUNS[noun] for noun in rest if noun in _NOUNS}
            return {"when"} if rest and _NOUNS.get(rest[0]) == "when" else {"what"} | named
    return {"yes or no"} if words and words[0] in _AUXILIARIES else set()


def _trigrams(text: str) -> frozenset[str]:
    padded = f" {text} "
    return frozenset(padded[start : start + 3] for start in range(len(padded) - 2))
