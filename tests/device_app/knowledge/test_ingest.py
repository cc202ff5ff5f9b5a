"""Reading folders into the store: incremental, interruptible, never losing what is there."""

import multiprocessing
import os
import shutil
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from device_app.knowledge import ingest, keyed
from device_app.knowledge.ingest import Ingestion, Progress
from device_app.knowledge.ingest_report import IngestReport
from models.fake import FakeEmbedder
from shared.errors import StoreFull
from shared.types import Block, Document, Filters
from storage.database import Database
from storage.knowledge import KnowledgeStore
from storage.tables import TableStore


class CountingEmbedder(FakeEmbedder):
    """A fake embedder that records the texts that it gets."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        self.texts += texts
        return super().embed(texts)


@pytest.fixture
def store(tmp_path: Path) -> KnowledgeStore:
    return KnowledgeStore(Database(tmp_path / "store" / "jackdaw.db"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "files"
    folder.mkdir()
    for number in range(5):
        (folder / f"note{number}.txt").write_text(f"Note number {number} is about the heron.\n")
    return folder


def add(store: KnowledgeStore, *paths: Path, embedder: FakeEmbedder | None = None) -> IngestReport:
    return Ingestion(store, embedder or FakeEmbedder()).run(paths)


def texts(store: KnowledgeStore) -> set[str]:
    return {row[0] for row in store.database.execute("SELECT text FROM passages")}


def test_a_second_run_over_unchanged_files_embeds_nothing(store: KnowledgeStore, folder: Path) -> None:
    assert (add(store, folder).documents, store.totals().passages) == (5, 5)
    embedder = CountingEmbedder()
    again = add(store, folder, embedder=embedder)
    assert (again.documents, again.unchanged, embedder.texts) == (0, 5, [])


def test_a_touched_file_is_not_read_again(store: KnowledgeStore, folder: Path) -> None:
    add(store, folder)
    os.utime(folder / "note1.txt", ns=(1, 1))
    embedder = CountingEmbedder()
    assert add(store, folder, embedder=embedder).unchanged == 5
    assert embedder.texts == []


def test_a_changed_file_is_replaced_and_only_new_passages_are_embedded(store: KnowledgeStore, folder: Path) -> None:
    long = folder / "long.txt"
    paragraphs = [" ".join(f"word{number}x{place}" for place in range(100)) + "." for number in range(3)]
    long.write_text("\n\n".join(paragraphs))
    add(store, folder)
    paragraphs[1] = "A new middle. " + " ".join(["different"] * 98) + "."
    long.write_text("\n\n".join(paragraphs))
    embedder = CountingEmbedder()
    report = add(store, folder, embedder=embedder)
    assert (report.documents, report.passages, report.unchanged) == (1, 3, 5)
    assert len(embedder.texts) == 1
    assert "word1x5" not in " ".join(texts(store))


def test_a_removed_file_is_forgotten(store: KnowledgeStore, folder: Path) -> None:
    add(store, folder)
    (folder / "note3.txt").unlink()
    assert add(store, folder).removed == 1
    assert not any("number 3" in text for text in texts(store))
    assert store.database.problems() == []


def test_a_folder_that_is_gone_with_its_drive_is_kept(store: KnowledgeStore, folder: Path) -> None:
    add(store, folder)
    report = add(store, folder.parent / "gone" / "files")
    assert report.skipped
    folder.rename(folder.parent / "elsewhere")
    assert store.totals().passages == 5


def test_what_cannot_be_read_is_listed_and_the_rest_is_read(store: KnowledgeStore, folder: Path) -> None:
    (folder / "empty.txt").write_bytes(b"")
    (folder / "binary.txt").write_bytes(bytes(range(256)) * 40)
    (folder / "broken.pdf").write_bytes(b"%PDF-1.4 nothing behind it")
    with (folder / "huge.md").open("wb") as stream:
        stream.truncate(200_000_000)
    os.mkfifo(folder / "pipe.txt")
    (folder / "loop").symlink_to(folder)
    (folder / "dangling.txt").symlink_to(folder / "nowhere")
    (folder / os.fsdecode(b"caf\xe9.txt")).write_text("The café is closed.")
    report = add(store, folder)
    reasons = {Path(file.path).name: file.reason for file in report.skipped}
    assert set(reasons) == {"empty.txt", "binary.txt", "broken.pdf", "huge.md", "pipe.txt", "dangling.txt"}
    assert "larger than" in reasons["huge.md"]
    assert report.documents == 6
    assert len(store.skipped()) == 6
    (folder / "empty.txt").write_text("Not any more.")
    (folder / "binary.txt").unlink()
    assert set(reasons) - {Path(file.path).name for file in add(store, folder).skipped} == {"empty.txt", "binary.txt"}
    assert len(store.skipped()) == 4


def test_an_unreadable_new_version_keeps_the_old_one(store: KnowledgeStore, folder: Path) -> None:
    add(store, folder)
    (folder / "note1.txt").write_bytes(bytes(range(256)) * 40)
    assert len(add(store, folder).skipped) == 1
    assert any("number 1" in text for text in texts(store))


def test_a_full_disk_stops_the_run_and_loses_nothing(store: KnowledgeStore, folder: Path) -> None:
    add(store, folder)
    (pages,) = store.database.execute("PRAGMA page_count")[0]
    store.database.execute(f"PRAGMA max_page_count = {pages + 1}")
    (folder / "more.txt").write_text("\n\n".join(f"Sentence {number} about many things." for number in range(5000)))
    with pytest.raises(StoreFull):
        add(store, folder)
    assert store.totals().passages == 5
    store.database.execute("PRAGMA max_page_count = 1000000")
    assert add(store, folder).documents == 1


def test_a_folder_that_cannot_be_listed_keeps_what_was_read_in_it(
    store: KnowledgeStore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("closed/deep/note.txt", "box/new/1.a", "box/cur/2.b:2,S", "box/tmp/x", "open/note.txt"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"Subject: {name}\n\nThis is {name}.\n")
    assert add(store, folder).documents == 9
    shutil.rmtree(folder / "open")
    listdir = os.listdir

    def refused(path: Path) -> list[str]:
        if path.name in ("closed", "new"):
            raise PermissionError(13, "Permission denied")
        return listdir(path)

    # Root may list everything.
    monkeypatch.setattr(os, "listdir", refused)
    report = add(store, folder)
    assert {file.path for file in report.skipped} == {f"{folder}/closed", f"{folder}/box/new"}
    assert (report.removed, store.totals().documents) == (1, 8)


@pytest.mark.parametrize("pattern", ["note1.txt", "sub", "sub/*"])
def test_what_cannot_be_looked_at_is_kept(
    pattern: str, store: KnowledgeStore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "sub" / "deep").mkdir(parents=True)
    (folder / "sub" / "deep" / "note.txt").write_text("A note.")
    add(store, folder)

    def refusing(look: Callable[..., os.stat_result]) -> Callable[..., os.stat_result]:
        def refused(path: Any, **options: Any) -> os.stat_result:
            here = Path() if isinstance(path, int) else Path(os.fsdecode(path))
            if any(path.match(f"{folder}/{pattern}") for path in (here, *here.parents)):
                raise PermissionError(13, "Permission denied")
            return look(path, **options)

        return refused

    monkeypatch.setattr(os, "stat", refusing(os.stat))
    monkeypatch.setattr(os, "lstat", refusing(os.lstat))
    assert add(store, folder).removed == 0
    assert store.totals().documents == 6
    add(store, folder / "sub", folder / "note1.txt")
    assert store.totals().documents == 6


def test_a_link_whose_target_is_away_keeps_what_was_read(store: KnowledgeStore, folder: Path) -> None:
    (folder / "link.txt").symlink_to(folder.parent / "drive.txt")
    (folder.parent / "drive.txt").write_text("On another drive.")
    add(store, folder)
    (folder.parent / "drive.txt").unlink()
    report = add(store, folder)
    assert (len(report.skipped), report.removed) == (1, 0)


def test_a_file_named_itself_and_gone_is_forgotten(store: KnowledgeStore, folder: Path) -> None:
    add(store, folder)
    (folder / "note1.txt").unlink()
    assert add(store, folder / "note1.txt").removed == 1
    folder_itself = folder.rename(folder.parent / "elsewhere")
    assert add(store, folder).removed == 4
    assert add(store, folder_itself).documents == 4


def test_others_may_write_while_passages_are_embedded(store: KnowledgeStore, folder: Path) -> None:
    other = Database(store.database.path, busy_seconds=0.05)

    class Meanwhile(FakeEmbedder):
        def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
            with other.transaction():
                other.execute("INSERT INTO folders VALUES (?, ?)", (os.urandom(8), "now"))
            return super().embed(texts)

    assert add(store, folder, embedder=Meanwhile()).documents == 5


def test_many_equal_keys_take_time_in_proportion(store: KnowledgeStore) -> None:
    taken: dict[str, int] = {}
    keys = []
    begin = time.perf_counter()
    for given in ["uid (3)", *["uid"] * 20_000]:
        document = keyed.with_own_key(Document(given, "note", "", ()), taken)
        taken[document.key] = 1
        keys.append(document.key)
    assert time.perf_counter() - begin < 2
    assert keys[:5] == ["uid (3)", "uid", "uid (2)", "uid (4)", "uid (5)"]
    assert len(set(keys)) == len(keys)


def mailbox(path: Path, count: int) -> None:
    mails = [
        f"From ana@example.org Sat Mar 14 09:00:00 2026\nFrom: Ana <ana@example.org>\nSubject: Mail {number}\n"
        f"Message-ID: <{number}@example.org>\n"
        f"Date: Sat, 14 Mar 2026 09:00:00 +0000\n\nThis is the body of mail number {number}.\n\n"
        for number in range(count)
    ]
    path.write_text("".join(mails))


def test_a_mailbox_grows_by_its_new_mails_alone(store: KnowledgeStore, tmp_path: Path) -> None:
    box = tmp_path / "box.mbox"
    mailbox(box, 10)
    assert add(store, box).documents == 10
    mailbox(box, 12)
    embedder = CountingEmbedder()
    report = add(store, box, embedder=embedder)
    assert (report.documents, report.unchanged, len(embedder.texts)) == (2, 10, 2)
    mailbox(box, 3)
    add(store, box)
    assert store.totals().documents == 3


def test_the_same_mail_twice_is_kept_twice(store: KnowledgeStore, tmp_path: Path) -> None:
    box = tmp_path / "box.mbox"
    mailbox(box, 1)
    box.write_text(box.read_text() * 2)
    assert add(store, box).documents == 2
    assert add(store, box).unchanged == 2


class Interrupted(CountingEmbedder):
    """A fake embedder that raises KeyboardInterrupt once it has got eight texts or more."""

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        if len(self.texts) >= 8:
            raise KeyboardInterrupt
        return super().embed(texts)


def test_ctrl_c_keeps_what_was_finished(store: KnowledgeStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest, "BATCH_PASSAGES", 4)
    box = tmp_path / "box.mbox"
    mailbox(box, 20)
    first = Interrupted()
    with pytest.raises(KeyboardInterrupt):
        add(store, box, embedder=first)
    assert store.totals().documents == 8
    second = CountingEmbedder()
    add(store, box, embedder=second)
    assert store.totals().documents == 20
    assert len(first.texts) + len(second.texts) == 20


def test_a_document_longer_than_a_book_is_kept_part_by_part(
    store: KnowledgeStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest, "BATCH_PASSAGES", 4)
    monkeypatch.setattr(keyed, "PART_CHARACTERS", 4 * 500)
    book = tmp_path / "2026-03-14 book.txt"
    book.write_text("\n\n".join(f"{number:04} " + "word " * 98 + "last." for number in range(14)))
    first, second = Interrupted(), CountingEmbedder()
    with pytest.raises(KeyboardInterrupt):
        add(store, book, embedder=first)
    report = add(store, book, embedder=second)
    assert (len(first.texts), len(second.texts)) == (8, 6)
    assert (report.documents, report.unchanged) == (2, 2)
    keys = store.database.execute("SELECT key, title, date FROM documents ORDER BY id")
    expected = (book.stem, "2026-03-14T00:00:00")
    assert keys == [("", *expected), ("part 2", *expected), ("part 3", *expected), ("part 4", *expected)]
    lines = [passage.line for passage in store.passages_of(os.fsencode(book))]
    assert lines == list(range(1, 28, 2))


def test_progress_goes_on_inside_a_file_and_never_back(
    store: KnowledgeStore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest, "BATCH_PASSAGES", 4)
    mailbox(folder / "box.mbox", 20)
    progress: list[Progress] = []
    Ingestion(store, FakeEmbedder(), on_progress=progress.append).run([folder])
    done = [message.done_bytes for message in progress]
    assert done == sorted(done)
    assert len({message.done_bytes for message in progress if message.path.endswith("box.mbox")}) > 4
    assert done[-1] == progress[-1].total_bytes


def _read_slowly(path: Path, box: Path, batch: int) -> None:
    ingest.BATCH_PASSAGES = batch

    class Slow(FakeEmbedder):
        def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
            time.sleep(0.02)
            return super().embed(texts)

    Ingestion(KnowledgeStore(Database(path)), Slow()).run([box])


def test_kill_at_any_moment_loses_and_repeats_nothing(store: KnowledgeStore, tmp_path: Path) -> None:
    box = tmp_path / "box.mbox"
    mailbox(box, 200)
    context = multiprocessing.get_context("spawn")
    stored = 0
    for patience in (0.05, 0.1, 0.2, 0.3):
        process = context.Process(target=_read_slowly, args=(store.database.path, box, 8))
        process.start()
        deadline = time.monotonic() + 60
        while store.totals().documents <= stored and process.is_alive() and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(patience)
        assert process.pid is not None
        if process.is_alive():
            os.kill(process.pid, signal.SIGKILL)
        process.join()
        assert store.totals().documents >= stored
        stored = store.totals().documents
        assert store.database.problems() == []
    embedder = CountingEmbedder()
    add(store, box, embedder=embedder)
    assert store.totals().documents == 200
    assert len(embedder.texts) == 200 - stored


def test_two_runs_at_once_store_everything_once(store: KnowledgeStore, tmp_path: Path) -> None:
    box = tmp_path / "box.mbox"
    mailbox(box, 60)
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_read_slowly, args=(store.database.path, box, 8)) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0]
    assert store.totals().documents == 60
    assert store.database.problems() == []


def test_after_a_change_of_the_readers_only_what_they_read_differently_is_stored(
    store: KnowledgeStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "note.txt").write_text("A note about the roof.")
    (tmp_path / "chat.txt").write_text("Ana: Hi\nBo: Ho\nAna: So?\nBo: No.\n")
    with monkeypatch.context() as before:
        before.setattr("device_app.knowledge.readers.VERSION", 2)
        before.setattr("device_app.knowledge.readers.txt.is_dialogue", lambda _: False)
        assert Ingestion(store, FakeEmbedder()).run([tmp_path]).documents == 2
    for documents, unchanged in ((1, 1), (0, 2)):
        report = Ingestion(store, FakeEmbedder()).run([tmp_path])
        assert (report.documents, report.unchanged) == (documents, unchanged)


def test_a_calendar_that_an_earlier_version_read_is_read_again_once_for_its_events(
    store: KnowledgeStore, folder: Path
) -> None:
    (folder / "a.ics").write_text(
        "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:u\r\nSUMMARY:Tea\r\nDTSTART:20260314T100000\r\nEND:VEVENT\r\nEND:VCALENDAR"
    )
    add(store, folder)
    before = store.database.execute("SELECT id FROM passages WHERE text LIKE '%Tea%'")
    with store.database.transaction():  # as the schema's step leaves it
        store.database.execute("DELETE FROM events")
        store.database.execute("UPDATE documents SET hash = 'of the text alone' WHERE kind = 'event'")
        store.database.execute("UPDATE files SET sha256 = NULL WHERE path = ?", (os.fsencode(folder / "a.ics"),))
    embedder = CountingEmbedder()
    assert add(store, folder, embedder=embedder).documents == 1
    assert store.database.execute("SELECT uid FROM events") == [("u",)]
    assert store.database.execute("SELECT id FROM passages WHERE text LIKE '%Tea%'") == before
    assert (add(store, folder, embedder=embedder).documents, embedder.texts) == (0, [])


def test_a_table_that_was_read_before_rows_were_kept_gets_them_and_keeps_its_passages(
    store: KnowledgeStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "costs.csv").write_text("shop,amount\nLuna,3.50\nTram,2\n")
    with monkeypatch.context() as before:
        before.setattr("device_app.knowledge.readers.VERSION", 3)
        before.setattr("device_app.knowledge.readers.tables.TableRow", lambda text, line, *_: Block(text, line))
        Ingestion(store, FakeEmbedder()).run([tmp_path])
    passages = store.newest_passage()
    assert not TableStore(store.database).tables(Filters())
    Ingestion(store, FakeEmbedder()).run([tmp_path])
    (table,) = TableStore(store.database).tables(Filters())
    assert TableStore(store.database).count(table, []) == 2
    assert store.newest_passage() == passages


class OtherEmbedder(FakeEmbedder):
    """An embedder whose vectors differ from those of the usual one."""

    fingerprint = "other"

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        return -super().embed(texts)


def test_another_embedder_makes_all_vectors_new(store: KnowledgeStore, folder: Path) -> None:
    document = Document("k", "chat", "Messages with Anna", (Block("Anna: the parcel is here"),))

    def read(embedder: FakeEmbedder) -> list[npt.NDArray[np.float32]]:
        ingestion = Ingestion(store, embedder)
        ingestion.run([folder])
        ingestion.take(b"phone:messages", [document], whole=True)
        rows = store.database.execute("SELECT vector FROM vectors ORDER BY passage_id")
        return [np.frombuffer(vector, "<f4") for (vector,) in rows]

    before, after = read(FakeEmbedder()), read(OtherEmbedder())
    assert len(before) == len(after) == 6
    for old, new in zip(before, after, strict=True):
        np.testing.assert_allclose(new, -old)
    counting = CountingEmbedder()
    counting.fingerprint = OtherEmbedder.fingerprint
    read(counting)
    assert not counting.texts
