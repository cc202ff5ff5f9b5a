"""Lists what words of questions mean for tables: senses of columns, adjectives of degree, fields of related words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from device_app.english.cells import word_key
from device_app.english.stop_words import word_set

SenseName = Literal[
    "money", "duration", "distance", "mass", "height", "score", "quantity", "warmth", "day", "birth", "age", "person",
    "author", "seller", "place", "phone", "landline", "email", "address", "end", "kind", "interval",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Sense:
    """A meaning that words of questions and of column names share, such as money.

    `asked` are the words of questions and `named` those of columns, both normalised; `words` are the words of questions
    as written; `dimensions` are those of the columns' units. `shortest` has the number of letters in the shortest form
    of each normalised word. `days`: columns of days have this sense, too.
    """

    asked: frozenset[str]
    named: frozenset[str]
    words: frozenset[str]
    shortest: Mapping[str, int]
    dimensions: tuple[str, ...] = ()
    days: bool = False

    def has(self, form: str) -> bool:
        """Return whether a word of a question or a column, as written, is a form of a word of this sense.

        A shorter word is not a form of it: "rate" is not "rating", nor Liv "live".
        """
        return len(form) >= self.shortest.get(word_key(form), len(form) + 1)


def _keys(words: str) -> frozenset[str]:
    return frozenset(map(word_key, words.split()))


def _sense(asked: str, named: str, *dimensions: str, days: bool = False) -> Sense:
    shortest: dict[str, int] = {}
    for word in f"{asked} {named}".split():
        shortest[word_key(word)] = min(len(word), shortest.get(word_key(word), len(word)))
    return Sense(_keys(asked), _keys(named), word_set(asked), shortest, dimensions, days)


SENSES: Final[Mapping[SenseName, Sense]] = {
    "money": _sense(
        "cost price pay paid spend spent spending expense expenditure worth money value charge bill fee purchase "
        "payment transaction buy bought afford cash",
        "amount price cost value worth sum fee total expense salary rent net gross balance vat tax tip deposit "
        "discount premium wage income turnover",
        "money",
    ),
    "duration": _sense("take took need needed duration time minute hour", "time duration minute hour night", "time"),
    "distance": _sense("distance mileage way", "distance length mileage page", "length"),
    "mass": _sense("weigh weight", "weight", "mass"),
    "height": _sense(
        "height climb elevation ascent altitude climbed", "climb elevation height ascent altitude", "length"
    ),
    "score": _sense(
        "score point mark grade result rating rated scored", "point score mark grade rating result percent star"
    ),
    "quantity": _sense(
        "stock left quantity amount number piece", "amount quantity qty number count piece stock copy unit"
    ),
    "warmth": _sense("temperature warm cold", "temperature temp"),
    "day": _sense("when day date", "date day when", days=True),
    "birth": _sense("born birthday birth", "birthday born birth birthdate dob"),
    "age": _sense("age", "birthday born birth birthdate dob age bought purchased built acquired year"),
    "person": _sense(
        "who whom whose person",
        "name person who with owner author member first last payer payee by responsible borrower lent pupil "
        "student teacher client customer supplier vendor seller surname player driver guest contact artist director",
    ),
    "author": _sense("wrote written directed composed", "author writer composer director artist"),
    "place": _sense(
        "where live lived city town located kept place room stored shop store",
        "city town place room location to destination address where spot drawer shelf shop store venue country bed bin "
        "box vendor merchant supermarket",
    ),
    "seller": _sense(
        "sell sold supply deliver supplier vendor seller shop store", "supplier vendor seller shop store merchant from"
    ),
    "phone": _sense("call phone telephone number reach mobile", "phone mobile telephone tel cell cellphone"),
    "landline": _sense("landline", "phone telephone tel landline"),
    "email": _sense("email mail address", "email mail e-mail"),
    "address": _sense("address street", "address street"),
    "end": _sense(
        "guarantee warranty expire expires expiry end ends valid", "warranty guarantee expiry expires until end"
    ),
    "kind": _sense("kind type sort category", "category kind type sort genre class group"),
    "interval": _sense("often frequently interval", "every interval frequency"),
}

MEASURES: Final[tuple[SenseName, ...]] = (
    "money", "duration", "distance", "mass", "height", "score", "warmth", "birth", "age",
)  # fmt: skip
"""Senses of measurements: if a question asks for one, a figure is computed only over numbers of that sense."""

PLAIN: Final[tuple[SenseName, ...]] = ("birth", "phone", "landline", "email", "end", "author")
"""Senses that few columns have, so that a word for them is as good as the column's name."""

COST: Final = SENSES["money"]


@dataclass(frozen=True, slots=True)
class Degree:
    """The meaning of an adjective of degree: much or little, and of which senses; without senses, of any number."""

    is_much: bool
    senses: tuple[SenseName, ...]


_DEGREES: Final = """
+ : big bigger biggest large larger largest great greater greatest high higher highest maximum max top many much
- : small smaller smallest low lower lowest minimum min tiny tiniest little few fewer fewest
+ money: expensive pricey pricier priciest dear dearer dearest costly costlier costliest valuable
- money: cheap cheaper cheapest
+ distance duration: long longer longest
+ distance: far farther farthest further furthest
- distance duration: short shorter shortest
- duration: fast faster fastest quick quicker quickest
+ duration: slow slower slowest
+ mass: heavy heavier heaviest strong stronger strongest
- mass: light lighter lightest
+ height: tall taller tallest steep steeper steepest
+ score: good better best
- score: bad worse worst weak weaker weakest
+ warmth: hot hotter hottest warm warmer warmest
+ age: old older
- warmth: cold colder coldest cool cooler coolest
""".strip()


def _degrees() -> dict[str, Degree]:
    degrees: dict[str, Degree] = {}
    for line in _DEGREES.splitlines():
        head, _, forms = line.partition(":")
        sign, *senses = head.split()
        degrees |= dict.fromkeys(forms.split(), Degree(sign == "+", tuple(senses)))  # type: ignore[arg-type]
    return degrees


DEGREES: Final[Mapping[str, Degree]] = _degrees()
"""The adjectives of degree in all forms."""

FIELDS: Final = tuple(
    map(
        _keys,
        """gym workout training exercise fitness sport session lift
run running jog race marathon route runner
garden harvest pick crop yield grow vegetable fruit veg bed
expense spending spend cost budget finance money purchase pay payment ledger account bank transaction outgoing
contact people person friend phone address family
inventory belonging possession own household house home item stuff appliance furniture device
stock part workshop warehouse tool
plant houseplant water
grade mark score test exam class school pupil student result point
invoice billing client bill project send sent issue
book read reading library author
trip travel flight journey holiday drive
film movie watch cinema
car fuel mileage tank vehicle litre drive petrol
energy meter electricity gas
recipe meal cook dish
member club subscription
sleep night bed slept
weather temperature rain""".splitlines(),
    )
)
"""Sets of words about one subject each: a question may use one of them for a table that is named by another."""


def is_known(word: str) -> bool:
    """Return whether a normalised word occurs in questions to some table, so that it is not misspelled."""
    return any(word in sense.asked for sense in SENSES.values()) or any(word in fields for fields in FIELDS)


FORMS: Final = frozenset(DEGREES).union(*(sense.words for sense in SENSES.values()))
"""Words of questions as they are written, by which misspelt ones are corrected."""

QUICK: Final = word_set("fast faster fastest quick quicker quickest slow slower slowest")
"""Adjectives of speed. A duration measures speed only if the distance is the same."""

YES: Final = ("yes", "true")
NO: Final = ("no", "false")
BOOLEANS: Final = (*YES, *NO)
"""The cells of columns that only say whether something is so."""

QUANTITY: Final = SENSES["quantity"].named
"""The words of columns that say how many there are of what a row is about."""

PEOPLE: Final = _keys(
    "people person guest visitor child children kid man woman men women adult member friend contact participant player "
    "singer employee staff team birthday born surname pupil student"
)
"""The words of tables whose rows are people."""

UNIT_COLUMNS: Final = _keys("unit units currency curr ccy uom measure")
"""The names of columns that hold the unit of the number beside them."""

CURRENCY_COLUMNS: Final = _keys("currency curr ccy")

BIRTHDAYS: Final = SENSES["birth"].named

LATER: Final = _keys("until till expiry expires warranty guarantee due end ends next")
"""The names of columns with days in the future, which do not decide what is "oldest" or "newest"."""

EVENTS: Final = word_set(
    """times time visit visits trip trips occasion occasions session sessions entry entries event events outing outings
    stay stays shop shops shopping order orders"""
)
"""Words by which questions ask for rows that have a day: "how many visits"."""

OUTSTANDING: Final = word_set("open outstanding unpaid unsettled owed pending overdue")
"""Words by which questions ask for unpaid rows: those without a day of payment."""

SPENT: Final = _keys("spend pay buy purchase")
"""Verbs of spending money, in contrast to what something is worth."""

PAID: Final = _keys("paid settled received payment")

RECURRING: Final = word_set("daily weekly monthly quarterly yearly annual annually")
"""Words that ask for a figure per period; they are not searched for in cells."""

ANYWHERE: Final = _keys(
    "note message mail chat file document photo picture event meeting appointment call date day name plan"
)
"""Names of columns that are also words of many questions about other things than tables."""

SAYS_NOTHING: Final = word_set(
    """thing things item items row rows entry entries record records table tables sheet spreadsheet csv file files list
    listed log data column single one ones ever kind sort type have had give gives gave given go went gone going make
    makes made get gets got need needed take took taken come came own owns used use know call called show shown tell
    find look whole entire altogether together according please hey hi jackdaw exactly actually done everything anything
    something all there stand stands belong belongs add adds up per each s m ve ll d re keep kept put want wants
    different various currently now today already still yet just really only lately money amount do did done noted
    recorded entered always usually since respectively thanks thank quickly roughly about around
    i me my we us our you your it its long far often much many name names called kinds types total overall left
    be been being was were is are
    happen happened swiss british burnt burned earned written stuff both two among amongst originally wear wore worn"""
)
"""Words of a question about a table that do not help to select rows, such as "things" and "show"."""
