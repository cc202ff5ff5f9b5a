"""Turns files into stored passages, incrementally. Independent of file formats (readers know them) and of ranking.

Work is done in batches of passages, which is efficient for the embedder. The documents of a file are stored in one
transaction. A mailbox or log with more documents than fit in a batch is stored batch by batch, and a document longer
than a book part by part; such a file is marked as read only with its last batch. A killed process thus loses at most
one batch of work, and the next run continues there.
"""

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from device_app.knowledge import readers
from device_app.knowledge.cells import table_of
from device_app.knowledge.ingest_report import IngestReport, PartlyRead, Skipped, UnreadKind, suffix_of
from device_app.knowledge.keyed import digest, parts, with_own_key
from models.engine import Embedder
from shared.errors import PasswordNeeded, UnreadableFile
from shared.printable import printable
from shared.text import PASSAGE_WORDS, embedded_text, passages
from shared.types import Document, Passage
from storage.knowledge import FileState, KnowledgeStore, PreparedDocument
from storage.passages import show

BATCH_PASSAGES = 128
"""The number of passages embedded together: enough to fill the embedder's batches, few enough to limit losses."""


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of an ingestion, in bytes of the files on disk; within a file, estimated from its text.

    While the files are being listed, `total_bytes` is 0. `documents` were stored; `files` of `total_files` are done.
    """

    path: str
    done_bytes: int
    total_bytes: int
    documents: int
    files: int = 0
    total_files: int = 0


@dataclass(slots=True)
class _OpenFile:
    """A file being read: its documents queued for the embedder, and the number of copies of each key so far.

    `comparable`: the stored passages and vectors of the file are those that the same text would have now.
    """

    state: FileState
    comparable: bool
    waiting: list[tuple[Document, str, list[Passage]]] = field(default_factory=list)
    keys: dict[str, int] = field(default_factory=dict)
    whole: bool = False


@dataclass(slots=True)
class Ingestion:
    """An ingestion of some files and folders, in passages of about `words` words."""

    store: KnowledgeStore
    embedder: Embedder
    words: int = PASSAGE_WORDS
    max_bytes: int = readers.MAX_BYTES
    pdf: readers.PdfOptions | None = None
    batch_passages: int = field(default_factory=lambda: BATCH_PASSAGES)
    on_progress: Callable[[Progress], None] = lambda _: None
    report: IngestReport = field(default_factory=IngestReport)
    _batch: list[_OpenFile] = field(default_factory=list)
    _waiting: int = 0
    _progress: Progress = Progress("", 0, 0, 0)
    _end: int = 0
    """The number of bytes done once the current file is finished, for the progress display."""

    @property
    def fingerprint(self) -> str:
        """The fingerprint of everything besides a file's content that determines which passages are stored."""
        return f"readers {readers.VERSION}, {self._cutting}"

    @property
    def _cutting(self) -> str:
        """The fingerprint of everything that determines a document's passages and vectors, apart from the reader."""
        return f"{self.words} words, {self.embedder.fingerprint}"

    def run(self, paths: Iterable[Path]) -> IngestReport:
        """Bring the store up to date with the given files and folders.

        Raises StoreError; files finished before the error stay stored. A file that cannot be read is listed in the
        report instead of raising an error.
        """
        roots = [Path(os.path.abspath(path)) for path in paths]  # noqa: PTH100 (resolve() would follow links)
        files = []
        unread = Counter[str]()
        for item in readers.walk(roots, lambda path: unread.update([suffix_of(path)])):
            files.append(item)
            self._report_progress(total_files=len(files))
        self.report.unread = [UnreadKind(suffix, count) for suffix, count in unread.most_common()]
        self._forget_missing(roots, files)
        for root in roots:
            # Files that still cannot be read are recorded again.
            self.store.clear_skipped(os.fsencode(root))
        total = sum(item.size for item in files)
        for place, item in enumerate(files):
            self._report_progress(
                path=show(os.fsencode(item.path)), done_bytes=self._end, total_bytes=total, files=place
            )
            self._end += item.size
            if item.reason is None:
                self._file(item.path)
            else:
                self._skip(item.path, item.reason)
        self._flush()
        self._report_progress(path="", done_bytes=total, total_bytes=total, files=len(files))
        return self.report

    def take(self, name: bytes, documents: Sequence[Document], *, whole: bool = False) -> Collection[str]:
        """Store documents from a source other than a file under this name, replacing those with the same keys.

        Return the keys under which they are stored now. With `whole`, these are all documents of the source: others
        stored under the name are deleted. Without it, `KnowledgeStore.complete` has to be called after the last
        documents. Raises StoreError.
        """
        state = FileState(name, 0, 0, "", self.fingerprint)
        opened = _OpenFile(state, self._is_comparable(self.store.file(name)))
        self._batch.append(opened)
        keyed = [part for document in documents for part in parts(document)]
        stored = self.store.hashes_of(name, [document.key for document in keyed]) if opened.comparable else {}
        for document in keyed:
            self._document(opened, with_own_key(document, opened.keys), stored)
        opened.whole = whole
        self._flush()
        self._batch = []
        return opened.keys

    def _report_progress(self, **news: Any) -> None:
        self._progress = replace(self._progress, documents=self.report.documents, **news)
        self.on_progress(self._progress)

    def _file(self, path: Path) -> None:
        name = readers.identity(path)
        try:
            stat = path.stat()
            known = self.store.file(name)
            usable = known is not None and known.fingerprint == self.fingerprint
            if known and usable and known.sha256 and (known.size, known.mtime_ns) == (stat.st_size, stat.st_mtime_ns):
                self.report.unchanged += self.store.count_documents(name)
                return
            with path.open("rb") as stream:
                sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
            state = FileState(name, stat.st_size, stat.st_mtime_ns, sha256, self.fingerprint)
            if known and usable and known.sha256 == sha256:
                self.store.touch(state)
                self.report.unchanged += self.store.count_documents(name)
                return
            opened = _OpenFile(state, self._is_comparable(known))
            self._read(opened, path, self.store.document_hashes(name) if opened.comparable else {})
        except OSError as error:
            self._skip(path, (error.strerror or "cannot be read").lower())
        except UnreadableFile as error:
            self._skip(path, str(error))
            if isinstance(error, PasswordNeeded):
                self.report.locked.append(path)

    def _is_comparable(self, known: FileState | None) -> bool:
        """Return whether the stored passages and vectors of a file are those that the same documents would have now.

        If so, after a change of the readers only documents that come out differently are stored again.
        """
        return known is not None and known.fingerprint.partition(", ")[2] == self._cutting

    def _read(self, opened: _OpenFile, path: Path, stored: dict[str, str]) -> None:
        self._batch.append(opened)
        try:
            reading = readers.read(
                path, max_bytes=self.max_bytes, pdf=self.pdf, on_omitted=partial(self._note_omitted, path)
            )
            for document in reading:
                for part in parts(document):
                    self._document(opened, with_own_key(part, opened.keys), stored)
        except BaseException:
            # Documents stored in earlier batches stay, marked incomplete.
            self._batch.remove(opened)
            self._waiting = sum(len(cut) for file in self._batch for _, _, cut in file.waiting)
            raise
        opened.whole = True
        if self._waiting >= self.batch_passages:
            self._flush()

    def _document(self, opened: _OpenFile, document: Document, stored: dict[str, str]) -> None:
        opened.keys[document.key] = 1
        read = self._progress.done_bytes + sum(len(block.text) for block in document.blocks)
        self._progress = replace(self._progress, done_bytes=min(read, self._end))
        content = digest(document)
        if stored.get(document.key) == content:
            self.report.unchanged += 1
            return
        # A mail or an event may consist of its title alone.
        cut = passages(document.blocks, self.words) or [Passage(document.title, 0)]
        opened.waiting.append((document, content, cut))
        self._waiting += len(cut)
        if self._waiting >= self.batch_passages:
            self._flush()

    def _flush(self) -> None:
        """Embed the queued documents, then store them: the database is locked only for storing."""
        prepared = iter(self._embed([(file, *waiting) for file in self._batch for waiting in file.waiting]))
        for opened in self._batch:
            with self.store.database.transaction():
                file_id = self.store.open_file(opened.state)
                for _ in opened.waiting:
                    document = next(prepared)
                    self.store.put(file_id, document)
                    self.report.documents += 1
                    self.report.passages += len(document.passages)
                if opened.whole:
                    self.store.close_file(file_id, opened.state, opened.keys)
            opened.waiting = []
        self._batch = [opened for opened in self._batch if not opened.whole]
        self._waiting = 0
        self._report_progress()

    def _embed(self, waiting: list[tuple[_OpenFile, Document, str, list[Passage]]]) -> list[PreparedDocument]:
        """Return the queued documents with passages and vectors; stored vectors are reused, the others computed in one
        batch.
        """
        stored = [
            self.store.vectors_by_text(opened.state.path, document.key) if opened.comparable else {}
            for opened, document, _, _ in waiting
        ]
        texts = {
            embedded_text(document.title, passage.text): None
            for (_, document, _, cut), known in zip(waiting, stored, strict=True)
            for passage in cut
            if (document.title, passage.text) not in known
        }
        fresh = dict(zip(texts, self.embedder.embed(list(texts)), strict=True)) if texts else {}
        prepared = []
        for (_, document, content, cut), known in zip(waiting, stored, strict=True):
            rows = [
                np.frombuffer(known[document.title, passage.text], "<f4")
                if (document.title, passage.text) in known
                else fresh[embedded_text(document.title, passage.text)]
                for passage in cut
            ]
            prepared.append(PreparedDocument(document, content, cut, np.stack(rows), table_of(document)))
        return prepared

    def _forget_missing(self, roots: list[Path], files: list[readers.FoundFile]) -> None:
        """Remove from the store the files that no longer exist, but not files that could not be checked this time."""
        present = {readers.identity(item.path) for item in files if item.reason is None}
        closed = [item.path for item in files if item.reason is not None and not _is_gone(item.path)]
        kept = {readers.identity(path) for path in closed}
        # The store has the mails in a Maildir's `new` under its `cur`.
        kept |= {os.path.dirname(readers.identity(path / "any")) for path in closed}  # noqa: PTH120 (bytes)
        for root in roots:
            # A folder that is gone with its parent may be on a drive that is not connected.
            if _is_gone(root) and not root.parent.is_dir():
                continue
            for path in self.store.paths_under(os.fsencode(root)):
                if path in present or _is_within(path, kept):
                    continue
                # Files that still exist are removed too: they have another name now, or are excluded.
                if _is_gone(path) or os.path.lexists(path):
                    with self.store.database.transaction():
                        self.store.remove_file(path)
                    self.report.removed += 1

    def _note_omitted(self, path: Path, what: str) -> None:
        self.report.partly_read.append(PartlyRead(show(readers.identity(path)), printable(what)))

    def _skip(self, path: Path, reason: str) -> None:
        name = readers.identity(path)
        self.store.note_skipped(name, reason)
        self.report.skipped.append(Skipped(show(name), reason))


def _is_gone(path: Path | bytes) -> bool:
    """Return whether the path does not exist; False if that is unknown (permissions, a failing disk)."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        pass
    return False


def _is_within(path: bytes, some: set[bytes]) -> bool:
    """Return whether the path, or a folder above it, is in `some`."""
    here = Path(os.fsdecode(path))
    return any(os.fsencode(folder) in some for folder in (here, *here.parents))
