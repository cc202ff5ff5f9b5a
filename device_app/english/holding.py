"""Reads who has a thing: a question for it ("Who has my drill?"), and sentences that say it ("Tom, I have your drill").

The sentence decides: whoever says "I have your drill" has it, and whoever is spoken to owns it. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from device_app.english.slots import normal
from device_app.english.stop_words import word_set
from device_app.english.words import content_words, denies
from shared.text import sentences

_MOST_CHARACTERS: Final = 100
_MOST_OF_SENTENCE: Final = 300
"""A longer sentence says more than who has something."""

_DETERMINER: Final = r"(?P<owner>(?i:the|that|this|my|our|your|his|her|their)|[A-Za-z][\w-]{0,30}['’]s?(?= ))"
_QUESTION: Final = re.compile(
    r"(?:(?:do you know|any idea|i wonder) )?who (?:(?:still|currently) )?"
    r"(?:has got|has|have|holds|keeps|(?:is )?(?:holding|keeping)|(?:has )?borrowed|(?:has )?took|has taken|"
    r"did (?:i|we) (?:lend|give)|have (?:i|we) lent) "
    rf"(?:still |currently |got )?{_DETERMINER} (?P<thing>[\w' -]+?)"
    r"(?: to)?(?: (?:now|at the moment|right now|at present|currently|these days|still|of mine|of ours))*"
)
_NAME: Final = (
    r"(?P<holder>(?!(?:I|He|She|It|They|We|You|Who|Nobody|Someone|Somebody|Everyone|This|That)\b)"
    r"[A-Z][\w-]{1,30}(?: (?:(?:de|del|van|von|der|den|la) ){0,2}[A-Z][\w-]{1,30}){0,2})"
)
_THING: Final = rf"\b{_DETERMINER} (?P<thing>[\w'’-]+(?: [\w'’-]+){{0,4}})"
_SHORT_THING: Final = rf"\b{_DETERMINER} (?P<thing>(?:[\w'’-]+ ){{0,4}}?[\w'’-]+)"
_STILL: Final = r"(?: (?:still|also|already|now|just|actually|probably))*"
_ON: Final = r"(?: on| over| back)?"
_SAYINGS: Final = tuple(
    re.compile(pattern)
    for pattern in (
        rf"\b(?:I|We|we)(?:['’]ve| have)?{_STILL} (?:have|got|took|borrowed|kept|keep|am keeping) {_THING}",
        rf"\b(?:I|We|we)['’]ve {_THING}",
        rf"\b{_NAME}(?:['’]s| has)?{_STILL} (?:has|got|took|taken|borrowed|keeps|kept|is keeping) {_THING}",
        rf"\b(?:lent|loaned|gave|handed|passed|returned){_ON} {_SHORT_THING}{_ON} to {_NAME}",
        rf"\b(?:lent|loaned|gave|handed) {_NAME} {_THING}",
        rf"{_SHORT_THING} (?:is|are){_STILL} (?:with|at) {_NAME}",
    )
)
_UNSURE: Final = re.compile(
    r"\b(?:if|whether|unless|will|shall|would|should|could|can|may|might|must|want|need|wish|hope|used to|think|maybe|"
    r"perhaps|until|almost|nearly|had)\b|['’](?:ll|d)\b|\bto (?:have|get|take|borrow|keep|lend|give)\b",
    re.IGNORECASE,
)
"""Matches words of what is not said to be so now."""

_MOVED: Final = re.compile(
    r"\b(?:back|return\w*|home|lost|stolen|sold|broke\w*|threw|thrown|gave|given|pass(?:ed)?|hand(?:ed)?|brought|bring|"
    r"left|found|lent|fetched|picked|collected|have|has|took|borrowed)\b",
    re.IGNORECASE,
)
_END_OF_THING: Final = re.compile(
    r" (?:here|there|at|in|on|with|for|from|since|and|but|so|or|which|that|who|because|as|by|of|still|now|already|"
    r"today|yesterday|tonight|last|this|to|safe|safely|too|again|right|ready)\b.*"
)
_ADDRESSED: Final = re.compile(
    r"^(?:(?:hi|hey|hello|dear|oh|ok|okay|yes|no)[ ,]+)?(?P<name>[A-Z][\w-]{1,30})[,!:] ", re.I
)
_NO_THING: Final = word_set(
    """most best right same time day idea reason answer question problem feeling impression flu cold honour pleasure
    worst least last first only next other lead job role floor ball"""
)
"""Words that nobody lends."""


@dataclass(frozen=True, slots=True)
class HoldingQuestion:
    """A question for who has a thing. `owner` is "me", a name, or "" if it does not say whose the thing is."""

    item: str
    owner: str = ""


@dataclass(frozen=True, slots=True)
class Held:
    """A sentence that says who has a thing: `holder` is a name, or "" for whoever says it.

    `owner` is the determiner of the thing, such as "your" or "tom's"; `addressed` is the name of who is spoken to,
    or "".
    """

    item: str
    holder: str
    owner: str
    addressed: str = ""


def read(question: str) -> HoldingQuestion | None:
    """Return the thing of a question for who has it; None if it asks for anything else."""
    match = _QUESTION.fullmatch(normal(question)) if len(question) <= _MOST_CHARACTERS else None
    if match is None or not (words := content_words(match["thing"])) or _NO_THING & {*match["thing"].split()}:
        return None
    if len(words) > len(match["thing"].split()) or denies(match["thing"]):
        return None
    owner = match["owner"]
    whose = "me" if owner in ("my", "our") else owner.partition("'")[0] if "'" in owner else ""
    return HoldingQuestion(match["thing"], whose) if owner not in ("his", "her", "their", "your") else None


def held(text: str) -> Iterator[Held]:
    """Yield what the sentences of a message say about who has something."""
    for sentence in sentences(text):
        if (
            len(sentence) > _MOST_OF_SENTENCE
            or sentence.rstrip().endswith("?")
            or denies(sentence)
            or _UNSURE.search(sentence)
        ):
            continue
        addressed = _ADDRESSED.match(sentence)
        for pattern in _SAYINGS:
            if match := pattern.search(sentence):
                item = _END_OF_THING.sub("", match["thing"]).strip()
                holder = match.groupdict().get("holder") or ""
                yield Held(item, holder, match["owner"].lower(), addressed["name"] if addressed else "")
                break


def may_have_moved(text: str) -> bool:
    """Return whether a line may say that a thing changed hands, was lost, or came back."""
    return _MOVED.search(text) is not None
