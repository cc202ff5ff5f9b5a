"""Decides by its words whether a question follows up on the one before it or stands alone.

The earlier exchange shows a small model what "it" means; in the prompt of a question that stands alone, it misleads.
"""

import calendar
import re
from collections.abc import Container
from datetime import date

from device_app.english import dates, periods
from device_app.english.query import Query
from device_app.english.stop_words import word_set
from device_app.english.terms import says_nothing, terms

_GOES_ON = re.compile(
    r"\W*(?:(?:ok|okay|thanks|yes|no|well|so)\b\W*)*(?:and|but|or|(?:what|how) about|what if)\b", re.IGNORECASE
)
_FRAGMENT = re.compile(r"\W*(?:(?:since|until)\s+)?(?:why|how|which|what|where|when|who)(?:\s+\w+)?\W*", re.IGNORECASE)
_JOINS_DAYS = re.compile(r"\b(?:in|on|for|during|of|the|at)\b", re.IGNORECASE)
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_MONTH_ALONE = re.compile(rf"(?:in |for |during )?(?:{'|'.join(calendar.month_name[1:])})", re.IGNORECASE)
_ASKS = re.compile(
    r"\W*(?:who|whom|whose|what|which|when|where|why|how|is|are|was|were|do|does|did|has|have|had)\b", re.IGNORECASE
)
# A single word can name a subject in "Who is petra?", and no word is needed where a person asks about themselves:
# "Where do I work?"
_OF_ONE_WORD = re.compile(
    r"\W*(?:who|what|when|where)(?:\s+is|\s+are|['’]s)\s+\w+\W*|.*\b(?:do|am) i\b.*", re.IGNORECASE
)
_STANDS_FOR_NOTHING = re.compile(
    r"\b(?:is|was) it (?:(?:that|who)\b|(?=.* (?:who|that)\b))|"
    r"(?<=\w\w)[\s,–-]+(?:and )?(?:who|when|what day|how many) (?:was|is|did) (?:it|that)(?: and (?:when|who))?\W*$",
    re.IGNORECASE,
)
"""Matches "it" and "that" where they refer to the same question, not to an earlier one.

Examples: "Who was it that asked?", "Jake and the garage: when was that?"
"""
_OWNER = re.compile(r"\b(\w+)['’]s(?= \w)")
_TOKEN = re.compile(r"\w+|[,;:.!?]")


_BESIDE_A_NAME = word_set("he she they his her hers its their theirs")
"""Pronouns that a name in the same clause may explain; other pronouns need a name in an earlier clause."""
_POINTERS = word_set("it him her them this that these those there then one ones else instead")
_BETWEEN_CLAUSES = word_set(
    "and but or when before after that if because while until since so where who which than , ; : . ! ?"
)
_OPENS_NOUN = word_set(
    "the a an my our your every each no any some of in at on for from with about by between do does did this that "
    "these those"
)
_BE = word_set("is are was were be been")
_AUXILIARIES = _BE | word_set("has had will would can could should must may might")
_SPANS = word_set("week weekend month year morning afternoon evening night spring summer autumn winter time")
# Properties of something else: "the price" by itself is no subject.
_OF_SOMETHING = word_set(
    """address amount author color colour cost date day duration hour kind length location month name number outcome
    place price reason result sender size sum time title total type weight year"""
)


def begins_as_question(text: str) -> bool:
    """Return whether the text begins with a question word or an auxiliary, as in "Who has …" and "Did Anna …"."""
    return bool(_ASKS.match(text))


def is_bare_follow_up(text: str) -> bool:
    """Return whether the text only continues an earlier question, as "And tomorrow?" and "What about Friday?" do."""
    goes_on = _GOES_ON.match(text)
    return goes_on is not None and not _ASKS.match(text[goes_on.end() :])


def for_other_days(question: str, before: str, today: date) -> str | None:
    """Return the question `before`, asked for the days that a bare follow-up question names: "And in November?".

    A month without a year is of the year that `before` names. Return None if the follow-up question says anything
    else, or if several periods may be meant.
    """
    asked = (_GOES_ON.sub("", question) if is_bare_follow_up(question) else "").strip(" ?.!")
    later, earlier = periods.read(asked, today), periods.read(before, today)
    if later is None or re.search(r"\w", _JOINS_DAYS.sub("", later.rest)):
        return None
    if earlier is None and dates.named(before, today):
        return None
    rest = (earlier.rest if earlier else before).strip(" ?.!")
    year = _YEAR.search(before)
    of_year = f" {year[0]}" if year and _MONTH_ALONE.fullmatch(asked) else ""
    joint = "" if _JOINS_DAYS.match(asked) or not _MONTH_ALONE.fullmatch(asked) else "in "
    return f"{rest} {joint}{asked}{of_year}?"


def is_follow_up(query: Query) -> bool:
    """Return whether the question can be understood only with the question before it.

    That is so if it continues the earlier question ("And on Friday?"), has a pronoun without a name for it ("What did
    it cost?"), or names nothing itself ("Why?").
    """
    text = _STANDS_FOR_NOTHING.sub(" ", query.text)
    goes_on = _GOES_ON.match(text)
    rest = text[goes_on.end() :] if goes_on else text
    if _FRAGMENT.fullmatch(rest) or (goes_on and not _ASKS.match(rest)):
        return True
    if query.is_open:
        return bool(goes_on)
    content = {word for word in terms(rest) if not says_nothing(word)}
    subjects = content - _OF_SOMETHING
    tokens = _TOKEN.findall(rest)
    words = ["", *(token.lower() for token in tokens), ""]
    named = named_before = bool(query.filters.people)  # a name so far; one in an earlier clause
    for place, token in enumerate(tokens, 1):
        before, word, after = words[place - 1 : place + 2]
        if (word in _BESIDE_A_NAME and (word != "her" or after in content)) or (word == "it" and after in _AUXILIARIES):
            leant = not named
        else:
            leant = not named_before and _points(before, word, after, content)
        if leant:
            return True
        named_before |= named and word in _BETWEEN_CLAUSES
        named |= word in subjects and ((place > 1 and token[0].isupper()) or before in _OPENS_NOUN)
    named |= any(owner in subjects for owner in _OWNER.findall(rest.lower()))  # "what's anna's number"
    if len(subjects) > 1 or (named and not goes_on):
        return False
    return bool(goes_on or not subjects or (_ASKS.match(rest) and not _OF_ONE_WORD.fullmatch(rest)))


def _points(before: str, word: str, after: str, content: Container[str]) -> bool:
    """Return whether the word refers to an earlier statement, unlike in "there is" and "this week"."""
    stands_for_nothing = {
        "this": after in _SPANS,
        "that": before in content,  # a conjunction: "the drill that Petra has"
        "there": after in _BE or before in _BE,
        "one": after in content or after == "of" or before in ("no", "any", "some", "every"),
        "instead": after == "of",
    }
    return word in _POINTERS and not stands_for_nothing.get(word, False)
