"""Recognises chat messages in records, and groups messages into one document per day. Reads no file."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

from device_app.knowledge.readers.dates import parse_date
from shared.types import Block, Document

_SENDER = ("sender", "from", "author", "user", "speaker", "username", "sender_name", "from_name", "name", "role")
_TEXT = ("text", "content", "message", "body", "parts")
_DATE = ("date", "timestamp", "time", "ts", "datetime", "created_at", "sent_at", "timestamp_ms", "create_time")
_NAME = ("name", "display_name", "username", "role")
_DELETED_ACCOUNT = "Deleted account"
"""The sender that Telegram shows for a deleted account, which has no name in exports."""
_MOST_MESSAGES = 2000
"""The most messages of one document: a chat without times may be larger than memory."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a chat: its sender, text and time (None if it has none), and its line number in the file."""

    sender: str
    text: str
    date: datetime | None
    line: int | None = None


@dataclass(slots=True)
class Chats:
    """Groups messages into a document per day, returned when the next day begins, so that a log of any size streams."""

    _open: dict[str, list[Message]] = field(default_factory=dict)
    _parts: dict[str, int] = field(default_factory=dict)

    def add(self, chat: str, message: Message) -> Iterator[Document]:
        """Add the chat's next message; a message without a time belongs to the preceding day."""
        messages = self._open.setdefault(chat, [])
        over = message.date is not None and message.date.date() != _day(messages)
        if messages and (over or len(messages) >= _MOST_MESSAGES):
            yield self._document(chat, messages)
            messages.clear()
        messages.append(message)

    def close(self) -> Iterator[Document]:
        """Yield the documents of the days that are still open at the end of the file."""
        for chat, messages in self._open.items():
            yield self._document(chat, messages)

    def _document(self, chat: str, messages: list[Message]) -> Document:
        day = _day(messages)
        key = f"{chat} {day}" if day else chat
        part = self._parts[key] = self._parts.get(key, 0) + 1
        people = dict.fromkeys(message.sender for message in messages)
        blocks = (Block(f"{message.sender}: {' '.join(message.text.split())}", message.line) for message in messages)
        when = next((message.date for message in messages if message.date), None)
        title = f"{chat}, {day}" if day else chat
        return Document(key if part == 1 else f"{key} ({part})", "chat", title, tuple(blocks), when, tuple(people))


def message_of(record: Mapping[str, Any], line: int | None = None) -> Message | None:
    """Return a record as a message: a sender's words without a subject; None for mails, articles and table rows."""
    sender, text = first(record, _SENDER) or (_DELETED_ACCOUNT if "from_id" in record else ""), words_of(record)
    if not sender or not text or "subject" in record or "title" in record:
        return None
    return Message(sender, text, date_of(record), line)


def is_wordless(record: Mapping[str, Any]) -> bool:
    """Return whether the record is a messenger's entry without text: a picture, a call, a new member."""
    telegram = record.get("type") in ("message", "service") and ("from_id" in record or "actor_id" in record)
    signal = record.keys() <= {"chat", "from", "text", "date"} and "from" in record and "text" in record
    return (telegram or signal) and not words_of(record)


def words_of(record: Mapping[str, Any]) -> str:
    """Return the text of a record; "" if it has none."""
    return next((text for key in _TEXT if (text := _flat(record.get(key)).strip())), "")


def date_of(record: Mapping[str, Any]) -> datetime | None:
    """Return the date of a record; None if it has none."""
    return next((day for key in _DATE if (day := parse_date(record.get(key)))), None)


def first(record: Mapping[str, Any], keys: tuple[str, ...]) -> str:
    """Return the first of the named fields of a record that has a value, on one line; if the value is an object, its
    name.
    """
    for key in keys:
        value = record.get(key)
        if isinstance(value, dict):
            value = next((value[name] for name in _NAME if value.get(name)), None)
        if isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip():
            return " ".join(str(value).split())
    return ""


def _day(messages: list[Message]) -> date | None:
    return next((message.date.date() for message in messages if message.date), None)


def _flat(value: Any) -> str:
    """Return a message's text, which some messengers write as a list of strings and objects with text."""
    if isinstance(value, dict):
        return next((text for key in _TEXT if (text := _flat(value.get(key)))), "")
    if isinstance(value, list):
        return "".join(_flat(piece) for piece in value)
    return value if isinstance(value, str) else ""
