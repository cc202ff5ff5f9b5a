import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from device_app.knowledge import readers
from shared.errors import UnreadableFile
from shared.types import Block, Document

Read = Callable[..., list[Document]]


def shape(documents: list[Document]) -> list[tuple[str, list[str]]]:
    return [(document.key, [block.text for block in document.blocks]) for document in documents]


SHAPES: dict[str, Any] = {
    "plain": [
        {"sender": "Ana", "text": "Hi", "date": "2026-03-14"},
        {"sender": "Bo", "text": "Ho", "date": "2026-03-14"},
    ],
    "roles": {
        "title": "chat",
        "messages": [{"role": "Ana", "content": "Hi"}, {"role": "Bo", "content": [{"text": "Ho"}]}],
    },
    "telegram": {
        "name": "chat",
        "messages": [
            {"type": "service", "actor": "Ana", "text": ""},
            {"from": "Ana", "text": "Hi", "date": "2026-03-14T10:00:00"},
            {"from": "Bo", "text": [{"type": "bold", "text": "H"}, "o"], "date": "2026-03-14T10:01:00"},
        ],
    },
    "all of telegram": {
        "chats": {"list": [{"name": "chat", "messages": [{"from": "Ana", "text": "Hi"}, {"from": "Bo", "text": "Ho"}]}]}
    },
    "discord": {
        "channel": {"name": "chat"},
        "messages": [{"author": {"name": "Ana"}, "content": "Hi"}, {"author": {"name": "Bo"}, "content": "Ho"}],
    },
    "newest first": [
        {"sender_name": "Bo", "content": "Ho", "timestamp_ms": 1773482460000},
        {"sender_name": "Ana", "content": "Hi", "timestamp_ms": 1773482400000},
    ],
    "transcript": {"id": "chat", "turns": [{"speaker": "Ana", "content": "Hi"}, {"speaker": "Bo", "content": "Ho"}]},
}


@pytest.mark.parametrize("data", SHAPES.values(), ids=SHAPES)
def test_chats_of_common_shapes(read: Read, data: Any) -> None:
    chat = read("chat.json", json.dumps(data))[0]
    assert chat.kind == "chat"
    assert chat.people == ("Ana", "Bo")
    assert [block.text for block in chat.blocks] == ["Ana: Hi", "Bo: Ho"]


TELEGRAM: dict[str, Any] = {
    "about": "Here is the data you requested.",
    "contacts": {"about": "…", "list": [{"first_name": "Ana", "phone_number": "1"}]},
    "chats": {
        "about": "…",
        "list": [
            {
                **{"name": "רותם", "type": "personal_chat", "id": 7},
                "messages": [
                    {
                        **{
                            "id": 1,
                            "type": "service",
                            "date": "2026-03-14T09:59:00",
                            "actor": "רותם",
                            "actor_id": "user7",
                        },
                        **{"action": "phone_call", "text": "", "text_entities": []},
                    },
                    {
                        **{"id": 2, "type": "message", "date": "2026-03-14T10:00:00", "date_unixtime": "1773478800"},
                        **{"from": "רותם", "from_id": "user7", "text": ["ראה ", {"type": "link", "text": "x.org"}]},
                    },
                    {
                        **{"id": 3, "type": "message", "date": "2026-03-14T10:01:00", "from": None, "from_id": "user8"},
                        "text": "Gone.",
                    },
                    {
                        **{"id": 4, "type": "message", "date": "2026-03-14T10:02:00", "from": "Bo", "from_id": "user9"},
                        **{"photo": "(File not included.)", "text": ""},
                    },
                ],
            }
        ],
    },
}


def test_telegrams_whole_export(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_text(json.dumps(TELEGRAM))
    omitted: list[str] = []
    (chat,) = readers.read(path, on_omitted=omitted.append)
    assert (chat.kind, chat.title, chat.people) == ("chat", "רותם, 2026-03-14", ("רותם", "Deleted account"))
    assert [block.text for block in chat.blocks] == ["רותם: ראה x.org", "Deleted account: Gone."]
    assert omitted == ["2 messages without text"]


def test_a_chat_is_a_document_a_day(read: Read) -> None:
    times = ["2026-03-14T23:59", "2026-03-15T00:01", None, "2026-03-16T09:00"]
    messages = [{"from": "Ana", "text": str(number), "time": time} for number, time in enumerate(times)]
    documents = read("a.json", json.dumps({"name": "Rowers", "messages": messages}))
    assert shape(documents) == [
        ("Rowers 2026-03-14", ["Ana: 0"]),
        ("Rowers 2026-03-15", ["Ana: 1", "Ana: 2"]),
        ("Rowers 2026-03-16", ["Ana: 3"]),
    ]
    assert documents[1].title == "Rowers, 2026-03-15"
    assert documents[1].date == datetime(2026, 3, 15, 0, 1)


def test_a_log_of_several_chats_keeps_them_apart_with_lines(read: Read) -> None:
    lines = [json.dumps({"chat": chat, "from": "Ana", "text": "x", "ts": 1773482400}) for chat in ("A", "B", "A")]
    documents = read("a.jsonl", "\n".join(lines))
    assert [(document.key, [block.line for block in document.blocks]) for document in documents] == [
        ("A 2026-03-14", [1, 3]),
        ("B 2026-03-14", [2]),
    ]


def test_a_chat_without_times_comes_in_parts(read: Read) -> None:
    documents = read("a.jsonl", '{"from": "Ana", "text": "x"}\n' * 4500)
    assert [(document.key, len(document.blocks)) for document in documents] == [
        ("a", 2000),
        ("a (2)", 2000),
        ("a (3)", 500),
    ]


def test_mails_in_a_log_are_mails(read: Read) -> None:
    record = {
        "id": "m1",
        "from": "Ana <ana@x.org>",
        "to": ["Bo <bo@x.org>"],
        "subject": "Keys",
        "date": "2026-03-14",
        "body": "Under the stone.\n\n> Where?\n",
    }
    assert read("a.jsonl", json.dumps(record)) == [
        Document(
            *("m1", "mail", "Keys", (Block("Under the stone.", 1),), datetime(2026, 3, 14)),
            ("Ana <ana@x.org>", "Bo <bo@x.org>"),
        )
    ]


def test_texts_in_a_log_are_documents_with_speakers_and_dates(read: Read) -> None:
    record = {"id": "20260314_1000", "text": "Time: 20260314_10:00\nLiHua: Hi!\nAdam: Hello!\nLiHua: Bye.\n"}
    (note,) = read("a.jsonl", "\n" + json.dumps(record))
    assert (note.key, note.people, note.date) == ("20260314_1000", ("LiHua", "Adam"), datetime(2026, 3, 14, 10))
    assert {block.line for block in note.blocks} == {2}


def test_a_text_without_id_is_known_by_its_words(read: Read) -> None:
    first, second = read("a.jsonl", '{"title": "T", "text": "a"}\n{"title": "T", "text": "b"}')
    assert read("b.jsonl", '{"title": "T", "text": "b"}')[0].key == second.key != first.key


def test_a_list_of_texts_is_a_document_each(read: Read) -> None:
    data = [{"title": "A", "body": "one"}, {"title": "B", "body": "two"}]
    assert [(document.title, document.kind) for document in read("a.json", json.dumps(data))] == [
        ("A", "note"),
        ("B", "note"),
    ]


def test_other_records_are_rows(read: Read) -> None:
    (table,) = read("a.jsonl", '{"what": "drill", "who": {"name": "Petra"}}\nbroken\n{"what": "saw"}\n')
    assert table.kind == "table"
    assert table.blocks == (Block("what: drill; who name: Petra", 1), Block("what: saw", 3))


def test_other_data_is_readable_lines(read: Read) -> None:
    van = {
        "title": "Olga",
        "year": 1998,
        "papers": {"tax": True, "due": None},
        "repairs": [{"what": "clutch", "eur": 310.5}],
    }
    (data,) = read("a.json", json.dumps(van))
    assert (data.kind, data.title) == ("data", "Olga")
    assert shape([data]) == [
        ("", ["title: Olga", "year: 1998", "papers tax: True", "repairs what: clutch", "repairs eur: 310.5"])
    ]


@pytest.mark.parametrize(
    "text", ["{", "[1,", "nonsense", "[" * 100_000, '{"a":' * 100_000, '{"a": 1} trailing', "1" * 10_000]
)
def test_broken_json_is_refused(read: Read, text: str) -> None:
    for name in ("a.json", "a.jsonl"):
        with pytest.raises(UnreadableFile, match="broken JSON"):
            read(name, text)


def test_a_log_that_is_being_written_is_read_to_its_last_whole_line(read: Read) -> None:
    assert len(read("a.jsonl", '{"id": 1, "text": "a"}\n{"id": 2, "te')) == 1
