"""Reads JSON and JSON Lines: chats, mails and texts as records, and any other data as readable lines."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import Any

from device_app.knowledge.readers.chats import Chats, date_of, first, is_wordless, message_of, words_of
from device_app.knowledge.readers.dates import date_in
from device_app.knowledge.readers.decoding import decode_file, limited_lines, lines_of, open_text
from device_app.knowledge.readers.mail import people_of
from device_app.knowledge.readers.omitted import Omitted
from device_app.knowledge.readers.opening import read_whole
from device_app.knowledge.readers.paragraphs import joined_blocks
from device_app.knowledge.readers.quotes import own_words
from device_app.knowledge.readers.signal import is_backup, plain_records
from device_app.knowledge.readers.tables import ROWS, row_text, table
from shared.errors import UnreadableFile
from shared.printable import counted
from shared.types import Block, Document

_TITLE = ("title", "subject", "name", "topic")
_KEY = ("id", "_id", "uid", "uuid", "key", "message_id")
_CHAT = ("chat", "chat_id", "conversation", "conversation_id", "channel", "thread", "group")
_SPOKEN = re.compile(r"([^\W\d_][\w.' -]{0,39}): (.*)")
_DEEPEST = 12


def read_json(path: Path, max_bytes: int) -> Iterator[Document | Omitted]:
    """Yield the chats in a JSON file by day; if it has none, its texts; if none either, all data as lines `name:
    value`.

    Raises UnreadableFile.
    """
    text = decode_file(read_whole(path, max_bytes))
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnreadableFile("broken JSON") from error
    whole = isinstance(data, list) and data and is_backup(data[0])
    lists = [(path.stem, data)] if whole else list(_record_lists(data, path.stem))
    for title, records in lists:
        yield from _documents(((record, None) for record in _oldest_first(records)), title, path)
    if not lists:
        facts = data if isinstance(data, dict) else {}
        blocks = tuple(Block(line) for line in _lines(data))
        yield Document("", "data", first(facts, _TITLE) or path.stem, blocks, date_of(facts) or date_in(path.stem))


def read_jsonl(path: Path, max_bytes: int) -> Iterator[Document | Omitted]:
    """Stream a file as a document per chat and day, a document per text, and rows of other records.

    Lines that are not JSON, such as the last line of a file still being written, are skipped, unless all lines are.
    Raises UnreadableFile.
    """
    with open_text(path) as stream:
        records = _parsed(limited_lines(stream, max_bytes))
        start = list(islice(records, 1))
        if not start:
            raise UnreadableFile("broken JSON")
        yield from _documents(chain(start, records), path.stem, path)


def _parsed(lines: Iterable[str]) -> Iterator[tuple[Any, int]]:
    for number, line in enumerate(lines, start=1):
        try:
            yield json.loads(line), number
        except (ValueError, RecursionError):
            continue


def _record_lists(data: Any, title: str, depth: int = 0) -> Iterator[tuple[str, list[Any]]]:
    """Yield the lists of messages or texts in the data, each with the nearest title above it."""
    if isinstance(data, list):
        sample = data[:20]
        messages = [item for item in sample if isinstance(item, dict) and (words_of(item) or is_wordless(item))]
        if len(messages) * 2 > len(sample):
            yield title, data
            return
    if depth < _DEEPEST:
        nearest = (first(data, _TITLE) or title) if isinstance(data, dict) else title
        for inner in data.values() if isinstance(data, dict) else data if isinstance(data, list) else ():
            yield from _record_lists(inner, nearest, depth + 1)


def _oldest_first(records: list[Any]) -> list[Any]:
    """Return the records oldest first: some messengers export the newest first."""
    dates = [date for record in records if isinstance(record, dict) and (date := date_of(record))]
    return records[::-1] if dates and dates[0].isoformat() > dates[-1].isoformat() else records


def _documents(records: Iterable[tuple[Any, int | None]], title: str, path: Path) -> Iterator[Document | Omitted]:
    chats = Chats()
    rows: list[Block] = []
    tables = wordless = 0
    for record, line in plain_records(records):
        if not isinstance(record, dict):
            rows.extend(Block(text, line) for text in _lines(record))
        elif message := message_of(record, line):
            yield from chats.add(first(record, _CHAT) or title, message)
        elif is_wordless(record):
            wordless += 1
        elif text := words_of(record):
            yield _text(record, text, title, line)
        else:
            rows.append(Block(row_text(_cells(record)), line))
        if len(rows) >= ROWS:
            tables += 1
            yield table(path, tables, tuple(rows))
            rows.clear()
    yield from chats.close()
    if rows:
        yield table(path, tables + 1, tuple(rows))
    if wordless:
        yield Omitted(f"{counted(wordless, 'message')} without text")


def _text(record: Mapping[str, Any], text: str, title: str, line: int | None) -> Document:
    """Return a document from a record with a text: a mail if it has a subject and a sender, else a note."""
    key = first(record, _KEY) or hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest()
    lines = lines_of(text)
    if "subject" in record and "from" in record:
        kind, people = "mail", people_of(_addresses(record.get(name)) for name in ("from", "to", "cc"))
        lines = own_words(lines)
    else:
        kind, author = "note", first(record, ("author", "from", "sender"))
        people = tuple(dict.fromkeys(filter(None, [author, *_speakers(lines)])))
    blocks = tuple(Block(block.text, line) for block in joined_blocks(lines))
    date = date_of(record) or date_in(key) or date_in(lines[0])
    return Document(key, kind, first(record, _TITLE) or title, blocks, date, people)


def _speakers(lines: list[str]) -> list[str]:
    """Return the speakers in a text that is a conversation written as `Name: words`."""
    said = [match for line in lines if (match := _SPOKEN.match(line)) and not date_in(match[2])]
    return [match[1] for match in said] if len(said) * 3 >= 2 * len(lines) > 2 else []


def _addresses(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value or "")


def _cells(record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for line in _lines(record):
        name, colon, value = line.partition(": ")
        yield (name, value) if colon else ("", line)


def _lines(value: Any, name: str = "", depth: int = 0) -> Iterator[str]:
    """Yield data of any form as lines `path: value`, in order."""
    if depth > _DEEPEST:
        return
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _lines(inner, f"{name} {key}".strip(), depth + 1)
    elif isinstance(value, list) and any(isinstance(inner, list | dict) for inner in value):
        for inner in value:
            yield from _lines(inner, name, depth + 1)
    elif value is not None and value != []:
        shown = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        yield f"{name}: {shown}" if name else shown
