"""The corpus in a Milvus: a cluster at an address, or milvus-lite in a file. Implements `Corpus`.

One row, the head, names the collection that is searched and where the facts about it stand: writing it is the switch.
A database holds one index. Nothing is asked before it is needed; `milvus_index` fills it.
"""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Any, TypeVar
from urllib.parse import urlsplit

from grpc import RpcError
from msgspec import MsgspecError, Struct, json
from pymilvus import MilvusClient, MilvusException

from cloud_server.retrieval.corpus import Vector
from cloud_server.retrieval.index import IndexVersion
from cloud_server.retrieval.versions import IndexMetadata
from shared.errors import NothingFound, StoreCorrupt, StoreError, UsageError
from shared.protocol.messages import PublicPassage
from storage.paths import private_folder

HEADS = "jackdaw_index"
"""The collection of the head, in row 0, and of the facts, in pieces in the rows that the head names."""

FIELDS = ("title", "path", "text")

WAIT_S = 3.0
"""Seconds to connect and for a question: searches take milliseconds, and devices wait for them."""

SERIES_SHIFT = 32
"""A passage's id is its number in the index, and above that the series: ids of an index that was rebuilt differ."""

_LOOK_S = 2.0
"""Seconds for which it is not looked whether another collection is searched now."""

_ATTEMPTS = 5
"""Heads that are read whose facts another process deletes meanwhile."""

_LOCAL = {"127.0.0.1", "::1", "localhost"}

Kept = TypeVar("Kept")

log = logging.getLogger(__name__)

for _name in ("pymilvus", "milvus_lite", "grpc._server"):  # what fails is said once, by who asked, without a traceback
    logging.getLogger(_name).setLevel(logging.CRITICAL)


class Head(Struct, frozen=True):
    """What is searched: a collection, and its facts in `pieces` rows from `first` on."""

    collection: str
    first: int
    pieces: int


class Milvus:
    """The database at a URI, connected to when it is first asked. Safe for several threads.

    `token` is an API key, or user:password. Raises UsageError for a URI that is none, that shows a password, or by
    which the vectors of questions would go in the open.
    """

    def __init__(self, uri: str, token: str) -> None:
        try:
            parts = urlsplit(uri)
        except ValueError as error:
            raise UsageError(
                f"retrieval.milvus is no address ({error}). It is https://HOST:19530/DATABASE, or FILE.db."
            ) from None
        if "@" in parts.netloc:
            raise UsageError("retrieval.milvus holds a password. Put it into MILVUS_TOKEN, as user:password.")
        self.is_file = not parts.netloc
        if not self.is_file and parts.scheme != "https" and parts.hostname not in _LOCAL:
            raise UsageError(f"{uri} would send what questions are about in the open. Use https:// there.")
        self.uri = str(Path(uri).expanduser().absolute()) if self.is_file else uri
        self._token = token
        self._client: MilvusClient | None = None
        self._connecting = Lock()

    @contextmanager
    def asked(self) -> Iterator[MilvusClient]:
        """The client. Raises StoreError for whatever goes wrong there."""
        try:
            with self._connecting:
                if self._client is None:
                    if self.is_file:
                        private_folder(Path(self.uri).parent)
                    self._client = MilvusClient(self.uri, token=self._token, timeout=WAIT_S)
            yield self._client
        except (MilvusException, RpcError) as error:  # the second as it is, where it took too long, or is too much
            why = error.message if isinstance(error, MilvusException) else error.details()
            step = (
                "It must end in .db, and one process at a time has it open: end the other, or use a Milvus server."
                if self.is_file
                else "Check that it runs, and that MILVUS_TOKEN is right."
            )
            raise StoreError(f"Milvus at {self.uri} does not do it ({why}). {step}") from error

    def head(self) -> Head:
        """What is searched now. Raises NothingFound, StoreError."""
        with self.asked() as client:
            rows = self._texts(client, [0]) if client.has_collection(HEADS, timeout=WAIT_S) else []
        if not rows:
            raise NothingFound(f"There is no index in {self.uri}. Make one: jackdaw-server index build SOURCE")
        return _decoded(self.uri, rows[0], Head)

    def held(self) -> IndexVersion:
        """The same, and all that is known about it. Raises NothingFound, StoreError."""
        for _ in range(_ATTEMPTS):
            head = self.head()
            with self.asked() as client:
                pieces = self._texts(client, range(head.first, head.first + head.pieces))
            try:
                return IndexVersion(
                    f"{head.collection}@{head.first}", _decoded(self.uri, "".join(pieces), IndexMetadata)
                )
            except StoreCorrupt:  # a switch deletes what the old head named
                if self.head() == head:
                    raise
        raise StoreError(f"The index in {self.uri} changes all the time. Try again.")

    def _texts(self, client: MilvusClient, ids: Sequence[int]) -> list[str]:
        rows = client.query(HEADS, ids=list(ids), output_fields=["text"], timeout=WAIT_S, consistency_level="Strong")
        return [row["text"] for row in sorted(rows, key=lambda row: row["id"])]


class MilvusCorpus:
    """Passages by the nearness of their vectors. Safe for several threads.

    Where there is no index it is empty until there is one. Another collection is searched within seconds of the switch.
    """

    def __init__(self, milvus: Milvus, embedder: str) -> None:
        self._milvus = milvus
        self._embedder = embedder
        self._held: IndexVersion | None = None
        self._looked = -_LOOK_S
        self._unreached = ""
        self._said = ""
        self._looking = Lock()

    @property
    def embedder(self) -> str:
        """Fingerprint of the embedder that made the vectors, and has to make those of questions."""
        return self._embedder

    def __len__(self) -> int:
        """Passages in it; 0 also where it cannot be told, which the log says."""
        try:
            held = self._current()
        except StoreError as error:
            self._say(str(error))
            return 0
        return held.facts.passages if held else 0

    def search(self, vector: Vector, most: int) -> list[PublicPassage]:
        """The nearest passages, best first; `vector` is a unit vector of the same embedder. Raises StoreError."""
        if most < 1:
            return []
        rows = self._asked("search", data=[vector], limit=most)
        return [_passage(row["id"], row["entity"], row["distance"]) for row in (rows[0] if rows else ())]

    def passages(self, ids: Sequence[int]) -> list[PublicPassage]:
        """The passages of these ids, in their order, as near as can be; ids that are not there are left out.

        Raises StoreError.
        """
        rows = {row["id"]: row for row in self._asked("query", ids=list(ids))} if ids else {}
        return [_passage(number, rows[number], 1.0) for number in ids if number in rows]

    def prefetch(self, vector: Vector) -> None:
        """Nothing: Milvus has the lists. All that could come early is the search, which whoever guesses can ask for."""

    def refresh(self) -> None:
        """Look what is searched now. Raises NothingFound, StoreError, and UsageError for another embedder's."""
        with self._looking:
            self._look()

    def _asked(self, what: str, **question: Any) -> Any:
        """Ask the current collection; once more, where it was another one meanwhile."""
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
            if self._unreached:  # else each question that waits behind would wait as long again
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
                "Build it again, or choose that embedder."
            )
        self._held = held


def _passage(identity: int, row: dict[str, Any], cosine: float) -> PublicPassage:
    return PublicPassage(identity, row["title"], row["path"], row["text"], cosine, score=min(max(cosine, 0.0), 1.0))


def _decoded(uri: str, text: str, form: type[Kept]) -> Kept:
    try:
        return json.decode(text, type=form)
    except MsgspecError as error:
        raise StoreCorrupt(f"The index in {uri} cannot be read ({error}). Build it again.") from error
