"""Recognises Signal's exports in JSON, and turns their messages into records as other messengers write them.

Three forms: Signal Desktop's own (a line per frame: account, recipients, chats, then messages that refer to them), rows
of its database (as sigtop writes them), and what signal-cli receives (envelopes). Reads no file.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

ME = "Me"
"""The sender of the owner's messages if the export does not name the owner."""

Numbered = tuple[Any, int | None]
"""A record and the number of its line in the file."""


def is_backup(record: Any) -> bool:
    """Return whether a file whose first record is this one is Signal's own export."""
    return isinstance(record, dict) and "backupTimeMs" in record and "version" in record


def plain_records(records: Iterable[Numbered]) -> Iterator[Numbered]:
    """Yield the records; Signal's messages as `{"chat", "from", "text", "date"}`, others unchanged.

    Of Signal's own export, only messages with text are yielded.
    """
    backup: _Backup | None = None
    for number, (record, line) in enumerate(records):
        if number == 0 and is_backup(record):
            backup = _Backup()
        if backup is not None:
            if message := backup.message(record):
                yield message, line
        elif isinstance(record, dict):
            yield _row(record) or _envelope(record) or record, line
        else:
            yield record, line


@dataclass(slots=True)
class _Backup:
    """The names of people and chats read so far from the frames of an export."""

    _recipients: dict[str, str] = field(default_factory=dict)
    _chats: dict[str, str] = field(default_factory=dict)
    _me: str = ME

    def message(self, frame: Any) -> dict[str, Any] | None:
        """Return a frame's message; None for a frame without a message, whose names are stored."""
        if account := _within(frame, "account"):
            self._me = _joined(account, "givenName", "familyName") or ME
        if recipient := _within(frame, "recipient"):
            self._recipients[str(recipient.get("id"))] = self._name(recipient)
        if chat := _within(frame, "chat"):
            self._chats[str(chat.get("id"))] = self._recipients.get(str(chat.get("recipientId")), "")
        item = _within(frame, "chatItem")
        text = _within(item, "standardMessage", "text").get("body")
        sender = self._recipients.get(str(item.get("authorId")), "")
        if not text or not sender:
            return None
        return {
            "chat": self._chats.get(str(item.get("chatId"))),
            "from": sender,
            "text": text,
            "date": item.get("dateSent"),
        }

    def _name(self, recipient: Mapping[str, Any]) -> str:
        if "self" in recipient:
            return self._me
        contact = _within(recipient, "contact")
        group = _within(recipient, "group", "snapshot", "title").get("title")
        return (
            _joined(_within(contact, "nickname"), "given", "family")
            or _joined(contact, "systemGivenName", "systemFamilyName")
            or _joined(contact, "profileGivenName", "profileFamilyName")
            or str(contact.get("username") or contact.get("e164") or group or "")
        )


def _row(record: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a row of Signal Desktop's message table as a record; None for anything else."""
    if "conversationId" not in record or record.get("type") not in ("incoming", "outgoing"):
        return None
    names = ("sourceName", "source", "sourceServiceId", "sourceUuid")
    sender = next((record[name] for name in names if record.get(name)), "Unknown")
    chat = record.get("conversationName") or record.get("conversation")
    return {
        "from": ME if record["type"] == "outgoing" else sender,
        "text": record.get("body"),
        "date": record.get("sent_at") or record.get("timestamp"),
        **({"chat": chat} if isinstance(chat, str) else {}),
    }


def _envelope(record: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a message in signal-cli's form, received or sent from another device, as a record."""
    envelope = _within(record, "envelope")
    sent = _within(envelope, "syncMessage", "sentMessage")
    data = sent or _within(envelope, "dataMessage")
    if not data:
        return None
    sender = envelope.get("sourceName") or envelope.get("source") or "Unknown"
    group = _within(data, "groupInfo")
    other = data.get("destination") if sent else sender
    return {
        "chat": group.get("groupName") or group.get("groupId") or other,
        "from": ME if sent else sender,
        "text": data.get("message"),
        "date": data.get("timestamp") or envelope.get("timestamp"),
    }


def _within(record: Any, *names: str) -> Mapping[str, Any]:
    """Return the object at a path of fields; {} if there is none."""
    for name in names:
        record = record.get(name) if isinstance(record, dict) else None
    return record if isinstance(record, dict) else {}


def _joined(record: Mapping[str, Any], *names: str) -> str:
    return " ".join(str(record[name]) for name in names if record.get(name))
