"""Recognises sentences that change an earlier statement: moved, cancelled, replaced. Pure.

A sentence counts only if it has the new value itself, or says that there is none, so that it answers a question alone.
"""

import re
from dataclasses import dataclass
from typing import Final, Literal

from device_app.english import dates
from device_app.english.stop_words import HOW_ASKED, SMALL_TALK, STOP_WORDS, word_set
from device_app.english.terms import plain, stands_in, terms

Aspect = Literal["time", "place", "other"]
"""The property that a question asks for: a time, a place, or another property that may be replaced, such as a price."""

_TIME: Final = r"\d{1,2}[:.]\d\d(?!\d)|\d{1,2} ?[ap]\.?m\b|\bnoon\b|\bmidnight\b|\b\d{1,2} o'clock"
_DAY: Final = (
    r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|\btomorrow\b|\bnext week\b|\b\d{1,2}(?:st|nd|rd|th)?(?: of)? "
    r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)"
    r"[a-z]* \d{1,2}\b|\b\d{4}-\d\d-\d\d\b|\b\d{1,2}\. ?\d{1,2}\."
)
_WHEN: Final = re.compile(rf"{_TIME}|{_DAY}")
_VERBS: Final = (
    r"move[sd]?(?! in| out)|reschedul(?:ed?|ing)|postponed?|push(?:ed)?|shift(?:ed)?|brought forward|put (?:off|back)|"
    r"delayed|changed?|relocated?|adjourned|deferred"
)
_MOVED: Final = re.compile(
    rf"\b(?:(?:is|are|was|were|be|been|being|got|has|have|had|we|i|you|us|they|to)(?: \w+)? (?:{_VERBS})|(?:{_VERBS}) "
    rf"(?:it|the|our|your|my|this|that)|(?:{_VERBS}) (?:from|to))\b"
)
_NEW: Final = re.compile(r"\bnew (?P<what>[a-z]+)\b(?=.{0,60}?(?:\bis\b|\bare\b|\bwill be\b|:|\bfrom\b))")
_NEW_TIME: Final = word_set("date time day slot appointment deadline start schedule")
_NEW_PLACE: Final = word_set("place venue location address room meeting")
_INSTEAD: Final = re.compile(r"\binstead\b|\bno longer\b|\brather than\b")
_COUNTER: Final = re.compile(
    r"\b(?:can|could|shall|should) we (?:do|say|make it|meet|try|have it)\b|\b(?:how|what) about\b"
    r"|\b(?:would|does) .{1,40}\bwork\b|\brather\b"
)
"""Matches a proposal of a day or a time, which replaces one that was proposed before in the same conversation."""

_OF_A_COUNTER: Final = (
    HOW_ASKED
    | SMALL_TALK
    | word_set(
        "meet rather work works suit suits better instead possible please oh sorry prefer easier fine bad busy later "
        "earlier then evening morning afternoon night noon midnight weekend half past quarter pm clock"
    )
)
"""Words of a proposal of another day or time that name nothing else."""

_CANCELLED: Final = re.compile(
    r"\b(?:is|are|was|were|been|be|had to|have to|must) (?:\w+ )?(?:cancel(?:l?ed)?|called off|scrapped)\b"
    r"|\b(?:(?:will|does|do|did) not|won't|doesn't) (?:take place|happen)\b|\bnot taking place\b"
    r"|^(?:the )?\w+ cancell?ed\b"
)
_CORRECTED: Final = re.compile(
    r"^\W*(?:corrections?|erratum|errata|corrigend(?:um|a))\b|\b(?:was|were|is|are) (?:wrong|incorrect|mistaken)\b"
    r"|\b(?:correct|right) \w+ (?:is|was|are|were)\b|\bshould (?:read|have (?:been|read))\b|\d\D{0,20},? not \D{0,3}\d"
)
_VALUE: Final = re.compile(r"\d")
_AMOUNT: Final = re.compile(r"\d[\d.,]*\s*[^\W\d]*")
"""Matches a figure with its unit."""

_NOT_VALUE: Final = re.compile(r"\b(?:not|instead of|rather than) \D{0,3}\d")
CORRECTING: Final = (
    "correction",
    "corrections",
    "correct",
    "erratum",
    "errata",
    "wrong",
    "incorrect",
    "mistaken",
    "read",
    "not",
)
"""Words of which every correction of a figure has one."""

_OF_CORRECTIONS: Final = word_set(
    "correction corrections correct corrected erratum errata corrigendum wrong incorrect mistaken right should read "
    "last minutes figure amount number value note previous earlier meeting list said says instead"
)
_NOT: Final = re.compile(
    rf"(?:\b(?:not|never|cannot|nothing|if|unless|should)|n't)\b(?: \w+){{0,3}} (?:{_VERBS}|cancell?ed)\b"
)
_OLD: Final = re.compile(r"\bfrom\b.{1,40}\bto\b|\binstead of\b|\brather than\b|\bno longer\b|\bnot on\b")
_ACCEPTED: Final = re.compile(
    r"\b(?:sure|works|sounds good|sounds great|perfect|no problem|fine|ok|okay|yes|agreed|confirmed|absolutely|"
    r"of course|that's good|will do|done)\b"
)
_REFUSED: Final = re.compile(
    r"\b(?:sorry|unfortunately|can't|cannot|won't work|doesn't work|not possible|no,|rather not"
    r"|not sure|let me (?:check|ask)|but\b|maybe\b|first\b|not for\b|much better)"
)
_ASKS_WHEN: Final = re.compile(
    r"^(?:when|(?:at |on |from |until |since )?(?:what|which) (?:time|day|date)|(?:until|from|since) when|how late)\b"
    r"|\bwhat (?:is|was|'s) the (?:new )?(?:date|time|day|deadline)\b"
)
_ASKS_WHETHER_ON: Final = re.compile(
    r"^(?:is|was|are|were|does|did|has|will)\b.*\b(?:still on|cancell?ed|take place|taking place|postponed|moved)\b"
)
_ASKS_WHERE: Final = re.compile(r"^(?:where|(?:in |at )?(?:which|what) (?:place|room|venue|address))\b")
_ASKS_VALUE: Final = re.compile(
    r"^(?:how (?:much|many|often)|what (?:do|does|did|will) .+ cost\b"
    r"|what(?: is|'s| was| are) (?:the|my|our|your|his|her|\w+'s))\b"
)
_OF_THE_ASPECT: Final = HOW_ASKED | word_set(
    "still take place taking cancelled canceled postponed moved start starts begin begins on time today now week "
    "new hour room venue address still"
)


@dataclass(frozen=True, slots=True)
class Change:
    """A sentence that changes an earlier statement. `is_proposal`: the change counts only once it is accepted.

    `has_old`: the sentence names the old value, too. `replaces` is the property that gets a new value, such as "dose",
    or "". `is_counter`: it only proposes another time ("Can we do Saturday at 11?"), so that an earlier one must be
    known.
    """

    kind: Literal["moved", "cancelled", "replaced", "corrected"]
    is_proposal: bool
    has_old: bool
    has_time: bool
    replaces: str = ""
    is_counter: bool = False

    def answers(self, aspect: Aspect, subject: list[str]) -> bool:
        """Return whether the sentence answers a question about this property of a subject, a list of words."""
        if self.kind == "cancelled":
            return aspect == "time"
        if self.kind == "corrected":
            return aspect == "other" or (aspect == "time" and self.has_time)
        if self.replaces and self.replaces not in _NEW_TIME | _NEW_PLACE:
            return self.replaces in subject
        if aspect == "time":
            return self.has_time
        return aspect == "place" and (self.kind == "moved" or self.replaces in _NEW_PLACE) and not self.has_time


def change(sentence: str) -> Change | None:
    """Return the change that a sentence states; None if it states none, or denies a change."""
    text = plain(sentence).replace("’", "'")
    if _NOT.search(text):
        return None
    is_proposal, has_old, has_time = "?" in text, bool(_OLD.search(text)), bool(_WHEN.search(text))
    new = _NEW.search(text)
    is_corrected = _CORRECTED.search(text) and _VALUE.search(text) and not is_proposal
    readings: tuple[tuple[object, Change], ...] = (
        (_CANCELLED.search(text), Change("cancelled", False, has_old, has_time)),
        (new, Change("replaced", is_proposal, has_old, has_time, new["what"] if new else "")),
        (_MOVED.search(text) or (_INSTEAD.search(text) and has_time), Change("moved", is_proposal, has_old, has_time)),
        (is_corrected, Change("corrected", False, has_old or bool(_NOT_VALUE.search(text)), has_time)),
        (
            is_proposal and has_time and _COUNTER.search(text),
            Change("moved", is_proposal, has_old, has_time, is_counter=True),
        ),
    )
    stated = next((changed for is_so, changed in readings if is_so), None)
    return None if stated and stated.kind == "cancelled" and is_proposal else stated


def says_wrong(sentence: str) -> bool:
    """Return whether a sentence says that something written before is wrong."""
    return bool(_CORRECTED.search(plain(sentence)))


def corrected_words(sentence: str) -> list[str]:
    """Return the words that name what a correction corrects, such as "cost", without its figures."""
    words = terms(_AMOUNT.sub(" ", dates.without(sentence)))
    return [word for word in words if not _VALUE.search(word) and word not in HOW_ASKED | _OF_CORRECTIONS]


def is_accepted(reply: str) -> bool:
    """Return whether a reply accepts the proposal in the sentence before it."""
    text = plain(reply).replace("’", "'")
    return bool(_ACCEPTED.search(text)) and not _REFUSED.search(text)


def names_another(proposal: str, known: str) -> bool:
    """Return whether a proposal names more than days, times, filler and the words of `known`, prepared by `plain`."""
    text = dates.without(_WHEN.sub(" ", plain(proposal).replace("’", "'")))
    own = [word for word in terms(text) if word not in _OF_A_COUNTER | STOP_WORDS and not word[0].isdigit()]
    return not all(stands_in(word, [known]) for word in own)


def says_when(sentence: str) -> bool:
    """Return whether a sentence has a day or a time."""
    return bool(_WHEN.search(plain(sentence)))


def aspect(question: str) -> Aspect | None:
    """Return the changeable property that a question asks for; None for any other question."""
    text = plain(question).replace("’", "'").strip()
    if _ASKS_WHEN.search(text) or _ASKS_WHETHER_ON.search(text):
        return "time"
    if _ASKS_WHERE.search(text):
        return "place"
    return "other" if _ASKS_VALUE.search(text) else None


def subject(question: str) -> list[str]:
    """Return the words that name a question's subject, without days and words of the property that it asks for."""
    return [word for word in terms(dates.without(question)) if word not in _OF_THE_ASPECT and not word.isdigit()]
