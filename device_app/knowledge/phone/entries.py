"""Parses the output of a phone's commands: messages and calls as entries of a log, and contacts. Trusts no field."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final

from device_app.english import naming

MOST_CHARACTERS: Final = 20_000
"""The most characters of a message that are read."""

_MOST_NAME = 120
_YOU = "You"
"""The sender that a phone gives for messages sent from it."""

_UNKNOWN = {"unknown_caller", "unknown", "null", "-1", "-2", "private number"}
_YEARS = range(1990, 2200)

_CALLS = {
    "INCOMING": "{name} called me",
    "OUTGOING": "I called {name}",
    "MISSED": "I missed a call from {name}",
    "REJECTED": "I declined a call from {name}",
    "BLOCKED": "A call from {name} was blocked",
    "VOICEMAIL": "{name} left a voicemail",
}


@dataclass(frozen=True, slots=True)
class Entry:
    """A message or a call, with the other person. `at` is local time, as phones give it; `name` is "" if unknown.

    `identity` tells entries apart; `thread` is the same for all entries of a conversation or of a number. The `text` of
    a call has the placeholder `{name}` for the other person's name. `moved_to` is the day under which the entry is
    stored, if that need not be the day of `at`.
    """

    identity: str
    thread: str
    number: str
    name: str
    at: datetime
    is_mine: bool
    text: str
    moved_to: date | None = None

    @property
    def day(self) -> date:
        """The local day."""
        return self.moved_to or self.at.date()


@dataclass(frozen=True, slots=True)
class Contact:
    """A name in the phone's contacts, with one number."""

    name: str
    number: str


def messages(listed: Sequence[object]) -> Iterator[Entry]:
    """Yield the received and sent messages; drafts and invalid items are left out."""
    for item in listed:
        if not isinstance(item, dict) or item.get("type") not in ("inbox", "sent"):
            continue
        at, text = _moment(item.get("received")), item.get("body")
        number = _short(item, "number") or _short(item, "address")
        if at is None or not isinstance(text, str) or not text.strip():
            continue
        is_mine, sender = item["type"] == "sent", _short(item, "sender")
        name = "" if is_mine or sender == _YOU else _name(sender, number)
        thread = _short(item, "threadid") or naming.number_key(number) or number
        identity = _short(item, "_id") or f"{at} {number} {text[:40]}"
        yield Entry(identity, thread, number, name, at, is_mine, text[:MOST_CHARACTERS])


def calls(listed: Sequence[object]) -> Iterator[Entry]:
    """Yield the calls; invalid items are left out."""
    for item in listed:
        if not isinstance(item, dict):
            continue
        at, kind = _moment(item.get("date")), str(item.get("type", "")).upper()
        if at is None or kind not in _CALLS:
            continue
        number, name = _short(item, "phone_number"), _short(item, "name")
        name = "" if name.casefold() in _UNKNOWN else _name(name, number)
        lasted = _lasted(item.get("duration")) if kind in ("INCOMING", "OUTGOING") else ""
        text = ", ".join(filter(None, (_CALLS[kind], lasted)))
        thread = naming.number_key(number) or number or "unknown"
        yield Entry(f"{at} {number} {kind}", thread, number, name, at, kind == "OUTGOING", f"{at:%H:%M} {text}.")


def contacts(listed: Sequence[object]) -> Iterator[Contact]:
    """Yield the contacts that have a name and a number."""
    for item in listed:
        if isinstance(item, dict) and (name := _short(item, "name")) and (number := _short(item, "number")):
            yield Contact(name, number)


def _name(said: str, number: str) -> str:
    """Return the name in an entry; "" if it is only the number, as phones write for people not in the contacts."""
    key = naming.number_key(said)
    is_number = said.casefold() == number.casefold() or (key and key == naming.number_key(number))
    return "" if is_number else said


def _short(item: Mapping[Any, Any], key: str) -> str:
    """Return a text or number of an entry on one line; "" if there is none."""
    value = item.get(key)
    if isinstance(value, bool) or not isinstance(value, str | int):
        return ""
    return " ".join(str(value)[:_MOST_NAME].replace("<", " ").replace(">", " ").split())


def _moment(value: object) -> datetime | None:
    try:
        at = datetime.fromisoformat(value.strip()) if isinstance(value, str) and len(value) < 40 else None
    except ValueError:
        return None
    return at.replace(tzinfo=None) if at and at.year in _YEARS else None


def _lasted(value: object) -> str:
    """Return the duration of a call in words; "" if it is unknown or zero."""
    parts = str(value).split(":")[-3:]
    if not all(part.isdecimal() and len(part) < 6 for part in parts):
        return ""
    seconds = 0
    for part in parts:
        seconds = seconds * 60 + int(part)
    units = ((seconds // 3600, "h"), (seconds // 60 % 60, "min"), (seconds % 60, "s"))
    return " ".join(f"{count} {unit}" for count, unit in units if count)
