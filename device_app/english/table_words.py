"""The words with which people ask tables: for a figure, for a kind of column, or for nothing in particular."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from device_app.english.cells import word_key
from device_app.english.stop_words import word_set

Figure = Literal["sum", "average", "most", "least", "latest", "earliest", "count", "distinct", "much"]
"""A figure over rows; "much" is the single value of one row, and the sum of several."""

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
"""The words that ask for each figure, in the order in which they are tried. The text is in lower case."""

MANY: Final = re.compile(r"\bhow many\b")

_PERSONS: Final = r"(?:people|persons|guests|visitors|children|kids|men|women|adults|members|friends)"
COUNTED: Final = re.compile(rf"\bhow many (?:(?:other|different|of the|of my|of our) )?(?P<noun>{_PERSONS}|times)\b")
"""People or times that are counted: a table that holds neither has no answer."""

AMOUNT: Final = re.compile(r"\bhow many (?:(?:other|different|of the|of my|of our) )?(?P<noun>[^\W\d_]+)")
"""What is counted: a part of a cell does not say it, as "lower steps" says nothing of how many steps there are."""

PERSON_DOES: Final = re.compile(rf"\b(?:who|{_PERSONS}) (?P<verb>[^\W\d_]+)\b")
"""What people do: "people work" names no cell "work"."""

PAYER: Final = re.compile(r"\b(?P<who>who)(?:'s| has| have| had)?(?: [^\W\d_]+ly| all| already)? (?:paid|pays?)\b")
"""A question for who paid, which a column of those who were paid does not answer."""

PAYEE: Final = re.compile(r"\bpa(?:id|y|yment|yments) to\b|\b(?:payee|recipient|paid_to)\b")
"""The names of columns of those who were paid. The text is in lower case."""

COSTS: Final = re.compile(r"\b(?:did|does|do|will|would)\b[^?]*?(?<!total )\b(?P<verb>cost)\b(?! of\b)")
"""What something did cost: the verb names no column, so that all columns of costs fit."""

OTHERWISE: Final = re.compile(
    r"^\W*(?:is|are|was|were|do|does|did|has|have|had|can|could|should|will|would|am)\b"
    r"|\b(?:why|how come|if|unless|except|excluding|(?:per|each|every|by|which|what) (?:day|week|month|quarter|year)|"
    r"how (?:much|many) (?:more|less|fewer)|how many (?:days|weeks|months|years|hours|minutes) (?:until|till|to|since|"
    r"from|between|are|is|have)|top \d+|"
    r"(?:two|three|four|five|six|seven|eight|nine|ten|second|third|\d+) (?:most|least|[^\W\d_]+est))\b"
)
"""What this reading knows no answer to: yes and no, comparisons, exceptions, figures of other kinds."""


@dataclass(frozen=True, slots=True)
class Sense:
    """What some words ask for: the words of questions, the words of columns, and the dimensions of their units.

    `days`: columns of days have this sense too.
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
"""The words of columns that say how many there are of what a row is about."""

PEOPLE: Final = _keys(
    "people person guest visitor child children kid man woman men women adult member friend contact participant player "
    "singer employee staff team birthday born surname"
)
"""The words of tables whose rows are people."""

UNIT_COLUMNS: Final = _keys("unit units currency curr ccy uom measure")
"""The names of columns that hold the unit of the number beside them."""

CURRENCY_COLUMNS: Final = _keys("currency curr ccy")

BIRTHDAYS: Final = _keys("birthday born birth birthdate dob")

LATER: Final = _keys("until till expiry expires warranty guarantee due end ends next")
"""The names of columns of days that are still to come, which make nothing old or new."""

SPENDING: Final = _keys("expense spending cost budget payment transaction ledger account bank outgoing")
"""The words by which a table is named that holds what was spent."""

SPENT: Final = _keys("spend pay")

HOW_LONG: Final = re.compile(r"\bhow long (?:did|do|does|have|has|had)\b")
"""A question for a duration, not for a distance."""

BARE: Final = re.compile(r"\b(?:most|least|more|less|fewest)\b(?! (?:expensive|recent|often))")
"""The most of something: of a column that is named, or over all rows of a group."""

CONTAINERS: Final = word_set("table tables sheet spreadsheet csv file list log data record records entry entries")
"""Words in the names of tables that say nothing of what is in them."""

SAYS_NOTHING: Final = word_set(
    """thing things item items row rows entry entries record records table tables sheet spreadsheet csv file list listed
    log data column single one ones each per ever person people kind sort type live lives living lived have had give
    gives gave given go went make made get got buy bought need needed take took come came be own owns use used know call
    called show tell find look whole entire many much often times amount far altogether together according please hey
    jackdaw exactly actually done was wear wore worn everything anything all spend spent pay paid cost costs year there
    stand stands belong belongs add adds up s m ve ll"""
)
"""Words of a question to a table that tell no rows apart."""

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
"""The names of columns whose numbers are not to be added up."""

RANGE: Final = re.compile(r"\b(?:between|from) (?P<first>.+?) (?:and|to|until|till)\b")
BEFORE: Final = re.compile(r"\b(?:before|until|till|up to)\b")
AFTER: Final = re.compile(r"\b(?:after|since)\b")
