"""The words of questions about tables: words for a figure, words for a kind of column, and words without meaning."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from device_app.english.cells import word_key
from device_app.english.stop_words import word_set

Figure = Literal["sum", "average", "most", "least", "latest", "earliest", "count", "distinct", "much"]
"""A figure computed over rows; "much" is the value of a single row, or the sum over several rows."""

FIGURES: Final[Mapping[Figure, re.Pattern[str]]] = {
    "average": re.compile(r"\b(?:on average|averages?|avarage|averige|avg|mean|typical(?:ly)?)\b"),
    "distinct": re.compile(r"\bhow many (?:different|distinct|various)\b"),
    "count": re.compile(
        r"\b(?:how often|how many times|(?:what is |what's )?the (?:number|count) of|number of|count)\b"
    ),
    "latest": re.compile(r"\b(?:latest|newest|youngest|(?:most )?recent(?:ly)?|last(?: time)?(?! names?\b))\b"),
    "earliest": re.compile(r"\b(?:earliest|oldest|first(?! names?\b))\b"),
    "most": re.compile(
        r"\b(?:the most|most|highest|biggest|largest|longest|greatest|maximum|max|farthest|furthest|priciest|dearest|"
        r"heaviest|tallest|slowest|steepest|more)\b"
    ),
    "least": re.compile(
        r"\b(?:the least|least|lowest|smallest|shortest|cheapest|minimum|lightest|fastest|quickest|fewest|less)\b"
    ),
    "sum": re.compile(
        r"\b(?:in total|totals?|the sum|sum|altogether|all together|all in all|in all|overall|combined|add(?:s|ed)? up|"
        r"so far)\b"
    ),
    "much": re.compile(
        r"\bhow much\b|\bhow far(?= (?:did|have|has)\b)|"
        r"\bwhat(?= (?:did|do|have|has) [^\W\d_]+ (?:spend|spent|pay|paid)\b)"
    ),
}
"""Patterns of the words that ask for each figure, in the order in which they are tried. The text is in lower case."""

MANY: Final = re.compile(r"\bhow many\b")

_PERSONS: Final = r"(?:people|persons|guests|visitors|children|kids|men|women|adults|members|friends)"
COUNTED: Final = re.compile(rf"\bhow many (?:(?:other|different|of the|of my|of our) )?(?P<noun>{_PERSONS}|times)\b")
"""Matches questions that count people or times: a table that holds neither has no answer."""

AMOUNT: Final = re.compile(r"\bhow many (?:(?:other|different|of the|of my|of our) )?(?P<noun>[^\W\d_]+)")
"""Matches the noun that is counted; a part of a cell does not name it, as "lower steps" is no count of steps."""

PERSON_DOES: Final = re.compile(rf"\b(?:who|{_PERSONS}) (?P<verb>[^\W\d_]+)\b")
"""Matches a verb of people; it is not the name of a cell, as in "people work"."""

PAYER: Final = re.compile(r"\b(?P<who>who)(?:'s| has| have| had)?(?: [^\W\d_]+ly| all| already)? (?:paid|pays?)\b")
"""Matches a question for the payer, which a column of payees does not answer."""

PAYEE: Final = re.compile(r"\bpa(?:id|y|yment|yments) to\b|\b(?:payee|recipient|paid_to)\b")
"""Matches names of columns of payees. The text is in lower case."""

COSTS: Final = re.compile(r"\b(?:did|does|do|will|would)\b[^?]*?(?<!total )\b(?P<verb>cost)\b(?! of\b)")
"""Matches a question for the cost of something; the verb names no column, so that all columns of costs fit."""

OTHERWISE: Final = re.compile(
    r"^\W*(?:is|are|was|were|do|does|did|has|have|had|can|could|should|will|would|am)\b"
    r"|\b(?:why|how come|if|unless|except|excluding|(?:per|each|every|by|which|what) (?:day|week|month|quarter|year)|"
    r"how (?:much|many) (?:more|less|fewer)|how many (?:days|weeks|months|years|hours|minutes) (?:until|till|to|since|"
    r"from|between|are|is|have)|top \d+|"
    r"(?:two|three|four|five|six|seven|eight|nine|ten|second|third|\d+) (?:most|least|[^\W\d_]+est))\b"
)
"""Matches questions that cannot be answered from a table here: yes or no, comparisons, exceptions, other figures."""


@dataclass(frozen=True, slots=True)
class Sense:
    """A meaning shared by words of questions and words of columns, with the dimensions of the columns' units.

    `days`: columns of days have this meaning too.
    """

    asked: frozenset[str]
    named: frozenset[str]
    dimensions: tuple[str, ...] = ()
    days: bool = False


def _keys(words: str) -> frozenset[str]:
    return frozenset(map(word_key, words.split()))


def _sense(asked: str, named: str, *dimensions: str, days: bool = False) -> Sense:
    return Sense(_keys(asked), _keys(named), dimensions, days)


COST: Final = _sense(
    "cost costs price pay paid spend spent expense expenses expensive cheap cheapest priciest dearest worth money "
    "value charge bill fee",
    "amount price cost value worth sum fee total expense salary rent",
    "money",
)
SENSES: Final = (
    COST,
    _sense("long longest shortest take took need needed duration time", "time duration", "time"),
    _sense("fast fastest quick quickest slow slowest quickly", "time duration", "time"),
    _sense("far farthest furthest long longest shortest short distance", "distance length", "length"),
    _sense("heavy heaviest weigh weight light lightest", "weight", "mass"),
    _sense("high tall tallest steep steepest climb elevation ascent", "climb elevation height ascent altitude"),
    _sense("when day date", "date day when", days=True),
    _sense("old oldest young youngest born birthday birth", "birthday born birth birthdate dob"),
    _sense("who whom whose", "name person who owner author member first last paid payer payee by responsible borrower"),
    _sense("where live lives lived city town located kept place", "city town place room location address where"),
    _sense("call phone telephone number reach", "phone mobile telephone tel cell cellphone"),
    _sense("email mail e-mail address", "email mail e-mail"),
    _sense("address street", "address street"),
    _sense("guarantee warranty expire expires end ends", "warranty guarantee expiry expires until"),
)
QUANTITY: Final = _keys("amount quantity qty number count pieces stock")
"""Words in the names of columns that hold a count of the row's items."""

PEOPLE: Final = _keys(
    "people person guest visitor child children kid man woman men women adult member friend contact participant player "
    "singer employee staff team birthday born surname"
)
"""Words in tables whose rows are people."""

UNIT_COLUMNS: Final = _keys("unit units currency curr ccy uom measure")
"""Names of columns that hold the unit of the number beside them."""

CURRENCY_COLUMNS: Final = _keys("currency curr ccy")

BIRTHDAYS: Final = _keys("birthday born birth birthdate dob")

LATER: Final = _keys("until till expiry expires warranty guarantee due end ends next")
"""Names of columns of future days, such as expiry, which do not say which row is older."""

SPENDING: Final = _keys("expense spending cost budget payment transaction ledger account bank outgoing")
"""Words in the names of tables that hold expenses."""

SPENT: Final = _keys("spend pay")

HOW_LONG: Final = re.compile(r"\bhow long (?:did|do|does|have|has|had)\b")
"""Matches a question for a duration, as opposed to a distance."""

BARE: Final = re.compile(r"\b(?:most|least|more|less|fewest)\b(?! (?:expensive|recent|often))")
"""Matches "most" or "least" without an adjective: of a named column, or over all rows of a group."""

CONTAINERS: Final = word_set("table tables sheet spreadsheet csv file list log data record records entry entries")
"""Words in the names of tables that do not describe the content."""

SAYS_NOTHING: Final = word_set(
    """thing things item items row rows entry entries record records table tables sheet spreadsheet csv file list listed
    log data column single one ones each per ever person people kind sort type live lives living lived have had give
    gives gave given go went make made get got buy bought need needed take took come came be own owns use used know call
    called show tell find look whole entire many much often times amount far altogether together according please hey
    jackdaw exactly actually done was wear wore worn everything anything all spend spent pay paid cost costs year there
    stand stands belong belongs add adds up s m ve ll"""
)
"""Words of a question to a table that do not distinguish rows."""

COMPARISON: Final = re.compile(
    r"\b(?P<sort>(?:over|more than|above|at least|greater than|longer than|higher than|heavier than|from)|"
    r"(?:under|less than|below|at most|up to|fewer than|shorter than|lower than|cheaper than)|exactly|of|equal to) "
    r"(?P<before>[€$£])?(?P<number>\d+(?:[.,]\d+)?)\s?(?P<unit>[€$£%]|[^\W\d_]+)?(?!\w)"
)
AT_LEAST: Final = frozenset(("at least", "from"))
AT_MOST: Final = frozenset(("at most", "up to"))
BELOW: Final = frozenset(("under", "less than", "below", "fewer than", "shorter than", "lower than", "cheaper than"))
EQUAL: Final = frozenset(("exactly", "of", "equal to"))
RATES: Final = re.compile(r"\b(?:per|each|unit|avg|average|mean|rate)\b|/", re.IGNORECASE)
"""Matches names of columns whose numbers must not be added up."""

RANGE: Final = re.compile(r"\b(?:between|from) (?P<first>.+?) (?:and|to|until|till)\b")
BEFORE: Final = re.compile(r"\b(?:before|until|till|up to)\b")
AFTER: Final = re.compile(r"\b(?:after|since)\b")
