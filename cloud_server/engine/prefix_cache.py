"""A cache of the KV states (attention states) of prompt prefixes: the instructions, then often retrieved public
passages. A prompt that begins with a cached prefix uses its states instead of computing them. The most used states stay
in memory; states that were computed ahead are read from disk when a prompt needs them.
"""

from array import array
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Final

from cloud_server.engine.saved_states import SavedStates
from models.engine import Engine, KVSlice
from shared.errors import SliceRejected
from storage.hotness import Hotness

_MOST_SCORES: Final = 4_000
"""The most prefixes whose uses are counted, whether or not their states are in memory."""


class PrefixCache:
    """KV states of prompt prefixes, in at most `most_bytes` bytes of memory; 0 disables the cache. `saved` are the
    states on disk.

    The prefixes of a prompt form a path in a tree: the instructions shared by all prompts, then the best passage, and
    so on. The least used state is evicted first (`Hotness`), and a longer prefix before the prefixes it extends, as it
    is useless without them. `loaded` counts the tokens whose states were read from disk.
    """

    def __init__(self, most_bytes: int, saved: SavedStates | None = None) -> None:
        self.bytes = self.loaded = 0
        self._most_bytes, self._saved = most_bytes, saved
        self._slices: dict[bytes, KVSlice] = {}
        self._hotness = Hotness[bytes]()
        self._unused: set[bytes] = set()  # cached for a prompt that nobody has asked for yet

    def __len__(self) -> int:
        """Return the number of cached states."""
        return len(self._slices)

    @property
    def enabled(self) -> bool:
        """Whether states are cached at all."""
        return self._most_bytes > 0

    def join(
        self, engine: Engine, sequence: int, segments: Sequence[Sequence[int]], *, provisional: bool = False
    ) -> int:
        """Append the cached states of a prompt to the part of it that the sequence already holds. Return the number of
        appended tokens.

        `segments` are the prompt's tokens; the last segment holds the question and is never cached. `provisional`: the
        prompt is prefilled ahead, and nobody has asked for it yet.
        """
        cached = []
        held = engine.length(sequence)
        for key, start, stop in _beginnings(segments):
            if start < held:
                continue
            if key not in self._slices and not self._load(engine, key, start, stop):
                break
            cached.append(self._slices[key])
        if not provisional:
            self._touch(segments)
        self._evict()
        try:
            engine.join(sequence, cached)
        except SliceRejected:
            self._slices.clear()
            self.bytes = 0
            return 0
        return sum(len(cached_slice.tokens) for cached_slice in cached)

    def keep(
        self, engine: Engine, sequence: int, segments: Sequence[Sequence[int]], *, provisional: bool = False
    ) -> None:
        """Cache those states of the prompt in the sequence that are not cached yet.

        `provisional`: the prompt is prefilled ahead, and nobody has asked for it yet.
        """
        if not _is_exact(engine):
            return
        for key, start, stop in _beginnings(segments):
            if key not in self._slices and (stop - start) * engine.info.kv_bytes_per_token <= self._most_bytes:
                self._put(key, engine.slice(sequence, start, stop))
                self._unused |= {key} if provisional else set()
        if not provisional:
            self._unused.difference_update(key for key, _, _ in _beginnings(segments))
        self._evict()

    def drop_unused(self, segments: Sequence[Sequence[int]]) -> int:
        """Drop the states of a prompt that were computed provisionally and that no requested prompt has used. Return
        the number of their tokens.
        """
        dropped = 0
        for key, start, stop in _beginnings(segments):
            if key in self._unused:
                self._unused.remove(key)
                dropped += stop - start
                self._drop(key)
        return dropped

    def _load(self, engine: Engine, key: bytes, start: int, stop: int) -> bool:
        """Load the state of positions [start, stop) of the prefix `key` from disk into memory, if it is on disk. Return
        whether it is in memory now.
        """
        room = (stop - start) * engine.info.kv_bytes_per_token <= self._most_bytes
        if self._saved is None or not (room and _is_exact(engine)):
            return False
        state = self._saved.read(array("i", key), start)
        if state is None:
            return False
        self._put(key, state)
        self.loaded += stop - start
        return True

    def _put(self, key: bytes, state: KVSlice) -> None:
        self._slices[key] = state
        self.bytes += len(state.data)

    def _drop(self, key: bytes) -> None:
        if gone := self._slices.pop(key, None):
            self.bytes -= len(gone.data)

    def _touch(self, segments: Sequence[Sequence[int]]) -> None:
        """Count a use of all prefixes of the prompt, including those whose states are not in memory."""
        keys = [key for key, _, _ in _beginnings(segments)]
        self._hotness.ask(keys)
        self._unused.difference_update(keys)
        if len(self._hotness) > _MOST_SCORES:
            self._hotness.forget_coldest(_MOST_SCORES // 2)

    def _evict(self) -> None:
        """Drop states until the limit is met: the least used first, and of one prompt's prefixes the longest first."""
        if self.bytes <= self._most_bytes:
            return
        for key in sorted(self._slices, key=lambda key: (self._hotness.score(key), -len(key))):
            self._drop(key)
            if self.bytes <= self._most_bytes:
                return


def _is_exact(engine: Engine) -> bool:
    """Return whether, by the engine's self-test, reusing cached states gives exactly the results of computing them."""
    return engine.info.sliceable and engine.info.verdict.serves_rows


def _beginnings(segments: Sequence[Sequence[int]]) -> list[tuple[bytes, int, int]]:
    """Return a key, the start and the end index for each segment but the last; the key is all tokens from the prompt's
    start to the segment's end.
    """
    tokens = array("i", (token for segment in segments[:-1] for token in segment))
    borders = pairwise(accumulate(map(len, segments[:-1]), initial=0))
    return [(tokens[:stop].tobytes(), start, stop) for start, stop in borders if stop > start]
