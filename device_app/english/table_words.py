"""The patterns of questions about tables: words for a sum, an extreme, a group, an exception, yes or no."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, Literal

from device_app.english.lexicon import NUMBERS
from device_app.english.table_senses import DEGREES

Figure = Literal[
    "sum", "mean", "average", "most", "least", "latest", "earliest", "count", "distinct", "much", "difference"
]
"""A figure computed over rows; "much" is the value of a single row, or the sum over several rows; "mean" is the sum of
a period on average, as in "on average per month".
"""

FIGURES: Final[Mapping[Figure, re.Pattern[str]]] = {
    "difference": re.compile(r"\bdifference\b|\bhow (?:much|many)\b(?=.*\bthan\b)"),
    "mean": re.compile(
        r"\b(?:(?:on|in) average\b(?=.*\b(?:per|each|every|a) (?:year|month|week|day)\b)|"
        r"(?:per|each|every|a) (?:year|month|week|day),? (?:on|in) average\b|"
        r"average(?= (?:per|each|every) (?:year|month|week|day)\b))"
    ),
    "average": re.compile(
        r"\b(?:(?:on|in) (?:average|avarage|averige)|averages?|avarage|averige|avg|mean|typical(?:ly)?|"
        r"usual(?:ly)?|normal(?:ly)?)\b"
    ),
    "distinct": re.compile(r"\b(?:how many|number of|count of) (?:different|distinct|various|unique|separate)\b"),
    "count": re.compile(
        r"\b(?:how often|how frequently|how many times|what(?: is|'s) the (?:number|count) of|"
        r"(?:the )?(?:number|count) of|count)\b"
    ),
    "latest": re.compile(
        r"\b(?:latest|newest|youngest|(?:most )?recent(?:ly)?|last(?: times?)?(?! (?:names?|week|month|year)\b))\b"
    ),
    "earliest": re.compile(
        r"\b(?:earliest|oldest|longest ago|least recently|first(?! (?:names?|half|quarter|day|week|month|of)\b))\b"
    ),
    "sum": re.compile(
        r"\b(?:in total|totals?|totall?ed|the sum|sum|altogether|all together|all in all|in all|overall|combined|"
        r"add(?:s|ed)? up|summed(?: up)?|so far)\b"
    ),
    "much": re.compile(r"\bhow much\b"),
}
"""Patterns of the words that ask for each figure, in the order in which they are tried. The text is in lower case."""

_ENDS = ("max", "maximum", "min", "minimum", "top", "best", "worst", "worse")
_FORMS = sorted((form for form in DEGREES if form.endswith(("er", "est")) or form in _ENDS), key=len, reverse=True)
DEGREE: Final = re.compile(
    r"\b(?:the )?(?:(?P<more>most|least|more|less|fewer|fewest)(?: (?P<what>[a-z]+))?|"
    rf"(?P<form>{'|'.join(_FORMS)}))\b"
)
"""Matches "most" and "least" with the next word, and adjectives such as "longest" and "longer"."""

NUMBER_OF: Final = re.compile(r"\b(?:number|count) of\b")
MANY: Final = re.compile(r"\bhow many\b")
HOW: Final = re.compile(r"\bhow (?P<adjective>[a-z]+)\b")

CHECK: Final = re.compile(
    r"^\W*(?:(?:and|so|but) )?(?:is|are|was|were|do|does|did|has|have|had|am)(?:n['’]t)?\b(?! (?:any(?:one|body))\b)"
)
"""Matches the beginning of a yes-or-no question, such as "did we"."""

OTHERWISE: Final = re.compile(
    r"^\W*how (?:did|do|does|was|were|is|are|have|has|to)\b"
    r"|^\W*(?:write|can|could|should|shall|will|would|may|might|must)\b(?! you\b)"
    r"|\b(?:does it take|how far (?:is|are)|too [a-z]+|enough|"
    r"(?:best|good|right) (?:time|day) (?:to|for))\b"
    r"|\bmean\W*$|\bhow (?:many|much)\b.*\b(?:did|do|does|will)\b.*\blast\W*$"
    r"|\b(?:why|how come|how to|how (?:can|could|should)|if|unless|should|percent(?:age)?|share|proportion|fraction|"
    r"ratio|median|trend|compared? (?:to|with)|rather than|instead of|as (?:much|many|long) as|"
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)days|(?<!last )(?<!this )(?<!past )weekends?|"
    r"summar|explain|draft|suggest|recommend|advise|think|feel like|"
    r"meant|told|left (?:of|over|from)|per (?:head|capita)|says?|said|mails?|emails?|mention(?:ed|s)?|"
    r"how many (?:days|weeks|months|years|hours) (?:until|till|to|since|from|between|are|is|have|ago)|"
    r"(?:second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|2nd|3rd) (?:most|least|last|[^\W\d_]+est))\b"
)
"""Matches questions that the rules for tables cannot answer: for reasons, advice, shares and some comparisons."""

DENIED: Final = re.compile(r"\b(?:not|never|no|without|missing|empty|blank|unknown|lacks?|[a-z]+n['’]t)\b")
EXCEPT: Final = re.compile(
    r"\b(?:except(?:ing)?(?: for| from)?|excluding|without|not counting|not including|apart from|aside from|other than|"
    r"but not|not (?:at|in|for|on|by|from|with)|leaving out)\b"
)
"""Matches words that introduce an exception, such as "except"."""

_A: Final = (
    r"(?<!\bin )(?<!\bfor )(?<!\bof )(?<!\bhalf )(?<!\bdoes )(?<!\bwithin )(?<!\bafter )"
    r"a(?= (?:year|month|week|day)(?:\W*$| (?:on|at|for|in|with|to|from|by)\b))"
)
"""Matches "a" that means "per", as in "how much do I spend a month on groceries?"."""

GROUP: Final = re.compile(
    rf"\b(?:per|by|for all|{_A}|(?:for |in )?(?:each|every)(?: single| of the)?|(?P<which>which|what)) "
    r"(?P<noun>[^\W\d_]+)\b"
)
"""Matches the group of a figure, such as "per month", "by category" or "which month"."""

RECURRENT: Final = re.compile(
    r"(?:(?<=\bspend )|(?<=\bspent )|\b(?=\w+ spend(?:ing)?\b))(?P<period>month|week|year)ly\b"
)
"""Matches "monthly" that means "per month"; in "monthly fee" it is a part of a name."""

SPENDING: Final = re.compile(r"\b(?:i|we) (?:\w+ )?spen[dt]\b|\b(?:my|our) (?:\w+ ){0,3}(?:spending|expenses)\b")
"""Matches words for all that a person spends, as "how much does it cost?" does not ask."""

PERIODS: Final[tuple[Literal["year", "month", "week", "day"], ...]] = ("year", "month", "week", "day")

_COUNT_WORDS = {word: int(digits) for word, digits in NUMBERS.items() if digits.isdigit() and 2 <= int(digits) <= 10}
_CARDINALS = "|".join(word for word in _COUNT_WORDS if not word.endswith(("th", "rd", "nd")))
LIMIT: Final = re.compile(
    rf"\b(?:top (?P<top>\d{{1,2}}|{_CARDINALS})\b|(?P<before>\d{{1,2}}|{_CARDINALS}) "
    r"(?=(?:most|least|[a-z]+est|best|worst|latest|last|first|newest|recent)\b)|"
    rf"(?<=last )(?P<last>\d{{1,2}}|{_CARDINALS})\b(?! (?:days|weeks|months|years))|"
    rf"(?<=first )(?P<first>\d{{1,2}}|{_CARDINALS})\b(?! (?:days|weeks|months|years)))"
)


def limit(match: re.Match[str]) -> int:
    """Return the number of rows that a match of LIMIT asks for."""
    said = next(filter(None, match.groups()))
    return int(said) if said.isdigit() else _COUNT_WORDS[said]


OFTEN: Final = re.compile(r"\b(?:often|frequently|times)\b")
WHAT: Final = re.compile(r"\bwhat\b|^\W*how much\b")
WHICH_IS: Final = re.compile(
    r"\b(?:which|what) [^\W\d_]+ (?:is|are|was|were|has been) (?:the |my |our )?"
    r"(?:most |least |[^\W\d_]+est\b|best\b|worst\b)"
)
I_PAID: Final = re.compile(
    r"\b(?:how much|total|average)\b.*\b(?:did|have|do) i (?:\w+ )?(?:pay|paid|spend|spent|buy|bought)\b"
)
WHICH_MORE: Final = re.compile(r"^\W*(?:which|who)\b(?!.*\bthan\b)")
WHICH: Final = re.compile(r"\b(?:which|list|show|when|where)\b")
DID: Final = re.compile(r"\b(?:did|have|has|had|do|does)\b")
SPENT: Final = re.compile(r"\b(?:spen[dt]|pa(?:y|id)|cost)\b")
ALONE: Final = re.compile(r"\b(?:ever|once|single|any|at once|in one go)\b")
