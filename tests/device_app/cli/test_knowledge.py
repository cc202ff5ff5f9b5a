"""`jackdaw add` and `jackdaw knowledge`: folders and files are added, updated and removed, and nothing else changes."""

import json
import os
import shutil
import threading
import time
from pathlib import Path
from typing import Any

import click
import pytest
from filelock import FileLock

from device_app.ahead.reading import alone
from device_app.knowledge.readers.formats import READERS
from device_app.presentation import KINDS_READ
from storage.database import Database
from storage.knowledge import KnowledgeStore
from storage.paths import Paths
from tests.devices import fake_device

FILES = Path(__file__).parent.parent / "knowledge" / "readers" / "files"
"""Files written by real programs; the password of the PDFs is "tiles"."""


@pytest.fixture(autouse=True)
def without_weights(jackdaw: Any) -> None:
    jackdaw.make = fake_device


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """Two folders with a note each."""
    folders = tmp_path / "my notes", tmp_path / "mails"
    for folder in folders:
        folder.mkdir()
        (folder / "note.txt").write_text(f"A note in {folder.name}.")
    return folders


def test_a_folder_that_is_gone_does_not_keep_the_others_from_being_read(
    jackdaw: Any, folders: tuple[Path, Path]
) -> None:
    gone, kept = folders
    assert jackdaw("add", *map(str, folders)).code == 0
    shutil.rmtree(gone)
    for _ in range(2):
        (kept / "new.txt").write_text(f"Something new. {os.urandom(4).hex()}")
        outcome = jackdaw("add")
        assert (outcome.code, outcome.out[:15]) == (0, "1 document read")
        assert f"skipped {gone}: no such file" in outcome.err
        assert f"jackdaw knowledge remove '{gone}'" in outcome.err
    assert [item["path"] for item in json.loads(jackdaw("add", "--json").out)["skipped"]] == [str(gone)]
    assert jackdaw("add", str(gone)).code == 2
    assert jackdaw("add", "").code == 2

    outcome = jackdaw("knowledge", "remove", str(gone))
    assert (outcome.code, outcome.out) == (0, f"Forgotten: the folder {gone}. No file in it had been read.\n")
    assert jackdaw("add").err == ""
    assert jackdaw("knowledge", "remove", str(gone)).code == 3


def test_a_folder_that_came_back_is_no_longer_listed_as_skipped(jackdaw: Any, folders: tuple[Path, Path]) -> None:
    away = folders[0].with_name("away")
    jackdaw("add", *map(str, folders))
    folders[0].rename(away)
    jackdaw("add")
    assert "skipped" in jackdaw("knowledge").out
    away.rename(folders[0])
    assert jackdaw("add").code == 0
    assert "skipped" not in jackdaw("knowledge").out


def test_removing_forgets_a_folder_and_leaves_its_files(jackdaw: Any, folders: tuple[Path, Path]) -> None:
    jackdaw("add", *map(str, folders))
    assert json.loads(jackdaw("knowledge", "remove", str(folders[0]), "--json").out)["removed"] == 1
    listed = json.loads(jackdaw("knowledge", "--json").out)
    assert (listed["folders"], len(listed["files"])) == ([str(folders[1])], 1)
    assert (folders[0] / "note.txt").exists()


def test_removing_part_of_a_folder_says_that_it_is_read_again(jackdaw: Any, folders: tuple[Path, Path]) -> None:
    folder = folders[0]
    inner, note = folder / "inner" / "a.txt", folder / "note.txt"
    inner.parent.mkdir()
    inner.write_text("Another note.")
    jackdaw("add", str(folder))
    removed = json.loads(jackdaw("knowledge", "remove", str(inner.parent), "--json").out)
    assert removed == {"path": str(inner.parent), "removed": 1, "watched": str(folder)}
    said = jackdaw("knowledge", "remove", str(note)).out.splitlines()
    assert said[1:] == [f"{folder} was added as a folder, so the next `jackdaw add` reads these files again."]
    assert json.loads(jackdaw("add", "--json").out)["documents"] == 2
    assert json.loads(jackdaw("knowledge", "remove", str(folder), "--json").out)["watched"] is None


def test_removing_waits_for_a_running_add(jackdaw: Any, folders: tuple[Path, Path], paths: Paths) -> None:
    jackdaw("add", str(folders[0]))
    codes = []
    removing = threading.Thread(
        target=lambda: codes.append(jackdaw("knowledge", "remove", str(folders[0]), "--json").code)
    )
    store = KnowledgeStore(Database(paths.database))
    with FileLock(paths.add_lock):
        removing.start()
        removing.join(1)
        assert removing.is_alive()
        assert store.totals().files == 1
    removing.join()
    assert codes == [0]
    assert store.totals().files == 0
    store.database.close()


def test_only_one_process_holds_the_lock_and_who_waits_is_told(paths: Paths) -> None:
    messages: list[str] = []
    entered = threading.Event()

    def enter() -> None:
        with alone(paths.add_lock, lambda: messages.append("waiting")):
            entered.set()

    other = threading.Thread(target=enter)
    with alone(paths.add_lock, lambda: messages.append("not said")):
        other.start()
        while not messages:
            time.sleep(0.01)
        assert not entered.is_set()
    other.join()
    assert entered.is_set()
    assert messages == ["waiting"]


@pytest.mark.parametrize(
    "arguments", [("status",), ("history", "list"), ("knowledge",), ("config", "set", "model.threads", "2")]
)
def test_a_home_that_cannot_be_written_is_told(
    arguments: tuple[str, ...], jackdaw: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    # Root may write everywhere.
    monkeypatch.setattr(Path, "mkdir", refused)
    outcome = jackdaw(*arguments)
    assert outcome.code == 1
    assert "Cannot make the folder" in outcome.err
    assert "JACKDAW_HOME" in outcome.err


def test_a_lock_that_cannot_be_written_is_told(jackdaw: Any, folders: tuple[Path, Path], paths: Paths) -> None:
    paths.add_lock.mkdir(parents=True)
    outcome = jackdaw("add", str(folders[0]))
    assert outcome.code == 1
    assert (
        f"Cannot lock {paths.add_lock}: is a directory, but a file belongs here. Move the folder away." in outcome.err
    )


def test_status_counts(jackdaw: Any, folders: tuple[Path, Path], paths: Paths) -> None:
    from storage.conversations import ConversationStore

    jackdaw("add", *map(str, folders))
    store = ConversationStore(Database(paths.database))
    for question in ("One?", "Two?"):
        store.begin(question)
    store.database.close()
    report = json.loads(jackdaw("status", "--json").out)
    assert (report["conversations"], report["knowledge"]["documents"]) == (2, 2)


def test_what_is_not_read_is_named_with_its_count(
    jackdaw: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("sheets", "xlsx"):
        monkeypatch.setattr(f"device_app.knowledge.readers.{module}.MOST_ROWS", 3)
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in ("a.jpg", "b.JPG", "c.zip", "no suffix", "ends. like a sentence", ".hidden.jpg"):
        (folder / name).write_bytes(b"x")
    shutil.copy(FILES / "openpyxl.xlsx", folder)
    outcome = jackdaw("add", str(folder))
    assert "2 .jpg, 2 without a suffix, 1 .zip" in outcome.err
    assert "openpyxl.xlsx: without 1 row of the sheet “Costs” after the first 3\n" in outcome.err
    report = json.loads(jackdaw("add", str(folder), "--json").out)
    assert report["unread"][0] == {"suffix": ".jpg", "count": 2}
    assert (report["unchanged"], report["partly_read"], report["locked"]) == (2, [], [])


def test_a_folder_without_files_teaches_what_is_read_and_what_to_do_next(jackdaw: Any, tmp_path: Path) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    outcome = jackdaw("add", str(folder))
    assert outcome.code == 3
    assert "No file to read. Jackdaw reads notes (txt, md, org, html), documents (pdf, docx" in outcome.err
    assert "This folder is remembered: `jackdaw add` reads what you put there later." in outcome.err
    assert "for example: jackdaw add ~/Documents" in outcome.err
    assert json.loads(jackdaw("add", str(folder), "--json").out)["documents"] == 0
    (folder / "a.zip").write_bytes(b"x")
    assert "1 .zip\n  No file to read." in jackdaw("add", str(folder)).err
    (folder / "note.md").write_text("The key is under the stone.")
    assert "No file to read" not in jackdaw("add", str(folder)).err
    assert "No file to read" not in jackdaw("add", str(folder)).err


def test_all_kinds_of_files_that_are_read_are_named() -> None:
    named = {suffix for suffixes in KINDS_READ.values() for suffix in suffixes} - {"Maildir"}
    other_names = {"text", "markdown", "htm", "xhtml", "mbx", "tsv", "ndjson", "xlsm", "vcard"}
    assert {suffix.removeprefix(".") for suffix in READERS} - other_names == named


def test_a_password_is_asked_for_on_a_terminal_and_kept_nowhere(
    jackdaw: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pdfs = tmp_path / "pdfs"
    pdfs.mkdir()
    for name in ("libreoffice.pdf", "pypdf.pdf"):
        shutil.copy(FILES / name, pdfs)
    outcome = jackdaw("add", str(pdfs))
    assert (outcome.code, outcome.err.count("encrypted PDF")) == (3, 2)
    assert "set JACKDAW_PDF_PASSWORD" in outcome.err
    assert len(json.loads(jackdaw("add", str(pdfs), "--json").out)["locked"]) == 2

    typed = iter(["wrong", "tiles"])
    asked: list[str] = []

    def prompt(question: str, **options: Any) -> str:
        assert options["hide_input"]
        asked.append(question)
        return next(typed)

    monkeypatch.setattr("click.prompt", prompt)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    outcome = jackdaw("add", str(pdfs))
    assert (outcome.code, outcome.out[:16]) == (0, "2 documents read")
    assert "encrypted" not in outcome.err
    assert len(asked) == 2, "the password of the first is tried on the second"
    assert not [file for file in tmp_path.rglob("*") if file.is_file() and b"tiles" in file.read_bytes()]
    assert jackdaw("add", str(pdfs)).out == "0 documents read (0 passages), 2 unchanged.\n"
    assert len(asked) == 2


def test_who_stops_at_a_password_is_told_what_was_read(
    jackdaw: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(FILES / "pypdf.pdf", tmp_path)
    (tmp_path / "note.txt").write_text("A note about the kite.")

    def prompt(question: str, **options: Any) -> str:
        raise click.Abort

    monkeypatch.setattr("click.prompt", prompt)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    outcome = jackdaw("add", str(tmp_path / "note.txt"), str(tmp_path / "pypdf.pdf"))
    assert outcome.code == 130
    assert "1 document read" in outcome.err


def test_a_password_may_come_from_the_environment(
    jackdaw: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JACKDAW_PDF_PASSWORD", "tiles")
    assert jackdaw("add", str(FILES / "pypdf.pdf")).code == 0
