"""What every engine shares about attention state: which cells of the context are held, and how slices are cut and
checked. A *cell* holds the state of one token; after a fork it belongs to several sequences. Knows no model runtime.
"""

import hashlib
import zlib
from array import array
from collections.abc import Iterator, Sequence
from itertools import count

from models.engine import KVSlice, KVType
from shared.errors import ContextFull, SliceRejected

BLOCKS = {"f16": (2, 1), "q8_0": (34, 32)}
"""Of each KV type, a block of values: its bytes, its values."""


def bytes_per_token(values: int, kv_type: KVType) -> int:
    """Bytes of attention state for one token of a model that keeps so many values of it."""
    block, of = BLOCKS[kv_type]
    return values * block // of


class Cells:
    """The tokens of each sequence and the cells they take. All sequences share the room, which is counted in cells.

    Every change of a sequence is one step, so that an interrupt leaves what was before it or what is after it.
    """

    def __init__(self, capacity: int, sequences: int) -> None:
        self._capacity = capacity
        self._held: list[list[tuple[int, int]]] = [[] for _ in range(sequences)]  # (cell, token) of each position
        self._moved: set[int] = set()  # cells with state that was computed behind other tokens
        self._numbers = count()
        self._used: int | None = 0  # None: to be counted afresh

    def length(self, sequence: int) -> int:
        """Tokens held by the sequence."""
        return len(self._held[sequence])

    def tokens(self, sequence: int) -> tuple[int, ...]:
        """Token ids held by the sequence, in order."""
        return tuple(token for _, token in self._held[sequence])

    def require(self, tokens: int) -> None:
        """Raise ContextFull unless so many more tokens fit."""
        if tokens <= self._capacity - sum(map(len, self._held)):  # even if no cell were shared
            return
        if self._used is None:
            self._used = len(self._taken())
        if tokens > self._capacity - self._used:
            raise ContextFull(
                f"{tokens} more tokens do not fit: {self._used} of {self._capacity} are taken. "
                "Ask for less, or raise model.context."
            )

    def exact(self, sequence: int) -> int:
        """Tokens held before the first that was moved."""
        held = self._held[sequence]
        return next((place for place, (cell, _) in enumerate(held) if cell in self._moved), len(held))

    def append(self, sequence: int, tokens: Sequence[int], *, moved: bool = False) -> None:
        """Take a new cell for each token."""
        cells = [(next(self._numbers), token) for token in tokens]
        if moved:
            self._moved.update(dict(cells))
        self._held[sequence].extend(cells)
        if self._used is not None:
            self._used += len(tokens)

    def truncate(self, sequence: int, length: int) -> None:
        """Give up what stands behind the first `length` tokens."""
        del self._held[sequence][length:]
        self._changed()

    def renew(self, sequence: int) -> None:
        """Take cells of its own for all that the sequence holds. Raises ContextFull, with nothing changed."""
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
        """Let the target hold exactly the cells of the source."""
        self._held[target] = self._held[source].copy()
        self._changed()

    def _changed(self) -> None:
        """Where many are held, counting takes milliseconds: it waits until room is short."""
        self._used = None
        if self._moved:
            self._moved &= self._taken()

    def _taken(self) -> set[int]:
        return set().union(*(dict(held) for held in self._held))


def parts(count: int, most: int) -> Iterator[int]:
    """Sizes of the batches that so many tokens are computed in, none above `most`, nor one token behind others.

    A single token is computed by other kernels, which round f16 sums otherwise than a batch of any other size.
    """
    while count > most:
        size = most - 1 if count == most + 1 else most
        yield size
        count -= size
    yield count


def cut(
    key: str, tokens: Sequence[int], start: int, stop: int, data: bytes, planes: tuple[tuple[str, int], ...]
) -> KVSlice:
    """The slice [start, stop) of a sequence that holds `tokens`; `data` is its state."""
    within = tuple(tokens[start:stop])
    return KVSlice(key, _digest(tokens[:start]), start, within, data, _checksum(within, data), planes)


def check(key: str, before: Sequence[int], slices: Sequence[KVSlice]) -> list[int]:
    """The tokens of the slices, in order, where these may follow the tokens `before`; else SliceRejected."""
    tokens = list(before)
    for kv_slice in slices:
        check_alone(key, kv_slice)
        if kv_slice.start != len(tokens) or kv_slice.prefix != _digest(tokens):
            raise SliceRejected(f"Cached attention state for position {kv_slice.start} has other tokens before it.")
        tokens.extend(kv_slice.tokens)
    return tokens[len(before) :]


def check_alone(key: str, kv_slice: KVSlice) -> None:
    """Raise SliceRejected unless the slice is whole and of the engine with that key."""
    if kv_slice.kv_key != key:
        raise SliceRejected("Cached attention state is of another model or setting; it has to be computed again.")
    if not is_whole(kv_slice):
        raise SliceRejected("Cached attention state is damaged; it has to be computed again.")


def is_whole(kv_slice: KVSlice) -> bool:
    """Whether the slice is as it was cut."""
    return bool(kv_slice.tokens) and kv_slice.checksum == _checksum(kv_slice.tokens, kv_slice.data)


def _digest(tokens: Sequence[int]) -> str:
    return hashlib.blake2b(array("q", tokens).tobytes(), digest_size=16).hexdigest()


def _checksum(tokens: Sequence[int], data: bytes | memoryview) -> int:
    return zlib.crc32(data, zlib.crc32(array("q", tokens).tobytes()))
