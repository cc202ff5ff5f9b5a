"""Parses questions for who said something, when, and in which words: "When did Berit say 175 degrees?".

A question is read around its verb of speech: the speaker stands before the verb, the listener and what was said after
it. The words that ask may stand anywhere: "I remember someone joking about a whale, who was it?"
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from device_app.english.slots import Slot, Vocabulary, normal
from device_app.english.stop_words import word_set
from device_app.english.words import content_words

_MOST_CHARACTERS: Final = 200
_MOST_NAME: Final = 4
"""The most words of a speaker's name."""

KIN: Final = word_set("mum mom mother dad father grandma grandpa gran sister brother aunt uncle")
"""Words for relatives, whom chats list under their own names."""

Asks = Literal["who", "when", "what", "whether"]


@dataclass(frozen=True, slots=True)
class Hearsay:
    """A question for who said `what`, when, in which words, or whether anything was said about it.

    `speaker` said it to `to`; "me" is the person, "" means that nobody is named. `among` are the possible speakers, as
    in "Adam or Jake"; `order` is "first" or "last" if the question asks for the first or the last time. With
    `is_inquiry`, it was asked, not stated.
    """

    asks: Asks
    what: str
    speaker: str = ""
    to: str = ""
    among: tuple[str, ...] = ()
    order: str = ""
    deed: str = ""
    is_inquiry: bool = False


def readings(question: str) -> Iterator[Hearsay]:
    """Yield how a question for something said, or done, can be read, the likeliest way first."""
    if _COMPARES.search(question.lower()):
        return
    if said := read(question):
        yield said
    else:
        yield from _deeds(question)


def read(question: str) -> Hearsay | None:
    """Return what a question asks about something said; None if it asks for anything else."""
    text = normal(question.replace(",", " "))
    if not text or len(text) > _MOST_CHARACTERS or _ASKS_OTHER.match(text):
        return None
    slots = [slot for slot in _WORDS.read(text) if slot.kind != "filler" or slot.text in ("the", "a", "an")]
    asks, rest = _asks(slots)
    if asks is None:
        return None
    place = next((place for place, slot in enumerate(rest) if slot.kind == "say"), None)
    if place is None:
        return _beside(asks, rest)
    before, behind = rest[:place], rest[place + 1 :]
    if rest[place].text in _OF_DEEDS and len(content_words(_what(behind))) < _FEW_OF_DEEDS:
        return None
    order = next((slot.text.split()[-1] for slot in rest if slot.kind == "first" and "st" in slot.text), "")
    order = "first" if re.search(r"\bfirst", order + " ".join(s.text for s in rest if s.kind == "first")) else order
    hearsay = _of_parts(asks, before, rest[place], behind)
    order = "first" if asks == "who" and rest[place].text in _BRINGS_UP else order
    return hearsay and Hearsay(
        hearsay.asks,
        hearsay.what,
        hearsay.speaker,
        hearsay.to,
        hearsay.among,
        order if order in ("first", "last") else "",
        is_inquiry=rest[place].text in _INQUIRES and not {slot.text for slot in behind[:2]} & {"to", "for"},
    )


def _deeds(question: str) -> Iterator[Hearsay]:
    """Yield who did something, or when: "who lent us the drill", "when did Tomaso pass the exam".

    A name may be of several words, so that the verb behind it may be any of the next ones.
    """
    match = _DEED.fullmatch(normal(question.replace(",", " ")))
    if match is None or len(match[0]) > _MOST_CHARACTERS or any(slot.kind == "say" for slot in _WORDS.read(match[0])):
        return
    words = match["deed"].split()
    if match["who"]:
        yield Hearsay("who", match["deed"], deed=words[0])
        return
    for count in range(1, min(_MOST_NAME, len(words) - 1) + 1):
        name, what = " ".join(words[:count]), words[count:]
        if name in ("i", "we"):
            yield Hearsay("when", " ".join(what), "me" if name == "i" else "", deed=what[0])
            return
        yield Hearsay("when", " ".join(what), name, deed=what[0])


def _asks(slots: Sequence[Slot]) -> tuple[Asks | None, list[Slot]]:
    """Return what the question asks for, such as "when", and its other words.

    The words are grouped in slots, see `slots`. Return None and all slots if the question asks for nothing.
    """
    kinds = [slot.kind for slot in slots]
    rest = [slot for slot in slots if slot.kind not in ("and when", "asked last")]
    first, last = (rest[0].kind, rest[-1].kind) if rest else ("", "")
    is_clause = first == "when" and "who" in kinds  # "When help was sought, who …"
    if (kind := {"who": "who", "when": "when", "what": "what"}.get(first)) and not is_clause:
        return kind, rest[1:]  # type: ignore[return-value]
    if "asked last" in kinds:
        return "who", rest
    if _is_whether(rest):
        return "whether", rest[1:]
    if first == "aux" and {"who", "or"} & {*kinds}:  # "was it Adam or Jake who said"
        return "who", [slot for slot in rest if slot.kind != "who"]
    if last in ("when", "who"):
        return ("when" if last == "when" else "who"), rest[:-1]
    return ("when" if "and when" in kinds else None), rest


def _is_whether(slots: Sequence[Slot]) -> bool:
    """Return whether a question asks if a subject was spoken of, not if a statement is true."""
    verb = next((place for place, slot in enumerate(slots) if slot.kind == "say"), 0)
    behind = slots[verb + 1 :]
    of_subject = (slot.text in _OF_SUBJECT or slot.text.startswith("mention") for slot in slots[verb : verb + 3])
    is_statement = any(slot.kind in ("aux", "i", "when") or slot.text in ("that", "if") for slot in behind)
    return verb > 0 and slots[0].text in ("did", "has", "have") and any(of_subject) and not is_statement


def _of_parts(asks: Asks, before: Sequence[Slot], verb: Slot, behind: Sequence[Slot]) -> Hearsay | None:
    """Return the question that is made of the words before and after a verb of speech; None if it makes none."""
    names = [slot.text for slot in before if slot.kind == ""]
    by_me = any(slot.kind == "i" for slot in before)
    if asks == "when" and names and _is_passive(before, verb):  # "when was the roof mentioned"
        return Hearsay(asks, _joined([slot for slot in before if slot.kind in ("", "link")]))
    if by_me and not names and asks != "who":
        return _by_me(asks, verb, behind)
    what = _what(behind)
    if not what or any(len(name.split()) > _MOST_NAME for name in names):
        return None
    if any(slot.kind == "or" for slot in before):
        return Hearsay("who", what, among=tuple(names)) if len(names) > 1 and asks == "who" else None
    if asks == "who" or (asks == "whether" and not names):
        to_me = "me" if verb.text in _TO_SOMEBODY and any(slot.kind == "me" for slot in behind[:1]) else ""
        return None if names else Hearsay(asks, what, to=to_me)
    return None if len(names) != 1 or _NOT_A_NAME.search(names[0]) else _by_other(asks, names[0], behind)


def _by_other(asks: Asks, name: str, behind: Sequence[Slot]) -> Hearsay | None:
    """Return a question for what somebody said."""
    asking = next((at for at, slot in enumerate(behind) if slot.kind == "say"), None)
    if asks == "what" and asking is not None and any(slot.kind == "i" for slot in behind[:asking]):
        behind = behind[asking + 1 :]  # "what did Adam reply when I asked about the curtain"
    return Hearsay(asks, _what(behind), name.removeprefix("the ")) if _what(behind) else None


def _by_me(asks: Asks, verb: Slot, behind: Sequence[Slot]) -> Hearsay | None:
    """Return a question for what the person said: "when did I tell Adam that I broke the light"."""
    speaker = "" if verb.text in _OF_BOTH else "me"
    places = [place for place, slot in enumerate(behind) if not slot.kind]
    if not places:
        return None
    place = places[0]
    is_told = place + 1 < len(behind) and behind[place + 1].kind == "link" and not behind[:place]
    if is_told or (behind[:place] and behind[place - 1].text in ("to", "with") and len(places) > 1):
        name = behind[place].text
        return Hearsay(asks, _what(behind[place + 1 :]), speaker, name) if len(name.split()) <= _MOST_NAME else None
    if behind[-1].kind == "" and len(behind) > 1 and behind[-2].text in ("to", "with") and len(places) > 1:
        return Hearsay(asks, _what(behind[:-2]), speaker, behind[-1].text)
    return Hearsay(asks, _what(behind), speaker)


def _beside(asks: Asks, slots: Sequence[Slot]) -> Hearsay | None:
    """Return a question that only names a speaker and a topic: "Wolfgang + thai food, when was that?"."""
    slots = [slot for slot in slots if slot.kind != "filler"]
    text = " ".join(slot.text for slot in slots)
    speaker, _, what = text.partition(" ")
    is_beside = asks == "when" and {slot.kind for slot in slots} <= {"", "or", "link", "first"} and what
    return Hearsay(asks, what.removeprefix("and "), speaker) if is_beside and len(text.split()) <= _FEW_WORDS else None


def _is_passive(before: Sequence[Slot], verb: Slot) -> bool:
    return any(slot.text in ("was", "were", "is") for slot in before) and verb.text.endswith(("ed", "up", "said", "of"))


def _what(slots: Sequence[Slot]) -> str:
    """Return what was said, without the words for the listener and the chat."""
    begin, end = 0, len(slots)
    while begin < end and slots[begin].kind in ("me", "link", "first", "where", "aux", "when", "i"):
        begin += 1
    while end > begin and slots[end - 1].kind in ("where", "first", "link", "me"):
        end -= 1
    return _joined([slot for slot in slots[begin:end] if slot.kind != "where"])


def _joined(slots: Sequence[Slot]) -> str:
    return " ".join(slot.text for slot in slots).strip()


_WORDS: Final = Vocabulary.load("hearsay")
_AUXILIARY: Final = "is|are|am|was|were|be|do|does|did|has|have|had|will|would|can|could|should|shall|may|might"
_DEED: Final = re.compile(
    rf"(?:(?P<who>who) (?!(?:{_AUXILIARY})\b)|(?:when|(?:on )?(?:what|which) (?:day|date)) did )"
    r"(?P<deed>(?!(?:it|this|that|they|he|she|you) )\w\S*(?: \S+){2,12})"
)
_ASKS_OTHER: Final = re.compile(
    r"whom? (?:did|do|have|had) (?:i|we)\b|whom? (?:was|were|got) (?:told|asked|informed|warned|reminded|invited)\b"
    r"|when (?:should|could|might|must|shall|can|may)\b"
)
"""Matches questions for a listener, or for what is still to be done: "who did I tell", "when should Petra bring …"."""

_FEW_WORDS: Final = 5
_TO_SOMEBODY: Final = word_set(
    """told tells tell wrote texted messaged informed warned reminded invited invites asked asks recommended recommends
    suggested suggests advised"""
) | {"let me know"}
"""Verbs that take a listener: "who told me" asks for the first speaker, although others may have said it later."""

_OF_DEEDS: Final = word_set("send sent share shared call called decide decided plan planned want wanted")
"""Verbs of actions as well as of speech. A single word after one cannot identify a message: "who sent the tiles?"."""

_OF_SUBJECT: Final = frozenset(["about", "anything", "something", "anything about", "something about"])
_FEW_OF_DEEDS: Final = 2
_INQUIRES: Final = word_set(
    """ask asks asked asking wonder wonders wondered wondering enquire enquires enquired enquiring inquire inquires
    inquired inquiring"""
) | {"ask about", "asked about"}
"""Verbs of questions; "asked for" and "asked Anna to" tell of a request, which need not be a question."""

_COMPARES: Final = re.compile(
    r"\b(?:most|least|more|less)(?: often| frequently)?(?:\W*$| (?:about|of|on|in the (?:group )?chat)\b)"
    r"|\b(?:more|less) (?:often )?than\b"
)
"""Matches a comparison of how often something was said: "who mentioned the boat most", which no message tells."""

_BRINGS_UP: Final = frozenset(["brought up", "bring up", "brings up", "came up with", "raised", "come up with"])
_OF_BOTH: Final = word_set(
    """talk talked talking speak spoke spoken chat chatted chatting discuss discussed discussing hear heard learn
    learned write argue joke"""
)
"""Verbs of talk between people: in "when did we discuss …", either side may be the speaker."""

_NOT_A_NAME: Final = re.compile(r"\b(?:it|they|he|she|you|this|there|people|anyone|my|your|event|meeting)\b")
