"""An in-memory cache of the KV states of prompt prefixes: the instructions, then often retrieved public passages. A
prompt that begins with a cached prefix joins its states instead of computing them. Evicts the least recently used
states.
"""

from array import array
from collections import OrderedDict
from collections.abc import Sequence
from itertools import accumulate, pairwise

from models.engine import Engine, KVSlice
from shared.errors import SliceRejected


class PrefixCache:
    """KV states of prompt prefixes, at most `most_bytes` bytes; 0 disables the cache.

    The prefixes of a prompt form a path in a tree: the instructions shared by all prompts, then the best passage, and
    so on. A longer prefix is evicted before the prefixes it extends, as it is useless without them.
    """

    def __init__(self, most_bytes: int) -> None:
        self.bytes = 0
        self._most_bytes = most_bytes
        self._slices: OrderedDict[bytes, KVSlice] = OrderedDict()
        self._unused: set[bytes] = set()  # cached for a prompt that nobody has asked for yet

    def __len__(self) -> int:
        """Return the number of cached slices."""
        return len(self._slices)

    @property
    def enabled(self) -> bool:
        """Whether anything is ever cached."""
        return self._most_bytes > 0

    def join(
        self, engine: Engine, sequence: int, segments: Sequence[Sequence[int]], *, provisional: bool = False
    ) -> int:
        """Join the cached states that continue the prompt in this sequence. Return the number of joined tokens.

        `segments` are the prompt's tokens; the last segment holds the question and is never cached. `provisional`:
        nobody has asked for the prompt yet.
        """
        cached = []
        held = engine.length(sequence)
        for key, start, _ in _beginnings(segments):
            if start < held:
                continue
            if key not in self._slices:
                break
            cached.append(self._slices[key])
        self._touch(segments, is_used=not provisional)
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
        """Cache the states of the sequence's prompt that are not cached yet; `provisional` as for `join`."""
        if not (engine.info.sliceable and engine.info.verdict.serves_rows):
            return
        for key, start, stop in _beginnings(segments):
            if key not in self._slices and (stop - start) * engine.info.kv_bytes_per_token <= self._most_bytes:
                cached_state = self._slices[key] = engine.slice(sequence, start, stop)
                self.bytes += len(cached_state.data)
                self._unused |= {key} if provisional else set()
        self._touch(segments, is_used=not provisional)
        while self.bytes > self._most_bytes:
            _, gone = self._slices.popitem(last=False)
            self.bytes -= len(gone.data)

    def drop_unused(self, segments: Sequence[Sequence[int]]) -> int:
        """Drop the provisional states of this prompt that no prompt has used. Return the number of their tokens."""
        dropped = 0
        for key, start, stop in _beginnings(segments):
            if key in self._unused:
                self._unused.remove(key)
                dropped += stop - start
                if gone := self._slices.pop(key, None):
                    self.bytes -= len(gone.data)
        return dropped

    def _touch(self, segments: Sequence[Sequence[int]], *, is_used: bool) -> None:
        """Mark the prompt's prefixes as recent, the shortest last, so that it is evicted last."""
        for key, _, _ in reversed(_beginnings(segments)):
            if key in self._slices:
                self._slices.move_to_end(key)
                if is_used:
                    self._unused.discard(key)


def _beginnings(segments: Sequence[Sequence[int]]) -> list[tuple[bytes, int, int]]:
    """Return a key, the start and the end index for each segment but the last; the key is all tokens up to its end."""
    tokens = array("i", (token for segment in segments[:-1] for token in segment))
    borders = pairwise(accumulate(map(len, segments[:-1]), initial=0))
    return [(tokens[:stop].tobytes(), start, stop) for start, stop in borders if stop > start]
