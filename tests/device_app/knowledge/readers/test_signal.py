import json
from collections.abc import Callable
from typing import Any

import pytest

from shared.types import Document

Read = Callable[..., list[Document]]
MORNING, NOON = 1773482400000, 1773489600000

BACKUP: list[Any] = [
    {"version": "1", "backupTimeMs": str(NOON), "mediaRootBackupKey": "q6s="},
    {"account": {"givenName": "Runa", "familyName": "Fjelde", "profileKey": "YQ=="}},
    {"recipient": {"id": "1", "self": {}}},
    {"recipient": {"id": "2", "contact": {"profileGivenName": "Tom", "systemGivenName": "Tomaso", "e164": "39040"}}},
    {"recipient": {"id": "3", "group": {"masterKey": "YQ==", "snapshot": {"title": {"title": "Rowers"}}}}},
    {"chat": {"id": "7", "recipientId": "3"}},
    {
        "chatItem": {
            **{"chatId": "7", "authorId": "2", "dateSent": str(MORNING), "incoming": {"dateReceived": str(NOON)}},
            "standardMessage": {"text": {"body": "At six?", "bodyRanges": []}, "reactions": []},
        }
    },
    {"chatItem": {"chatId": "7", "authorId": "2", "dateSent": str(MORNING), "updateMessage": {"simpleUpdate": {}}}},
    {
        "chatItem": {
            **{"chatId": "7", "authorId": "1", "dateSent": str(NOON), "outgoing": {"sendStatus": []}},
            "standardMessage": {"text": {"body": "At seven."}},
        }
    },
]
ROWS: list[Any] = [
    {"id": "a", "conversationId": "u", "type": "incoming", "source": "+39040", "body": "At six?", "sent_at": MORNING},
    {"id": "b", "conversationId": "u", "type": "outgoing", "body": "At seven.", "sent_at": NOON},
    {"id": "c", "conversationId": "u", "type": "group-v2-change", "body": None, "sent_at": NOON},
]
ENVELOPES: list[Any] = [
    {
        "envelope": {
            "source": "+39040",
            "sourceName": "Tomaso",
            "timestamp": MORNING,
            "dataMessage": {"message": "At six?"},
        }
    },
    {"envelope": {"source": "+39040", "timestamp": MORNING, "typingMessage": {"action": "STARTED"}}},
    {
        "envelope": {
            **{"source": "+39041", "timestamp": NOON},
            "syncMessage": {"sentMessage": {"destination": "Tomaso", "message": "At seven.", "timestamp": NOON}},
        }
    },
]


def chat_of(documents: list[Document]) -> tuple[str, list[str], list[int]]:
    """The title, the messages and the hours of a chat's only day."""
    (chat,) = (document for document in documents if document.kind == "chat")
    assert chat.date
    return chat.title, [block.text for block in chat.blocks], [chat.date.hour]


@pytest.mark.parametrize("suffix", ["json", "jsonl"])
def test_signals_own_export(read: Read, suffix: str) -> None:
    text = json.dumps(BACKUP) if suffix == "json" else "\n".join(map(json.dumps, BACKUP))
    (chat,) = read(f"main.{suffix}", text)
    assert (chat.kind, chat.title, chat.people) == ("chat", "Rowers, 2026-03-14", ("Tomaso", "Runa Fjelde"))
    assert [block.text for block in chat.blocks] == ["Tomaso: At six?", "Runa Fjelde: At seven."]
    assert [block.line for block in chat.blocks] == ([None, None] if suffix == "json" else [7, 9])


def test_rows_of_the_desktops_database(read: Read) -> None:
    documents = read("Tomaso.json", json.dumps(ROWS))
    assert chat_of(documents) == ("Tomaso, 2026-03-14", ["+39040: At six?", "Me: At seven."], [10])


def test_what_signal_cli_receives(read: Read) -> None:
    documents = read("inbox.jsonl", "\n".join(map(json.dumps, ENVELOPES)))
    assert chat_of(documents) == ("Tomaso, 2026-03-14", ["Tomaso: At six?", "Me: At seven."], [10])


@pytest.mark.parametrize(
    "frame",
    [
        {"chatItem": None},
        {"chatItem": {"standardMessage": {"text": "x"}}},
        {"recipient": []},
        {"recipient": {"id": "9", "contact": {"nickname": 3, "e164": None}}},
        {"chat": {"id": {}, "recipientId": []}},
        {"account": "x"},
        None,
        3,
    ],
)
def test_frames_of_another_shape_are_passed_over(read: Read, frame: Any) -> None:
    assert len(read("main.json", json.dumps([*BACKUP, frame]))) == 1
