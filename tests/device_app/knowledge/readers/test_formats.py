import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest

from device_app.knowledge import readers
from device_app.knowledge.readers import opening
from device_app.knowledge.readers.formats import READERS
from shared.errors import UnreadableFile
from shared.types import Document

Read = Callable[..., list[Document]]
SUFFIXES = sorted(READERS)
OFFICE = [".docx", ".odt", ".rtf", ".epub", ".pptx", ".odp", ".xlsx", ".ods"]
WHOLE = [".txt", ".md", ".org", ".html", ".pdf", ".eml", ".json", ".ics", *OFFICE]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_suffix_names_a_function_that_exists(suffix: str) -> None:
    module, function = READERS[suffix]
    assert callable(getattr(import_module(f"device_app.knowledge.readers.{module}"), function))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_empty_file_is_refused(read: Read, suffix: str) -> None:
    with pytest.raises(UnreadableFile, match="empty file"):
        read(f"a{suffix}", b"")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_binary_content_is_refused(read: Read, suffix: str) -> None:
    with pytest.raises(UnreadableFile):
        read(f"a{suffix}", bytes(range(256)) * 40)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_200_mb_of_nothing_are_refused_without_reading_them(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    with path.open("wb") as stream:
        stream.truncate(200 << 20)
    reason = "larger than" if suffix in WHOLE else "."
    with pytest.raises(UnreadableFile, match=reason):
        list(readers.read(path))


@pytest.mark.parametrize("suffix", WHOLE)
def test_a_file_of_one_document_is_read_up_to_the_limit(read: Read, suffix: str) -> None:
    with pytest.raises(UnreadableFile, match="larger than 10 bytes"):
        read(f"a{suffix}", b"x" * 11, max_bytes=10)


def test_white_space_is_no_text(read: Read) -> None:
    with pytest.raises(UnreadableFile, match="no text in it"):
        read("a.txt", " \n\t\n")


def test_an_unknown_type_is_refused(read: Read) -> None:
    with pytest.raises(UnreadableFile, match="unknown type"):
        read("a.jpg", b"x")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_that_may_not_be_opened_is_refused(tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def deny(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    path = tmp_path / f"a{suffix}"
    path.write_bytes(b"x")
    monkeypatch.setattr(Path, "open", deny)
    with pytest.raises(UnreadableFile, match="permission denied"):
        list(readers.read(path))


def test_a_disk_that_fails_while_reading_is_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(5, "Input/output error")

    path = tmp_path / "a.txt"
    path.write_bytes(b"x")
    monkeypatch.setattr(opening, "open_regular", fail)
    with pytest.raises(UnreadableFile, match="input/output error"):
        list(readers.read(path))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_folder_a_pipe_a_socket_and_a_missing_file_are_never_opened(tmp_path: Path, suffix: str) -> None:
    folder, pipe, plug, gone = (tmp_path / f"{name}{suffix}" for name in ("folder", "pipe", "s", "gone"))
    folder.mkdir()
    os.mkfifo(pipe)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(plug))
        for path, reason in (
            (folder, "is a folder"),
            (pipe, "not a regular file"),
            (plug, "not a regular file"),
            (gone, "no such file"),
        ):
            with pytest.raises(UnreadableFile, match=reason):
                list(readers.read(path))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.txt", "Hi \x1b]0;owned\x07\x1b[31mred\x00\x9b2J there\n"),
        ("a.md", "# T\x1b[2J\n\nHi \x1b[31mred\n"),
        ("a.org", "* T\x1b[2J\nHi \x1b[31mred\n"),
        ("a.html", "<title>T&#27;[2J</title><p>Hi &#x1b;[31mred\x1b[0m"),
        ("a.eml", "From: A\x1b[2J <a@x.org>\nSubject: =?utf-8?q?T=1B[2J?=\nMessage-ID: <a\x1b@x>\n\nHi \x1b[31mred\n"),
        ("a.csv", "who\x1b[2J,b\nA,\x1b[31mred\n"),
        ("a.json", '[{"from": "A\\u001b[2J", "text": "Hi \\u001b[31mred \\ud800"}]'),
        ("a.jsonl", '{"id": "\\u001b", "title": "T\\u001b[2J", "text": "Hi \\u001b[31mred \\ud800"}'),
        ("a.ics", "BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:\x1b1\nSUMMARY:T\x1b[2J\nEND:VEVENT\nEND:VCALENDAR\n"),
    ],
)
def test_nothing_that_drives_a_terminal_survives(read: Read, name: str, content: str) -> None:
    for document in read(name, content):
        texts = [document.key, document.title, *document.people, *(block.text for block in document.blocks)]
        assert all(character.isprintable() or character in "\n\t" for text in texts for character in text)
        assert any("[" in text for text in texts)


def test_names_that_are_not_utf8_are_read_and_shown(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9 2026-03-14.txt"))
    path.write_text("Closed on Monday.")
    (document,) = readers.read(path)
    assert document.title == "caf 2026-03-14"
    assert document.date is not None


def test_titles_are_one_line_of_bounded_length_and_keys_bounded(read: Read) -> None:
    (document,) = read("a.jsonl", json.dumps({"id": "k" * 1000, "title": "a\nb" * 1000, "text": "x"}))
    assert "\n" not in document.title
    assert len(document.title) <= 300
    assert len(document.key) <= 250


def test_importing_the_readers_imports_none_of_their_libraries() -> None:
    heavy = ["pypdf", "mammoth", "icalendar", "markdown_it", "charset_normalizer", "dateutil", "email"]
    code = f"import sys; import device_app.knowledge.readers; print([name for name in {heavy} if name in sys.modules])"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"
