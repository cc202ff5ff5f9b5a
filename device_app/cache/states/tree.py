"""The QKV tree (PerCache, section 4.1.1): attention states of prompt prefixes.

Nodes are segments of prompts, paths are prompts. A node's name is a hash of all texts from the root on, so its state is
exact if joined at the same position; a state joined at another position is `moved`, and is not kept there. Only K and V
are kept: no other value of the prefix is needed later.
"""

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from device_app.cache.eviction import Kept, Policy, victims
from device_app.cache.states.limit import states_limit
from device_app.settings.schema import Cache
from models import kv, kv_file
from models.engine import Engine, KVSlice
from shared.errors import NotWritable, SliceRejected
from shared.prompt import Segment
from storage.blobs import Blobs
from storage.counters import Counters
from storage.database import Database
from storage.knowledge import KnowledgeStore
from storage.kv_slices import KVSlices

_ABANDONED_S = 3600.0
"""The age in seconds from which an unfinished file counts as abandoned."""


@dataclass(frozen=True, slots=True)
class Node:
    """One step of a path: the instructions at the root, then one passage per node. `tokens` are the node's own."""

    segments: tuple[Segment, ...]
    tokens: Sequence[int]


@dataclass(frozen=True, slots=True)
class QKVTree:
    """The tree of one person. `limit` is in bytes; 0 keeps nothing.

    Nodes in `unseen` are treated as not kept. `computed` are states in memory, by node, that the current answer has
    computed. A `kv_key` identifies the model and the settings with which states were computed.
    """

    rows: KVSlices
    blobs: Blobs
    counters: Counters
    limit: int
    policy: Policy
    unseen: frozenset[str] = frozenset()
    computed: Mapping[str, KVSlice] = field(default_factory=dict)

    def with_computed(self, engine: Engine, row: int, path: Sequence[Node]) -> "QKVTree":
        """Return a tree that has all nodes of the path.

        The states of nodes that are not kept are copied into memory from `row`, a sequence of the engine that begins
        with this path.
        """
        key = engine.info.kv_key
        missing = {name for name, _ in self.missing(key, path)}
        computed, start = dict(self.computed), 0
        for name, node in zip(_names(key, path), path, strict=True):
            stop = start + len(node.tokens)
            if name in missing:
                computed[name] = engine.slice(row, start, stop)
            start = stop
        return replace(self, computed=computed)

    def not_computed(self, kv_key: str, path: Sequence[Node], start: int) -> list[Node]:
        """Return the path's nodes from index `start` on without those that the current answer has computed."""
        names = _names(kv_key, path)
        return [node for name, node in zip(names[start:], path[start:], strict=True) if name not in self.computed]

    def without(self, kv_key: str, root: Sequence[Segment], passages: Sequence[Sequence[Segment]]) -> "QKVTree":
        """Return a view of the tree that treats the given passages, directly after the root, as not kept."""
        parent = name_behind(kv_key, root)
        return replace(self, unseen=frozenset(name_behind(parent, passage) for passage in passages))

    def order(self, kv_key: str, root: Sequence[Segment], passages: Sequence[Sequence[Segment]]) -> list[int]:
        """Return the order of passages in a prompt that reuses most saved states, as indexes.

        The passages of the longest saved path come first, then the others as given.
        """

        def longest(parent: str, left: list[int]) -> list[int]:
            names = {place: name_behind(parent, passages[place]) for place in left}
            known = self.rows.known(list(names.values())) - self.unseen | self.computed.keys()
            paths = [
                [place, *longest(names[place], [other for other in left if other != place])]
                for place in left
                if names[place] in known
            ]
            return max(paths, key=len, default=[])

        path = longest(name_behind(kv_key, root), list(range(len(passages))))
        return path + [place for place in range(len(passages)) if place not in path]

    def extend(self, engine: Engine, row: int, path: Sequence[Node], held: int = 0) -> int:
        """Append the saved and computed states of the path's nodes to `row`, a sequence of the engine.

        The row already holds the first `held` nodes. Stops at the first node that is missing. Returns how many nodes
        the row holds then.
        """
        names = _names(engine.info.kv_key, path)
        known = self.rows.known(names)
        for name, node in zip(names[held:], path[held:], strict=True):
            if computed := self.computed.get(name):
                engine.join(row, [computed])
            elif name not in known or not self.joined(name, node, lambda states: engine.join(row, [states])):
                break
            held += 1
        return held

    def missing(self, kv_key: str, path: Sequence[Node]) -> list[tuple[str, Node]]:
        """Return the name and node of each step of the path that is neither kept nor computed."""
        names = _names(kv_key, path)
        known = self.rows.known(names) - self.unseen | self.computed.keys()
        return [(name, node) for name, node in zip(names, path, strict=True) if name not in known]

    def keep(self, engine: Engine, row: int, path: Sequence[Node]) -> int:
        """Keep the states of the path's nodes, which are at the start of the row, and count their use; return how many
        are new.

        Saved states (slices) over the limit are evicted. Nothing is kept for a model whose states cannot be cut into
        slices (`sliceable`), nor after a state that was computed at another position. Raises StoreFull, NotWritable.
        """
        if not (self.limit and engine.info.sliceable):
            return 0
        names = _names(engine.info.kv_key, path)
        known = self.rows.known(names)
        start = new = 0
        for place, (node, name) in enumerate(zip(path, names, strict=True)):
            stop = start + len(node.tokens)
            if stop > engine.exact(row):
                break
            if name not in known:
                size = self.blobs.write(name, kv_file.pack(engine.slice(row, start, stop)))
                parent = names[place - 1] if place else None
                self.rows.put(name, parent, engine.info.kv_key, node.segments[0].passage, len(node.tokens), size)
                new += 1
            start = stop
        self.rows.used(names)
        self.trim()
        return new

    def trim(self) -> int:
        """Evict saved states of nodes (slices) until they fit the limit; return how many were evicted."""
        if self.rows.bytes() <= self.limit:
            return 0
        # A token costs more to compute the more tokens precede it; the slice's length is used for that too.
        kept = [
            Kept(row.name, row.bytes, row.uses, row.used_at, float(row.tokens), row.parent) for row in self.rows.all()
        ]
        gone = victims(kept, self.limit, self.policy)
        self._drop(gone)
        self.counters.add(kv_evictions=len(gone))
        return len(gone)

    def clear(self) -> int:
        """Delete all saved states of nodes (slices); return their number."""
        names = [row.name for row in self.rows.all()]
        self._drop(names)
        for name in self.blobs.sizes():
            self.blobs.delete(name)
        return len(names)

    def prune(self, kv_key: str | None = None) -> int:
        """Delete saved states of nodes (slices) that can never be used again, and files that belong to no slice; return
        the number of slices.

        These are slices of deleted passages or, with a `kv_key`, of another model or setting; slices without a file;
        and all slices below these in the tree. Raises NotWritable.
        """
        rows, sizes = self.rows.all(), self.blobs.sizes()
        gone = set(self.rows.of_missing_passages())
        gone |= {row.name for row in rows if row.name not in sizes or (kv_key and row.kv_key != kv_key)}
        reached: set[str | None] = {None}
        while more := {row.name for row in rows if row.parent in reached and row.name not in gone} - reached:
            reached |= more
        dead = {row.name for row in rows} - reached
        self._drop(sorted(dead))
        self.blobs.sweep(time.time() - _ABANDONED_S)
        # Another process may just have written a file, and not yet its row.
        for name in self.blobs.older_than(time.time() - _ABANDONED_S) - {row.name for row in rows}:
            self.blobs.delete(name)
        return len(dead)

    def damaged(self) -> list[str]:
        """Delete the saved states of nodes whose files are damaged, and return the nodes' names. Reads every byte."""
        damaged = [row.name for row in self.rows.all() if not self._is_whole(row.name)]
        self._drop(damaged)
        return damaged

    def _is_whole(self, name: str) -> bool:
        try:
            return kv.is_whole(kv_file.unpack(self.blobs.read(name)))
        except SliceRejected:
            return False

    def joined(self, name: str, node: Node, join: Callable[[KVSlice], None]) -> bool:
        """Call `join` with the saved state (slice) of the node; return whether that succeeded, and delete the state if
        not.
        """
        try:
            join(self._read(name, node))
        except SliceRejected:
            # The slice is computed and kept again now. A file that cannot be deleted can be replaced.
            with suppress(NotWritable):
                self._drop([name])
            self.counters.add(kv_damaged=1)
            return False
        return True

    def _read(self, name: str, node: Node) -> KVSlice:
        kept = kv_file.unpack(self.blobs.read(name))
        if kept.tokens != tuple(node.tokens):
            raise SliceRejected("The saved attention state belongs to another text. It is computed again.")
        return kept

    def _drop(self, names: Sequence[str]) -> None:
        self.rows.forget(names)
        for name in names:
            self.blobs.delete(name)


def over(database: Database, folder: Path, cache: Cache) -> QKVTree:
    """Return the tree that a database lists, limited as the settings say; `folder` holds the files with the states."""
    limit = states_limit(cache.kv_mb, KnowledgeStore(database).text_bytes)
    return QKVTree(KVSlices(database), Blobs(folder), Counters(database), limit, cache.eviction)


def _names(kv_key: str, path: Sequence[Node]) -> list[str]:
    names = [kv_key]
    for node in path:
        names.append(name_behind(names[-1], node.segments))
    return names[1:]


def name_behind(parent: str, segments: Sequence[Segment]) -> str:
    """Return the name, a hash, of the node with these texts after the node `parent` (for the root, the `kv_key`)."""
    digest = hashlib.blake2b(parent.encode(), digest_size=20)
    for segment in segments:
        text = segment.text.encode("utf-8", "surrogatepass")
        digest.update(b"%d %d\n" % (segment.special, len(text)) + text)
    return digest.hexdigest()
