"""Writes finished shards into Milvus and makes them the current index. Implements `Index`.

Row ids follow from the sources, so that a rerun overwrites the rows of a killed run. A build fills a new collection
beside the searched one; added passages are written into the searched collection, and are searched once the next head
(`milvus.Head`) is written.
"""

import hashlib
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec import json
from pymilvus import DataType, MilvusClient

from cloud_server.retrieval.index import FinishedShards, IndexVersion, Progress
from cloud_server.retrieval.versions import IndexMetadata
from cloud_server.scale.milvus import HEADS, SERIES_SHIFT, Head, Milvus
from storage.public_passages import PassageFiles

_ROWS = 512
"""Rows per call: about 2 MB of the 64 MB that Milvus accepts."""

_BYTES = {"title": 1200, "path": 2000, "text": 10_000}
"""The most bytes of each field: the protocol's limits for a public passage, at four bytes per character."""

_PIECE = 15_000
"""Characters of metadata per row, which holds 65,535 bytes."""

_PREFIX = "jackdaw_passages_"
_SERIES_BITS = 20
_PIECES = 1 << 20  # rows between the metadata of two heads


class MilvusIndex:
    """The index in Milvus. `folder` holds the shards while they are made."""

    def __init__(self, milvus: Milvus, folder: Path) -> None:
        self._milvus = milvus
        self._folder = folder

    @property
    def folder(self) -> Path:
        """The folder of the shards."""
        return self._folder

    def held(self) -> IndexVersion:
        """Return the current index's name and metadata. Raises NothingFound, StoreError."""
        return self._milvus.held()

    def describe(self) -> dict[str, object]:
        """Return the database and the collection that is searched. Raises NothingFound, StoreError."""
        return {"milvus": self._milvus.uri, "collection": self._milvus.head().collection}

    def publish(self, made: FinishedShards, on_progress: Callable[[Progress], None]) -> IndexMetadata:
        """Write the shards' rows, then the head (`milvus.Head`), which makes them searchable. Raises StoreError; the
        same call continues after an error.
        """
        digest = hashlib.sha256(json.encode(made.plan)).hexdigest()
        old = made.base.facts if made.base else None
        facts = IndexMetadata(
            passages=made.passages + (old.passages if old else 0),
            clusters=0,
            dimensions=made.plan.dimensions,
            embedder=made.plan.embedder,
            built_at=datetime.now(UTC).isoformat(timespec="seconds"),
            trained_on=0,
            series=old.series if old else int(digest, 16) % (1 << _SERIES_BITS),
            files=(),
            sources=(*(old.sources if old else ()), *made.plan.sources),
            skipped=made.skipped + (old.skipped if old else 0),
            model=old.model if old else made.model,
            relevance=old.relevance if old else made.relevance,
        )
        collection = made.base.name.partition("@")[0] if made.base else _PREFIX + digest[:16]
        with self._milvus.asked() as client:
            _make_collection(client, collection, facts.dimensions)
            first = facts.series << SERIES_SHIFT
            done = old.passages if old else 0
            for rows in _rows(made, first + done):
                client.upsert(collection, rows)
                done += len(rows)
                on_progress(Progress("writing", done - (old.passages if old else 0), made.passages, made.passages))
            client.delete(collection, filter=f"id >= {first + facts.passages}")  # rows of a killed run
            client.flush(collection)
            self._switch(client, collection, facts)
        return facts

    def _switch(self, client: MilvusClient, collection: str, facts: IndexMetadata) -> None:
        """Write the metadata, then the head that names it; then delete old metadata and collections."""
        text = json.encode(facts).decode()
        pieces = [text[begin : begin + _PIECE] for begin in range(0, len(text), _PIECE)]
        first = _PIECES * (int.from_bytes(hashlib.sha256(text.encode()).digest()[:4]) + 1)
        if not client.has_collection(HEADS):
            _create(client, HEADS, 2, {"text": 65_535})
        head = json.encode(Head(collection, first, len(pieces))).decode()
        client.upsert(HEADS, [_fact(first + place, piece) for place, piece in enumerate(pieces)])
        client.upsert(HEADS, [_fact(0, head)])
        client.flush(HEADS)
        client.delete(HEADS, filter=f"(id > 0 and id < {first}) or id >= {first + len(pieces)}")
        for name in client.list_collections():
            if name.startswith(_PREFIX) and name != collection:
                client.drop_collection(name)


def _make_collection(client: MilvusClient, name: str, dimensions: int) -> None:
    if not client.has_collection(name):
        _create(client, name, dimensions, _BYTES)
    client.load_collection(name)


def _create(client: MilvusClient, name: str, dimensions: int, texts: dict[str, int]) -> None:
    schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
    schema.add_field("id", DataType.INT64, is_primary=True)
    schema.add_field("vector", DataType.FLOAT_VECTOR, dim=dimensions)
    for field, most in texts.items():
        schema.add_field(field, DataType.VARCHAR, max_length=most)
    index = client.prepare_index_params()
    index.add_index("vector", index_type="AUTOINDEX", metric_type="IP")
    client.create_collection(name, schema=schema, index_params=index)


def _rows(made: FinishedShards, first: int) -> Iterator[list[dict[str, Any]]]:
    for number, shard in enumerate(made.finished):
        if not shard.passages:
            continue
        texts = PassageFiles([made.shards.passage_file(number)])
        vectors = made.shards.vectors(number, made.plan.dimensions)
        for begin in range(0, shard.passages, _ROWS):
            yield [
                {"id": first + row, "vector": vectors[row], **text._asdict()}
                for row in range(begin, min(begin + _ROWS, shard.passages))
                if (text := texts.read(row))
            ]
        first += shard.passages


def _fact(identity: int, text: str) -> dict[str, Any]:
    return {"id": identity, "vector": [1.0, 0.0], "text": text}
