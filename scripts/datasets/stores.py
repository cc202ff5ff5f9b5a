"""Stores of evaluation documents that Jackdaw can search. They are filled directly, without reading files."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np

from device_app.english.query import Query
from device_app.knowledge.known_people import known_people
from device_app.knowledge.retriever import Retriever, over
from models.engine import Embedder
from scripts.datasets.folders import Asked, Folder
from shared.text import embedded_text, passages
from shared.types import Document, Hit, Passage
from storage.database import Database
from storage.knowledge import FileState, KnowledgeStore, PreparedDocument

FOUND = 8
"""The number of passages retrieved for a question."""

_IN_FILE = 100
"""The number of passages retrieved for a question that is limited to a file, before passages of other files are left
out.
"""


def filled(path: Path, files: Mapping[str, Sequence[Document]], embedder: Embedder) -> KnowledgeStore:
    """Return a new store that holds the given documents, by file name."""
    store = KnowledgeStore(Database(path))
    for name, documents in files.items():
        cut = [passages(document.blocks) or [Passage(document.title, 0)] for document in documents]
        texts = [
            embedded_text(document.title, passage.text)
            for document, own in zip(documents, cut, strict=True)
            for passage in own
        ]
        vectors = iter(embedder.embed(texts))
        state = FileState(f"/set/{name}".encode(), 0, 0, "", "")
        with store.database.transaction():
            file_id = store.open_file(state)
            for document, own in zip(documents, cut, strict=True):
                store.put(file_id, PreparedDocument(document, "", own, np.stack([next(vectors) for _ in own])))
            store.close_file(file_id, state, {document.key for document in documents})
    return store


def retriever_over(store: KnowledgeStore, embedder: Embedder) -> Retriever:
    """Return a retriever for the store."""
    return over(store, embedder, known_people(store.database))


@contextmanager
def searched(room: Path, name: str, folder: Folder, embedder: Embedder) -> Iterator[Retriever]:
    """Yield a retriever over a folder's documents, whose ids count from 1 in order. The database in `room` is filled
    only once for the same documents.
    """
    digest = hashlib.blake2b(repr(folder.files).encode(), digest_size=6).hexdigest()
    path = room / f"{name}-{digest}.db"
    if not path.exists():
        fresh = path.with_suffix(".part")
        fresh.unlink(missing_ok=True)
        filled(fresh, folder.files, embedder).database.close()
        fresh.replace(path)
    with closing(Database(path)) as database:
        yield retriever_over(KnowledgeStore(database), embedder)


def among(retriever: Retriever, question: Asked, count: int) -> list[Hit]:
    """Return the passages retrieved for a question; if it is limited to a file, only passages of that file."""
    hits = retriever.search(Query(question.question), count if question.file is None else _IN_FILE)
    return [hit for hit in hits if question.file is None or hit.passage.path == f"/set/{question.file}"][:count]
