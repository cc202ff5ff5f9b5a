"""The bookkeeping of attention state that all engines share: cells in use, and cutting and checking slices.

A *cell* holds the state of one token; after a fork it belongs to several sequences. Independent of the model runtime.
"""

import hashlib
import zlib
from array import array
from collections.abc import Iterator, Sequence
from itertools import count

from models.engine import KVSlice, KVType
from shared.errors import ContextFull, SliceRejected

BLOCKS = {"f16": (2, 1), "q8_0": (34, 32)}
"""The number of bytes and the number of values of a block, for each type of KV state."""


def bytes_per_token(values: int, kv_type: KVType) -> int:
    """Return the size of attention state per token, in bytes, for a model that keeps the given number of values per
    token.
    """
    block, of = BLOCKS[kv_type]
    return values * block // of


class Cells:
    """The tokens of each sequence and the cells that hold them. All sequences share the capacity, which is counted in
    cells.

    Every change of a sequence is atomic: after an interrupt it is done completely or not at all.
    """

    def __init__(self, capacity: int, sequences: int) -> None:
        self._capacity = capacity
        self._held: list[list[tuple[int, int]]] = [[] for _ in range(sequences)]  # (cell, token) of each position
        self._moved: set[int] = set()  # cells with state computed after other tokens
        self._numbers = count()
        self._used: int | None = 0  # None: needs a new count

    def length(self, sequence: int) -> int:
        """Return the number of tokens in the sequence."""
        return len(self._held[sequence])

    def tokens(self, sequence: int) -> tuple[int, ...]:
        """Return the token ids in the sequence, in order."""
        return tuple(token for _, token in self._held[sequence])

    def require(self, tokens: int) -> None:
        """Raise ContextFull unless the given number of further tokens fits."""
        if tokens <= self._capacity - sum(map(len, self._held)):  # even if no cell were shared
            return
        if self._used is None:
            self._used = len(self._taken())
        if tokens > self._capacity - self._used:
            raise ContextFull(
                f"{tokens} more tokens do not fit into the context: {self._used} of {self._capacity} are taken. "
                "Shorten the question, or raise model.context."
            )

    def exact(self, sequence: int) -> int:
        """Return the number of tokens before the first one whose attention state was moved from another position."""
        held = self._held[sequence]
        return next((place for place, (cell, _) in enumerate(held) if cell in self._moved), len(held))

    def append(self, sequence: int, tokens: Sequence[int], *, moved: bool = False) -> None:
        """Append the tokens to the sequence, each in a new cell. `moved`: the tokens' attention state was computed
        after tokens that differ from those before them in this sequence.
        """
        cells = [(next(self._numbers), token) for token in tokens]
        if moved:
            self._moved.update(dict(cells))
        self._held[sequence].extend(cells)
        if self._used is not None:
            self._used += len(tokens)

    def truncate(self, sequence: int, length: int) -> None:
        """Drop the tokens after the first `length` and release their cells."""
        del self._held[sequence][length:]
        self._changed()

    def renew(self, sequence: int) -> None:
        """Give the sequence new cells that it shares with no other sequence. On ContextFull, nothing has changed."""
        held = self._held[sequence]
        self._held[sequence] = []
        self._changed()
        try:
            self.require(len(held))
        except ContextFull:
            self._held[sequence] = held
            self._changed()
            raise
        self.append(sequence, [token for _, token in held])

    def share(self, source: int, target: int) -> None:
        """Make the target sequence hold the same cells as the source sequence."""
        self._held[target] = self._held[source].copy()
        self._changed()

    def _changed(self) -> None:
        """Invalidate the count of used cells. Counting takes milliseconds, so they are counted again only when room is
        short.
        """
        self._used = None
        if self._moved:
            self._moved &= self._taken()

    def _taken(self) -> set[int]:
        return set().union(*(dict(held) for held in self._held))


def parts(count: int, most: int) -> Iterator[int]:
    """Yield the sizes of the batches for `count` tokens: at most `most` each, and no batch of a single token after
    others.

    For a single token an engine may have to compute two (`LlamaContext.append`).
    """
    while count > most:
        size = most - 1 if count == most + 1 else most
        yield size
        count -= size
    yield count


def cut(
    key: str,
    tokens: Sequence[int],
    start: int,
    stop: int,
    data: bytes | memoryview,
    planes: tuple[tuple[str, int], ...],
) -> KVSlice:
    """Return the slice [start, stop) of a sequence that holds `tokens`. `data` is the attention state of that range,
    `planes` its parts; `key` is the engine's `kv_key`.
    """
    within = tuple(tokens[start:stop])
    return KVSlice(key, _digest(tokens[:start]), start, within, data, _checksum(within, data), planes)


def check(key: str, before: Sequence[int], slices: Sequence[KVSlice]) -> list[int]:
    """Return the tokens of all slices of attention state, in order. Raises SliceRejected unless each slice is
    undamaged, comes from an engine with the given key, and follows the tokens `before` and the slices before it.
    """
    tokens = list(before)
    for kv_slice in slices:
        check_alone(key, kv_slice)
        if kv_slice.start != len(tokens) or kv_slice.prefix != _digest(tokens):
            raise SliceRejected(
                f"Cached attention state for position {kv_slice.start} was computed after other tokens."
            )
        tokens.extend(kv_slice.tokens)
    return tokens[len(before) :]


def check_alone(key: str, kv_slice: KVSlice) -> None:
    """Raise SliceRejected unless the slice of attention state is undamaged and from an engine with the given key."""
    if kv_slice.kv_key != key:
        raise SliceRejected("Cached attention state belongs to another model or setting; it has to be computed again.")
    if not is_whole(kv_slice):
        raise SliceRejected("Cached attention state is damaged; it has to be computed again.")


def is_whole(kv_slice: KVSlice) -> bool:
    """Return whether the slice of attention state is undamaged, by its checksum."""
    return bool(kv_slice.tokens) and kv_slice.checksum == _checksum(kv_slice.tokens, kv_slice.data)


def _digest(tokens: Sequence[int]) -> str:
    return hashlib.blake2b(array("q", tokens).tobytes(), digest_size=16).hexdigest()


def _checksum(tokens: Sequence[int], data: bytes | memoryview) -> int:
    return zlib.crc32(data, zlib.crc32(array("q", tokens).tobytes()))
