"""Parses questions for mails, notes, chats and files by their metadata: person, date, kind, title.

"mails from Rick Moen in October", "how many notes about the roof", "the last mail from Livia". It reads slots: which
kind, from whom, to whom, about what, when, and whether to list, count, or find the latest. The words may stand in any
order, but the words beside a name or topic decide what that is. A question with any unknown word is not parsed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from itertools import pairwise
from typing import Final

from device_app.english import periods, titles
from device_app.english.listing_phrases import NEWS, NO_LIST, NTH
from device_app.english.periods import Period
from device_app.english.politeness import bare
from device_app.english.slots import Slot, Vocabulary, normal

_MOST_CHARACTERS: Final = 240
_MOST_WORDS: Final = 6
"""The most words of a name or topic."""

_OTHER: Final = re.compile(
    r"(?:(?:and|or|but|what about|how about) )*(?P<role>from|by|to|with) (?P<name>\w[\w.'’-]*(?: \w[\w.'’-]*){0,3})",
    re.IGNORECASE,
)
_NOTHING: Final = Slot("", "")
_PASSED: Final = frozenset(["may", "filler", "last", "first"])
_NOUNS: Final = ("mail", "message", "note", "chat", "file")
_LIMITS: Final = frozenset(["who", "whose", "to", "with", "topic", "adjective"])
_AS_VERB: Final = frozenset(["mail", "email", "e-mail", "message", "post"])
_ASKS_WHETHER: Final = frozenset(["is", "are", "was", "were", "do", "did", "does", "has", "have", "had"])
_SKIPPED: Final = frozenset(
    ["the", "a", "an", "all", "every", "some", "very", "new", "my", "our", "mine", "any", "anything", "something"]
)
"""Words that may stand between a preposition and its name."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A parsed question for mails, notes, chats or files.

    `form` is count, list, bare (a list that has to be limited), most (who sent the most), whether, latest or title.
    `parts` are words of the question: `who` sent it, `to` whom, `topic`, `adjective` before the kind, `order` ("first"
    or "last") and `title`. `by` is how the title was named (`titles.read`); `me` and `mine` are set if the person
    received or sent it, `single` if one document is asked for, and `number` is how many. `kind` is mail, message, note,
    chat or file and `noun` the word for it, or `unsaid` is the kind that is meant.
    """

    form: str
    parts: Mapping[str, str] = field(default_factory=dict)
    period: Period | None = None


def readings(question: str, today: date) -> Iterator[Reading]:
    """Yield how a question can be read, the likeliest way first; nothing if it asks for anything else."""
    text = bare(question)
    if not text or len(text) > _MOST_CHARACTERS or NO_LIST.match(text) or NTH.search(text):
        return
    yield from (Reading("title", parts) for parts in titles.read(" ".join(text.lower().split()), _WORDS))
    period = periods.read(text, today)
    rest = normal(period.rest if period else text)
    if period and NEWS.fullmatch(rest):
        passed = replace(period, last=min(period.last or today, today))  # what is planned is not new
        yield Reading("list", {"kind": "file", "noun": "documents"}, passed)
        return
    read = [_reading(said, period, today) for said in dict.fromkeys((rest, _WORDS.corrected(rest)))]
    if read[0] and "whose" in read[0].parts:  # "mails form Rick" are from Rick
        read.reverse()
    yield from list(filter(None, read))[:1]


def following(question: str, before: str, today: date) -> str | None:
    """Return the question `before` with the person replaced by the one whom this question names: "And from Anna Berg?".

    None if the question before names nobody in that role, or if this question says anything else.
    """
    other = _OTHER.fullmatch(bare(question)) if len(question) <= _MOST_CHARACTERS else None
    if other is None or _is_of_no_name(other["name"].lower(), today):
        return None
    reading = next((each for each in readings(before, today) if each.form != "title"), None)
    roles = {"to": ("to",), "with": ("with",)}.get(other["role"].lower(), ("who", "whose"))
    said = next((reading.parts[role] for role in roles if role in reading.parts), None) if reading else None
    if said is None:
        return None
    text, count = re.subn(rf"\b{re.escape(said)}\b", lambda _: other["name"], before, flags=re.IGNORECASE)
    return text if count == 1 else None


def other_words(text: str) -> list[str]:
    """Return the words of a text that may be the title of a mail: all but those that only ask for a mail."""
    return [word for slot in _WORDS.read(normal(text)) if slot.kind in ("", "state") for word in slot.text.split()]


def speaks_of_mail(text: str) -> bool:
    """Return whether a text has a word for a mail."""
    return any(slot.kind in ("mail", "message") for slot in _WORDS.read(normal(text)))


def _reading(said: str, period: Period | None, today: date) -> Reading | None:
    slots = _with_verbs(_WORDS.read(said))
    kinds = {slot.kind for slot in slots}
    is_when, is_how = "when" in kinds and not kinds & {"last", "first"}, "how" in kinds and "named" not in kinds
    if not slots or kinds & {"other", "state"} or is_when or is_how or _is_about_other(slots):
        return None
    parts = _roles(slots)
    if parts is None or any(_is_of_no_name(parts[name], today) for name in parts.keys() & _LIMITS):
        return None
    nouns = [slot for slot in slots if slot.kind in _NOUNS and slot.text not in _NEWS_OF]
    if not nouns and not (kind := _unsaid_kind(slots, parts)):
        return None
    if (
        nouns
        and nouns[0].text in titles.ADDRESS
        and parts.keys() in ({"who"}, {"whose"})
        and kinds <= _OF_ADDRESS
        and not period
    ):
        return None  # "Hrovat's email" is an address
    parts |= {"kind": nouns[0].kind, "noun": nouns[0].text} if nouns else {"unsaid": kind}
    if parts.get("kind") == "file" and not parts.keys() & {"topic", "who"} and nouns[0].text.startswith(_ANY_FILE):
        return None
    if parts.get("kind") == "note" and "who" in parts and "send" in kinds:  # "the notes that Bruce sent round"
        parts |= {"kind": "mail", "noun": "mails"}
    parts |= _direction(slots)
    if number := re.search(r"\b\d{1,2}\b", said):
        parts["number"] = number[0]
    is_plural = bool(nouns) and nouns[0].text.endswith("s")
    form = _form(slots, kinds, is_plural=is_plural)
    if form == "latest":
        parts["order"] = "first" if "first" in kinds else "last"
    elif form == "list" and not (parts.keys() & _LIMITS or period or "last" in kinds) and slots[0].text not in _SHOWS:
        form = "bare"
    if nouns and not is_plural and nouns[0].text not in _ALWAYS_MANY:
        parts["single"] = "one"
    return Reading(form, parts, period)


def _is_about_other(slots: Sequence[Slot]) -> bool:
    """Return whether a question has an unknown verb ("who ordered") or a number that counts no documents."""
    is_verb = slots[0].text == "who" and len(slots) > 1 and not slots[1].kind
    counted = ("last", "first", "most", *_NOUNS)
    return is_verb or any(
        not slot.kind
        and slot.text.isdigit()
        and not {each.kind for each in slots[max(0, at - 1) : at + 3]} & {*counted}
        for at, slot in enumerate(slots)
    )


def _with_verbs(slots: Sequence[Slot]) -> tuple[Slot, ...]:
    """Return the slots, with "mail" as a verb where it is one: "how often did Tom mail me"."""
    made: list[Slot] = []
    for place, slot in enumerate(slots):
        before = [each.kind for each in slots[max(0, place - 2) : place]]
        behind = slots[place + 1].kind if place + 1 < len(slots) else ""
        is_asked = before in (["may", ""], ["may", "i"]) and slots[place - 2].text not in ("is", "are", "was", "were")
        is_verb = slot.text in _AS_VERB and (is_asked or (behind == "me" and "" in before))
        made.append(Slot("send", slot.text) if is_verb else slot)
    return tuple(made)


def _form(slots: Sequence[Slot], kinds: set[str], *, is_plural: bool) -> str:
    if "most" in kinds and "who" in kinds:
        return "most"
    if "many" in kinds:
        return "count"
    if kinds & {"last", "first"} and not is_plural:
        return "latest"
    return "whether" if slots[0].text in _ASKS_WHETHER else "list"


def _direction(slots: Sequence[Slot]) -> dict[str, str]:
    """Return whether the person received or sent the mails, if the question says so."""
    kinds = [slot.kind for slot in slots if slot.kind not in _PASSED]
    sends = any(pair in (("i", "send"), ("i", "write"), ("my", "send")) for pair in pairwise(kinds))
    return {"mine": "i"} if sends else {"me": "i"} if {"i", "me", "get"} & {*kinds} else {}


def _unsaid_kind(slots: Sequence[Slot], parts: Mapping[str, str]) -> str:
    """Return the kind of documents meant by a question that names no kind; "" if it may mean any."""
    kinds = {slot.kind for slot in slots}
    has_people, is_single = bool(parts.keys() & {"who", "whose", "to"}), bool(kinds & {"last", "first"})
    is_of_mail = has_people and ("topic" not in parts or is_single or "many" in kinds)
    is_noted = "jot" in kinds or kinds >= {"write", "i"}
    writes, texts = bool(kinds & {"send", "write"}) and "i" not in kinds, {slot.text for slot in slots}
    readings = (
        (bool(texts & _NEWS_OF) and bool(parts), "message"),
        (writes and has_people and is_single and "many" not in kinds and not texts & _BY_MAIL, "message"),
        (writes and has_people and "topic" in parts and bool(texts & _ALL), "message"),
        (writes and parts.keys() == {"topic"} and bool(texts & _ANYBODY), "message"),
        ("talk" in kinds, "chat" if parts.keys() == {"with"} and (is_single or "many" in kinds) else ""),
        ("named" in kinds and has_people, "mail"),
        ("named" in kinds and bool(parts) and "write" in kinds, "note"),
        ("named" in kinds and bool(parts) and "jot" in kinds, "file"),
        (
            is_of_mail and bool(kinds & {"send", "write", "get", "from"} or ("many" in kinds and "i" not in kinds)),
            "mail",
        ),
        (not parts and kinds >= {"who"} and bool(kinds & {"send", "write", "get"} and kinds & {"most", "me"}), "mail"),
        (not parts and kinds >= {"who"} and bool(kinds & {"send", "write", "get"}) and is_single, "mail"),
        (not parts and kinds >= {"get", "i"} and not is_noted, "mail"),
        (bool(kinds & {"send", "write"}) and "me" in kinds and not has_people and "who" not in kinds, "mail"),
        (is_noted and is_single and not parts.keys() & {"who", "to", "with"}, "note"),
        (not parts and kinds >= {"i"} and bool(texts & _WRITTEN_DOWN), "note"),
    )
    return next((kind for is_so, kind in readings if is_so), "")


def _roles(slots: Sequence[Slot]) -> dict[str, str] | None:
    """Return the role of each name or topic, as sender, recipient or topic; None if one of them is ambiguous."""
    parts: dict[str, str] = {}
    latest, end, is_about = "", 0, False
    for place, slot in enumerate(slots):
        if not slot.kind and not slot.text.isdigit():
            is_joined = is_about and latest == "topic" and all(each.text in _JOINS for each in slots[end:place])
            role = "topic" if is_joined else _role(slots, place)
            if not role or (role in parts and not is_joined):
                return None
            parts[role] = f"{parts[role]} {slot.text}" if is_joined else slot.text
            if len(parts[role].split()) > _MOST_WORDS:
                return None
            is_about |= any(each.kind == "about" for each in slots[end:place])
            latest, end = role, place + 1
    return parts


def _role(slots: Sequence[Slot], place: int) -> str:
    """Return the role of the name or topic at that place by the words beside it; "" if they do not say."""
    befores = [slot for slot in slots[:place] if slot.text not in _SKIPPED]
    behind = slots[place + 1 :]
    if behind and behind[0].text == "in" and any(each.kind == "named" for each in behind[1:3]):
        return "topic"  # "which mail has roof in the subject"
    before, earlier = (*reversed(befores), _NOTHING, _NOTHING)[:2]
    after = next((slot.kind for slot in slots[place + 1 :] if slot.kind not in _PASSED), "")
    kinds = {slot.kind for slot in slots}
    nouns = kinds & {*_NOUNS}
    is_of_note = nouns in ({"note"}, {"file"}) or (not nouns and "jot" in kinds)
    is_of_talk = "talk" in kinds or (before.kind, earlier.kind) == ("me", "with")
    by_i = any(slot.kind == "i" for slot in befores)
    readings = (
        (is_of_talk, "topic" if before.kind in ("about", "in") else "with"),
        (before.kind in ("from", "of", "to", "with") and is_of_note, "topic"),
        (before.kind in ("from", "of"), "who"),
        (before.kind in ("to", "with"), before.kind),
        (before.kind == "about" and _is_list(slots[place + 1 :]), "to"),
        (before.kind in ("about", "named") or before.text == "in", "topic"),
        (before.kind in ("send", "write") and by_i, "topic" if is_of_note else "to"),
        (after in ("send", "write") or (before.kind in ("may", "how") and after in ("get", "named")), "who"),
        (after in ("mail", "message"), "whose"),
        (after in ("note", "file"), "adjective"),
        (bool(nouns) and slots[place].text.endswith("'s"), "whose"),
        ("named" in kinds and bool(nouns or kinds & {"jot", "i"} or before.kind == "filler"), "topic"),
        ("named" in kinds or before.kind in ("mail", "message"), "whose"),
        (before.kind == "note", "topic"),
    )
    return next((role for is_so, role in readings if is_so), "")


def _is_list(behind: Sequence[Slot]) -> bool:
    """Return whether the next word says that a name is that of a mailing list: "on the webdev list"."""
    return bool(behind) and behind[0].text in ("list", "mailing list")


def _is_of_no_name(name: str, today: date) -> bool:
    return name.startswith(("my ", "your ")) or _WORDS.read(name)[0].kind != "" or periods.read(name, today) is not None


_WORDS: Final = Vocabulary.load("documents")
_NEWS_OF: Final = frozenset(["news", "any word"])
_WRITTEN_DOWN: Final = frozenset(
    ["write down", "wrote down", "written down", "note down", "noted down", "jot down", "jotted down"]
)
_BY_MAIL: Final = frozenset(["mailed", "emailed", "e-mailed", "mail", "email", "forward", "forwarded"])
_OF_ADDRESS: Final = frozenset(["", "mail", "of", "may", "filler"])
_JOINS: Final = frozenset(["in", "at", "for", "of", "the", "a", "an", "my", "our"])
"""Words inside a topic: "the hotel in Lyon"."""

_ALL: Final = frozenset(["everything", "anything", "all", "whatever", "stuff", "show", "list", "find"])
_ANYBODY: Final = frozenset(["anyone", "anybody", "someone", "somebody"])
_ALWAYS_MANY: Final = frozenset(["mail", "post", "inbox", "mailbox", "correspondence", "my mail"])
_ANY_FILE: Final = ("file", "document", "paper")
_SHOWS: Final = frozenset(["show", "list", "give", "display", "all", "print", "find", "search", "see", "every", "get"])
