"""The corpus in Milvus: a cluster at an address, or milvus-lite in a file. Implements `Corpus`.

One row, the head, names the searched collection and the rows with its metadata; writing the head switches to a new
index. A database holds one index. A connection is made only when it is first needed. `milvus_index` fills the database.
"""

import logging
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Any, TypeVar
from urllib.parse import urlsplit

from grpc import RpcError
from msgspec import MsgspecError, Struct, json
from pymilvus import MilvusClient, MilvusException

from cloud_server.monitoring.load import VectorUse
from cloud_server.retrieval.corpus import Vector
from cloud_server.retrieval.early_search import EarlySearch
from cloud_server.retrieval.index import IndexVersion
from cloud_server.retrieval.versions import IndexMetadata
from shared.errors import NothingFound, StoreCorrupt, StoreError, UsageError
from shared.protocol.messages import PublicPassage
from storage.private import private_folder

HEADS = "jackdaw_index"
"""The name of the collection whose row 0 is the head (see `Head`). The rows that the head names contain the index's
metadata, in pieces.
"""

FIELDS = ("title", "path", "text")

WAIT_S = 3.0
"""Timeout in seconds for connecting and for a query. Searches take milliseconds, and devices wait for them."""

SERIES_SHIFT = 32
"""The number of lower bits of a passage's id that hold the passage's number.

The bits above hold the index's series: a number that changes when the index is rebuilt, so that its passages get new
ids.
"""

_LOOK_S = 2.0
"""Seconds between two checks whether the head names another collection."""

_EARLY = 4
"""Early searches at once, for texts that are still being written; others wait, or are dropped with their text."""

_ATTEMPTS = 5
"""Attempts to read a head and its metadata while another process replaces them."""

_LOCAL = {"127.0.0.1", "::1", "localhost"}

Kept = TypeVar("Kept")

log = logging.getLogger(__name__)

for _name in ("pymilvus", "milvus_lite", "grpc._server"):  # the caller logs errors, without a traceback
    logging.getLogger(_name).setLevel(logging.CRITICAL)


class Head(Struct, frozen=True):
    """The record that says which collection is searched, and which rows contain its metadata: `pieces` rows from row
    `first` on.
    """

    collection: str
    first: int
    pieces: int


class Milvus:
    """The Milvus database at a URI; connects on first use. Thread-safe.

    `token` is an API key, or user:password. Raises UsageError for an invalid URI, a URI with a password, or a remote
    URI without TLS, which would send query vectors in the clear.
    """

    def __init__(self, uri: str, token: str) -> None:
        try:
            parts = urlsplit(uri)
        except ValueError as error:
            raise UsageError(
                f"retrieval.milvus is not an address ({error}). Set it to https://HOST:19530/DATABASE or FILE.db."
            ) from None
        if "@" in parts.netloc:
            raise UsageError(
                "retrieval.milvus holds a password. Move the password to the variable MILVUS_TOKEN, as user:password."
            )
        self.is_file = not parts.netloc
        if not self.is_file and parts.scheme != "https" and parts.hostname not in _LOCAL:
            raise UsageError(f"{uri} would send questions unencrypted. Use an address that begins with https://.")
        self.uri = str(Path(uri).expanduser().absolute()) if self.is_file else uri
        self._token = token
        self._client: MilvusClient | None = None
        self._connecting = Lock()

    @contextmanager
    def asked(self) -> Iterator[MilvusClient]:
        """Yield the connected client. Turns any error of Milvus into StoreError."""
        try:
            with self._connecting:
                if self._client is None:
                    if self.is_file:
                        private_folder(Path(self.uri).parent)
                    self._client = MilvusClient(self.uri, token=self._token, timeout=WAIT_S)
            yield self._client
        except (MilvusException, RpcError) as error:  # RpcError: a timeout, or a too large message
            why = error.message if isinstance(error, MilvusException) else error.details()
            step = (
                "The file's name must end in .db, and only one process may have it open: end the other process, or use "
                "a Milvus server."
                if self.is_file
                else "Check that Milvus runs and that MILVUS_TOKEN is right."
            )
            raise StoreError(f"Milvus at {self.uri} failed ({why}). {step}") from error

    def head(self) -> Head:
        """Return the head: the searched collection, and the rows with its metadata. Raises NothingFound, StoreError."""
        with self.asked() as client:
            rows = self._texts(client, [0]) if client.has_collection(HEADS, timeout=WAIT_S) else []
        if not rows:
            raise NothingFound(f"There is no index in {self.uri}. Build one: jackdaw-server index build SOURCE")
        return _decoded(self.uri, rows[0], Head)

    def held(self) -> IndexVersion:
        """Return the name and the metadata of the current index. Raises NothingFound, StoreError."""
        for _ in range(_ATTEMPTS):
            head = self.head()
            with self.asked() as client:
                pieces = self._texts(client, range(head.first, head.first + head.pieces))
            try:
                return IndexVersion(
                    f"{head.collection}@{head.first}", _decoded(self.uri, "".join(pieces), IndexMetadata)
                )
            except StoreCorrupt:  # a concurrent switch deletes the old head's rows
                if self.head() == head:
                    raise
        raise StoreError(f"The index in {self.uri} is being replaced too often to be read. Try again.")

    def _texts(self, client: MilvusClient, ids: Sequence[int]) -> list[str]:
        rows = client.query(HEADS, ids=list(ids), output_fields=["text"], timeout=WAIT_S, consistency_level="Strong")
        return [row["text"] for row in sorted(rows, key=lambda row: row["id"])]


class MilvusCorpus:
    """Passages in Milvus, searched by vector similarity. Thread-safe.

    Empty while there is no index. Searches use a new collection within seconds.
    """

    def __init__(self, milvus: Milvus, embedder: str) -> None:
        self._milvus = milvus
        self._embedder = embedder
        self._held: IndexVersion | None = None
        self._looked = -_LOOK_S
        self._unreached = ""
        self._said = ""
        self._looking = Lock()
        self._early = ThreadPoolExecutor(_EARLY, thread_name_prefix="early-search")

    @property
    def embedder(self) -> str:
        """The fingerprint of the embedder that made the passages' vectors and has to make the query vectors."""
        return self._embedder

    def __len__(self) -> int:
        """Return the number of passages; 0 if Milvus cannot be read, with an entry in the log."""
        try:
            held = self._current()
        except StoreError as error:
            self._say(str(error))
            return 0
        return held.facts.passages if held else 0

    def vector_use(self) -> VectorUse:
        """Return zeros, because the vectors take no memory or disk of this machine."""
        return VectorUse()

    def relieve(self) -> None:
        """Do nothing, because the vectors take no memory of this machine."""

    def search(self, vector: Vector, most: int) -> list[PublicPassage]:
        """Return at most `most` nearest passages, best first; `vector` is a unit vector of the same embedder. Raises
        StoreError.
        """
        return self.search_many([vector], most)[0]

    def search_many(self, vectors: Sequence[Vector], most: int) -> list[list[PublicPassage]]:
        """Search for several vectors in one call, each as `search` does. Raises StoreError."""
        hits = self._asked("search", data=list(vectors), limit=most) if vectors and most > 0 else []
        return [
            [_passage(row["id"], row["entity"], row["distance"]) for row in rows]
            for rows in (hits or [[] for _ in vectors])
        ]

    def passages(self, ids: Sequence[int]) -> list[PublicPassage]:
        """Return the passages with these ids, in their order, with cosine 1; unknown ids are left out.

        Raises StoreError.
        """
        rows = {row["id"]: row for row in self._asked("query", ids=list(ids))} if ids else {}
        return [_passage(number, rows[number], 1.0) for number in ids if number in rows]

    def provisional(self, vector: Vector, most: int) -> list[PublicPassage]:  # noqa: ARG002  # the same search again
        """Return no passages, because Milvus gives no results before its search is over."""
        return []

    def look_ahead(self, vector: Vector, pipeline: str) -> EarlySearch:  # noqa: ARG002  # Milvus reads what it likes
        """Return a look-ahead that only searches early, as the clusters are in Milvus and cannot be prefetched."""
        return EarlySearch(self.search, vector, self._early)

    def refresh(self) -> None:
        """Check for a new index now. Raises NothingFound, StoreError, and UsageError if another embedder made the
        index.
        """
        with self._looking:
            self._look()

    def _asked(self, what: str, **question: Any) -> Any:
        """Call a method of the client on the current collection; retry once if the collection was replaced
        meanwhile.
        """
        for last in (False, True):
            held = self._current()
            if held is None:
                return []
            collection = held.name.partition("@")[0]
            try:
                with self._milvus.asked() as client:
                    return getattr(client, what)(collection, output_fields=list(FIELDS), timeout=WAIT_S, **question)
            except StoreError:
                self._looked = -_LOOK_S
                now = self._current()
                if last or (now and now.name == held.name):
                    raise
        return []

    def _current(self) -> IndexVersion | None:
        with self._looking:
            if monotonic() - self._looked >= _LOOK_S:
                self._unreached = ""
                try:
                    self._look()
                except (NothingFound, UsageError) as error:
                    self._say(str(error))
                except StoreError as error:
                    self._unreached = str(error)
                else:
                    self._said = ""
                self._looked = monotonic()
            if self._unreached:  # otherwise each queued query would wait for the timeout again
                raise StoreError(self._unreached)
            return self._held

    def _say(self, why: str) -> None:
        if why != self._said:
            log.error("the index cannot be searched", extra={"detail": why})
        self._said = why

    def _look(self) -> None:
        held, head = self._held, self._milvus.head()
        if held and held.name == f"{head.collection}@{head.first}":
            return
        held = self._milvus.held()
        if held.facts.embedder != self._embedder:
            raise UsageError(
                f"The index was made with the embedder {held.facts.embedder}, and the server uses {self._embedder}. "
                "Restart the server to use the index's embedder, or build the index again."
            )
        self._held = held


def _passage(identity: int, row: dict[str, Any], cosine: float) -> PublicPassage:
    return PublicPassage(identity, row["title"], row["path"], row["text"], cosine, score=min(max(cosine, 0.0), 1.0))


def _decoded(uri: str, text: str, form: type[Kept]) -> Kept:
    try:
        return json.decode(text, type=form)
    except MsgspecError as error:
        raise StoreCorrupt(f"The index in {uri} cannot be read ({error}). Build the index again.") from error
