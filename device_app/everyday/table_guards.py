"""Rejects questions that a table does not answer although it explains each of their words. Pure."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

from device_app.english.cells import singular, word_key
from device_app.english.stop_words import STOP_WORDS, word_set
from device_app.english.table_senses import BIRTHDAYS, EVENTS, QUICK, SPENT, is_known
from device_app.english.table_words import MANY
from device_app.everyday.table_alignment import Alignment
from device_app.everyday.table_values import Texts, Value

_HELPS: Final = word_set("did do does has have had")
_ROWS: Final = EVENTS | word_set("items things rows")
_STATES: Final = word_set("new news old")
"""Adjectives that name no column by themselves: "what is new?" does not ask for the column "price new"."""

_JOINING: Final = word_set("and or plus nor than versus vs both with")
_REMARKS: Final = frozenset(map(word_key, ["note", "remark", "comment"]))
_WRITTEN = re.compile(r"\b(?:wrote|written|writes?|mailed|emailed|texted|messaged|mails?|emails?|messages?)\b")
"""Matches words that ask for mails or messages: a row may name their people, but does not contain them."""

_IS_IN = re.compile(r"^\W*what(?: is|'s) in\b")
_NUMBER_OF_ONE = re.compile(
    r"(?:\b(?:number|count) of (?:(?:the|my|our|an?|dr|mr|mrs|ms)\b\.? )+|^what(?:'?s| is) the number of )"
    r"(?P<noun>[^\W\d_]+)"
)
_WHO_IS_THAT = re.compile(r"\bwho(?:'?s| is| was) (?:that|this|he|she|it)\W*$")
_DAYS_UNTIL = re.compile(r"\bhow many (?:\w+ )?(?:days|weeks|months|nights|hours) (?:till|until|til|to|before|left)\b")
_LASTS = re.compile(r"\bhow long\b.*\blast\W*$")
_WHOM_PAID = re.compile(r"\bwhom? (?:did|do|have|had) (?:we|i|you|they) (?:pay|paid)\b")
_IT_COSTS = re.compile(r"\b(?:do|does|did|has|have|will) (?:it|this|that|you|he|she|they|these|those) (?:\w+ )?cost\b")
_IN_GENERAL = re.compile(
    r"\b(?:how much|what) (?:(?:do|does|would|will) (?:an?\b[^,]*|[a-z]+s) cost|is an? [^,]* worth)\W*$"
    r"|\bhow (?:much|expensive|dear) (?:is|are|would) an? [\w' -]+\W*$|\b(?:price|cost) of an? [\w' -]+\W*$"
)
"""Matches a question for a price in general, "how much does a van cost", not for what the person paid for theirs."""

_BUT_ONE = re.compile(r"\bbut (?:one|two|three|\d)\b")
_BOUGHT_WHERE = re.compile(r"\bwhere\b.*\b(?:buy|bought|purchased?)\b")


def is_misread(aligned: Alignment) -> bool:
    """Return whether words that the table explains mean something else in the question."""
    return any(
        guard(aligned)
        for guard in (
            _counts_other_things, _names_state, _pays_itself, _asks_for_birthday, _asks_for_number, _asks_for_speed,
            _asks_who_it_is, _asks_for_days_until, _asks_how_long, _is_other_container, _asks_for_other_party,
            _asks_for_mail, _asks_what_it_costs, _asks_in_general, _asks_for_next_place, _joins_parts_of_two_cells,
        )
    )  # fmt: skip


def _asks_for_next_place(aligned: Alignment) -> bool:
    """Return whether the question asks for another place in an order than the first: "the dearest but one"."""
    return bool(aligned.words.superlatives) and bool(_BUT_ONE.search(aligned.words.text))


def _joins_parts_of_two_cells(aligned: Alignment) -> bool:
    """Return whether two words of one thing were found in different cells of a column: "a flat in Lyon" is neither
    "Deposit for the flat" nor "Hotel in Lyon".
    """
    words = aligned.words
    parts = sorted((each for each in aligned.values if not each.is_whole), key=lambda each: min(each.places))
    return "," not in words.text and any(
        _are_apart(first.texts, second.texts) and not _JOINING & {*words.forms[max(first.places) : min(second.places)]}
        for first, second in pairwise(parts)
    )


def _are_apart(texts: Texts, others: Texts) -> bool:
    """Return whether cells are in the same columns, and none of them is the same."""
    return texts.keys() == others.keys() and not any(texts[place] & others[place] for place in texts)


def _value_at(aligned: Alignment, place: int) -> Value | None:
    return next((value for value in aligned.values if place in value.places), None)


def _counts_other_things(aligned: Alignment) -> bool:
    """Return whether "how many" counts what the rows only mention: a place, a remark, a part of a description."""
    words, columns = aligned.words, aligned.columns
    if not (many := MANY.search(words.text)):
        return False
    behind = sorted(words.places(many.end(), len(words.text)))
    first = next((place for place in behind if words.forms[place] not in STOP_WORDS), -1)
    if first >= 0 and aligned.roles.get(first) == "title" and not is_known(words.keys[first]):
        return aligned.cells.has(words.keys[first])  # "mulberries" in the table "mulberry stairs plants"
    value = _value_at(aligned, first)
    if value is None:
        return False
    after = max(value.places) + 1
    if aligned.roles.get(after) in ("title", "field") or {*words.forms[after : after + 1]} & _ROWS:
        return False
    beside = columns.in_sense("place") | {place for place in columns.all() if columns.names[place] & _REMARKS}
    return {*value.texts} <= beside if columns.quantities() else not value.is_whole


def _names_state(aligned: Alignment) -> bool:
    """Return whether only an adjective seems to name a column, as in "what is new in the kitchen?"."""
    words = aligned.words
    is_dear = any("money" in each.degree.senses for each in words.superlatives)
    is_amount = is_dear or aligned.asks_for_money() or "much" in words.figures
    forms = [{words.forms[place] for place in places} for places in aligned.direct.values()]
    return not is_amount and any(said <= _STATES for said in forms)


def _pays_itself(aligned: Alignment) -> bool:
    """Return whether the question says that somebody paid who is in no column of payers: "what did Tomaso pay?"."""
    words, columns = aligned.words, aligned.columns
    payers = columns.payers() | columns.in_sense("person") - columns.payees()
    return any(
        word in SPENT
        and (value := _value_at(aligned, place - 1)) is not None
        and {*words.forms[: min(value.places)]} & _HELPS
        and not {*value.texts} & payers
        for place, word in enumerate(words.keys)
    )


def _asks_for_birthday(aligned: Alignment) -> bool:
    """Return whether the question asks when a birthday is, and the table has only presents or parties for it."""
    words = aligned.words
    is_day = bool({*words.forms} & {"when", "date", "day"}) and not aligned.columns.birthdays()
    return is_day and any(
        word in BIRTHDAYS and aligned.roles.get(place) in ("cell", "part") for place, word in enumerate(words.keys)
    )


def _asks_for_number(aligned: Alignment) -> bool:
    """Return whether "number of" asks for a number that a thing has, not for a count: "the number of the flat"."""
    match = _NUMBER_OF_ONE.search(aligned.words.text)
    if match is None or aligned.columns.in_sense("phone") or singular(match["noun"]) != match["noun"]:
        return False
    return any(aligned.roles.get(place) in ("cell", "part") for place in aligned.words.places(*match.span("noun")))


def _asks_for_speed(aligned: Alignment) -> bool:
    """Return whether the question asks for the fastest row, which times over different distances do not show."""
    words = aligned.words
    is_quick = any({words.forms[place] for place in each.places} & QUICK for each in words.superlatives)
    return is_quick and "time" not in words.forms and bool(aligned.columns.in_sense("distance"))


def _asks_for_days_until(aligned: Alignment) -> bool:
    """Return whether the question counts days to come, which are no rows: "how many working days until Christmas?"."""
    return bool(_DAYS_UNTIL.search(aligned.words.text))


def _asks_who_it_is(aligned: Alignment) -> bool:
    """Return whether the question names somebody and asks who that is: "Bruno Gherlani, who is that?"."""
    return bool(_WHO_IS_THAT.search(aligned.words.text))


def _asks_how_long(aligned: Alignment) -> bool:
    """Return whether the question asks how long a thing lasts, and no column says so: "how long did the oven last?"."""
    return bool(_LASTS.search(aligned.words.text)) and not aligned.columns.later() & {*aligned.direct}


def _is_other_container(aligned: Alignment) -> bool:
    """Return whether the question asks what is in a thing that is no place in the table: "what is in the fridge?"."""
    if not _IS_IN.search(aligned.words.text):
        return False
    places = aligned.columns.in_sense("place")
    return bool(aligned.values) and not any({*value.texts} & places for value in aligned.values)


def _asks_for_other_party(aligned: Alignment) -> bool:
    """Return whether the question asks who was paid, or where something was bought, and no column has that."""
    text, columns = aligned.words.text, aligned.columns
    return bool(
        (_WHOM_PAID.search(text) and not columns.payees())
        or (_BOUGHT_WHERE.search(text) and not columns.in_sense("seller"))
    )


def _asks_for_mail(aligned: Alignment) -> bool:
    """Return whether the question asks what somebody wrote, and no cell or column explains that word."""
    words = aligned.words
    written = {place for match in _WRITTEN.finditer(words.text) for place in words.places(*match.span())}
    return any(aligned.roles.get(place) not in ("cell", "part", "column") for place in written)


def _asks_what_it_costs(aligned: Alignment) -> bool:
    """Return whether the question asks what a thing costs that it does not name, which is not the sum of all rows."""
    return bool(_IT_COSTS.search(aligned.words.text)) and not aligned.values


def _asks_in_general(aligned: Alignment) -> bool:
    """Return whether the question asks what anything of a kind costs, and the rows are payments of single days."""
    return bool(_IN_GENERAL.search(aligned.words.text)) and bool(aligned.columns.dated())
