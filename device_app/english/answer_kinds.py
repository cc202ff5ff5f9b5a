"""Decides by its words whether an answer is of another kind than the question asks for: "No" is no day.

A small model sometimes answers "when" with a name, or a request such as "could you look up the day …" with "No".
"""

import re
from typing import Final

from device_app.english.politeness import bare

_MOST_WORDS: Final = 12
"""The most words of an answer that is looked at: a longer one may say the time in any words."""

_ASKS_FOR: Final = (
    r"(?:(?:please|kindly)[\s,]+)*(?:(?:can|could|would|will) (?:you|u) (?:please |kindly )?)?"
    r"(?:(?:tell|show|give|remind) (?:me|us)|find out|look up|find|say|check|do you (?:know|remember)|"
    r"i(?:['’]d| would)? (?:like|want|need) to know|i wonder)?[\s,]*(?:please[\s,]+)?"
)
_CLAUSE: Final = (
    r"when (?!(?:is|are|am|was|were|do|does|did|has|have|had|will|would|can|could|shall|should|may|might|must|and)\b)"
    r".*,.*\b(?:who|what|which|where|how)\b"
)
"""Matches a question behind a clause of time: "When it rains, where is the umbrella?"."""

_KIND: Final = re.compile(
    rf"(?!{_CLAUSE}){_ASKS_FOR}(?:(?P<time>when\b|"
    r"(?:at |on |in |by )?(?:what|which) (?:day|date|time|year|month|hour|weekday)\b(?! (?:zone|care|trip))|"
    r"at what point\b|how long ago\b)"
    r"|(?P<often>how often\b)"
    r"|(?P<amount>how (?:many|much|old|tall|far|heavy|big)\b)"
    r"|(?P<other>who|whom|whose|what|which|where|why|how)\b)",
    re.IGNORECASE,
)
_THE_DAY: Final = re.compile(rf"(?=\w){_ASKS_FOR}(?<=\w )the (?:day|date)\b", re.IGNORECASE)
_WHETHER: Final = re.compile(r"\b(?:if|whether)\b", re.IGNORECASE)
_YES_OR_NO: Final = re.compile(r"(?:yes|no)\W*", re.IGNORECASE)
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+")
_NUMERAL: Final = (
    r"\d|\b(?:(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|"
    r"seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand|million|billion)"
    r"(?:s|th|fold)?|first|second|third|fifth|eighth|ninth|twelfth|\w+tieth)\b"
)
_TIME: Final = re.compile(
    rf"{_NUMERAL}|\b(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
    r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?|(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:days?)?)\b|"
    r"\b(?:today|tonight|tomorrow|yesterday|noon|midday|midnight|morning|afternoon|evening|night|dawn|dusk|sunrise|"
    r"sunset|day|week|weekend|month|year|quarter|century|decade|spring|summer|autumn|fall|winter|christmas|easter|"
    r"ago|after|before|during|until|till|since|when|while|once|soon|later|earlier|now|recently|always|never|daily|"
    r"weekly|monthly|yearly|annually|early|late|last|next|lunch|breakfast|dinner|eve|age|era|period|reign|war)s?\b",
    re.IGNORECASE,
)
_AMOUNT: Final = re.compile(
    rf"{_NUMERAL}|[€$£]|\b(?:no|none|nothing|nobody|zero|nil|free|a|an|both|half|couple|several|few|many|much|some|all|"
    r"every|each|once|twice|dozens?|pair|single|triple|double|daily|weekly|monthly|yearly|always|never|often|rarely|"
    r"sometimes|usually|most|unlimited|infinite|enough|about|less|more|over|under|young|old|[ivx]+)\b",
    re.IGNORECASE,
)
_FITTING: Final = {"time": (_TIME,), "amount": (_AMOUNT,), "often": (_AMOUNT, _TIME)}
"""The patterns by the kind that is asked for, one of which an answer of that kind matches."""


def misfits(question: str, answer: str) -> bool:
    """Return whether the answer is of another kind than asked for: "Yes" or "No" to what is no such question, no time
    after "when", or no amount after "how much". False if the kind is unclear or the answer long.
    """
    said = answer.strip()
    kind = _kind(question)
    if not (said and kind) or len(said.split()) > _MOST_WORDS:
        return False
    if _YES_OR_NO.fullmatch(said):
        return True
    fitting = _FITTING.get(kind, ())
    return bool(fitting) and not any(pattern.search(said) for pattern in fitting)


def _kind(question: str) -> str:
    """Return what the last sentence with a word of asking asks for: "time", "amount", "often", "other"; "" if none has
    one, or if it asks whether something is so.
    """
    for sentence in reversed(_SENTENCE.split(question.strip())):
        plain = bare(sentence)
        if _THE_DAY.match(plain):
            return "time"
        if (match := _KIND.match(plain)) and not _WHETHER.search(plain):
            return match.lastgroup or ""
        if plain:
            return ""
    return ""
