"""Reads the phone's notifications when the person asks what they missed. They are not stored."""

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
_ASKING = STOP_WORDS | HOW_ASKED | {"miss", "missed", "notification", "notifications", "anything", "while", "away"}
"""Words of the question "What did I miss?", which are not searched for in notifications."""

_LONGEST = 2_000


@dataclass(frozen=True, slots=True)
class Notification:
    """A notification: its app's package, its local time, its title and its text."""

    app: str
    when: str
    title: str
    text: str


def missed(question: str = "") -> tuple[list[Notification], int]:
    """Return the notifications with a word of the question, newest first; all if only words of `_ASKING` are in it.

    The second value is the number left out because they hold one-time codes. Raises PhoneSilent.
    """
    from device_app.system import phone, termux

    if termux.find(_COMMAND) is None and not phone.is_phone():
        raise PhoneSilent(f"Notifications can be read only in Termux, on an Android phone, with {_COMMAND}.")
    listed, reply = termux.call_json(_COMMAND, seconds=10.0)
    if not isinstance(listed, list):
        raise PhoneSilent(f"The notifications cannot be read: {reply.problem or 'the phone prints no list'}.")
    return chosen(listed, question)


def chosen(listed: Sequence[object], question: str) -> tuple[list[Notification], int]:
    """Return the listed notifications that the question is about, and the number left out for one-time codes."""
    everything = [_notification(item) for item in listed[:MOST] if isinstance(item, dict)]
    worded = [each for each in everything if each.title or each.text]
    kept = [each for each in worded if not holds_one_time_code(f"{each.title} {each.text}".strip(), from_contact=False)]
    words = [word for word in terms(question) if word not in _ASKING]
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
