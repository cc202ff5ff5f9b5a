"""The phone's notifications, read when somebody asks what they missed, and not kept."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from device_app.english.codes import holds_one_time_code
from device_app.english.stop_words import HOW_ASKED, STOP_WORDS
from device_app.english.terms import plain, stands_in, terms
from shared.errors import PhoneSilent
from shared.printable import printable

MOST: Final = 200
_COMMAND = "termux-notification-list"
_ASKS = STOP_WORDS | HOW_ASKED | {"miss", "missed", "notification", "notifications", "anything", "while", "away"}
"""Words of "What did I miss?", which no notification needs to have."""

_LONGEST = 2_000


@dataclass(frozen=True, slots=True)
class Notification:
    """A notification: the name of its app's package, when it came (local time), and its words."""

    app: str
    when: str
    title: str
    text: str


def missed(question: str = "") -> tuple[list[Notification], int]:
    """Return the notifications with a word of the question, or all if it names nothing, the newest first.

    The second value is how many were left out as they hold one-time codes. Raises PhoneSilent.
    """
    from device_app.system import phone

    if phone.find(_COMMAND) is None and not phone.is_phone():
        raise PhoneSilent(f"This reads the notifications of an Android phone, in Termux. Here is no {_COMMAND}.")
    listed, reply = phone.call_json(_COMMAND, seconds=10.0)
    if not isinstance(listed, list):
        raise PhoneSilent(f"The notifications cannot be read: {reply.problem or 'the phone prints no list'}.")
    return chosen(listed, question)


def chosen(listed: Sequence[object], question: str) -> tuple[list[Notification], int]:
    """Return those of the listed notifications that a question is about, and how many codes were left out."""
    everything = [_notification(item) for item in listed[:MOST] if isinstance(item, dict)]
    worded = [each for each in everything if each.title or each.text]
    kept = [each for each in worded if not holds_one_time_code(f"{each.title} {each.text}".strip(), from_contact=False)]
    words = [word for word in terms(question) if word not in _ASKS]
    matching = [each for each in kept if not words or any(stands_in(word, [_searched(each)]) for word in words)]
    return sorted(matching, key=lambda each: each.when, reverse=True), len(worded) - len(kept)


def _notification(item: Mapping[Any, Any]) -> Notification:
    lines = item.get("lines")
    text = "\n".join(map(str, lines)) if isinstance(lines, list) and lines else _text(item, "content")
    app, when, title = (_text(item, key) for key in ("packageName", "when", "title"))
    return Notification(app, when, title, printable(text[:_LONGEST]))


def _text(item: Mapping[Any, Any], key: str) -> str:
    value = item.get(key)
    return printable(value[:_LONGEST]).strip() if isinstance(value, str) else ""


def _searched(notification: Notification) -> str:
    return plain(f"{notification.app} {notification.title} {notification.text}")
