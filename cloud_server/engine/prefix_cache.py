"""Attention states of prompts' beginnings, in memory: the instructions, then the public passages that are asked for
most. A prompt that begins as an earlier one did joins them instead of computing them. The least recently used go first.
"""

from array import array
from collections import OrderedDict
from collections.abc import Sequence
from itertools import accumulate, pairwise

from models.engine import Engine, KVSlice
from shared.errors import SliceRejected


class PrefixCache:
    """At most so many bytes of states; 0 keeps none.

    A row's beginnings are a path in a tree: first the head, which all prompts share, then one passage behind it, which
    prompts share that have the same best one, and so on. What stands behind others goes before them, as it is of no use
    without them.
    """

    def __init__(self, most_bytes: int) -> None:
        self.bytes = 0
        self._most_bytes = most_bytes
        self._slices: OrderedDict[bytes, KVSlice] = OrderedDict()

    def __len__(self) -> int:
        """Slices kept."""
        return len(self._slices)

    def join(self, engine: Engine, sequence: int, segments: Sequence[Sequence[int]]) -> int:
        """Let the sequence hold what is kept of the prompt behind the segments that it holds; how many tokens that is.

        `segments` are the prompt's tokens; the last one holds the question and is never kept.
        """
        cached = []
        held = engine.length(sequence)
        for key, start, _ in _beginnings(segments):
            if start < held:
                continue
            if key not in self._slices:
                break
            cached.append(self._slices[key])
        self._touch(segments)
        try:
            engine.join(sequence, cached)
        except SliceRejected:
            self._slices.clear()
            self.bytes = 0
            return 0
        return sum(len(cached_slice.tokens) for cached_slice in cached)

    def keep(self, engine: Engine, sequence: int, segments: Sequence[Sequence[int]]) -> None:
        """Keep what is not kept yet of the prompt that the sequence holds."""
        if not engine.info.sliceable:
            return
        for key, start, stop in _beginnings(segments):
            if key not in self._slices and (stop - start) * engine.info.kv_bytes_per_token <= self._most_bytes:
                cached_state = self._slices[key] = engine.slice(sequence, start, stop)
                self.bytes += len(cached_state.data)
        self._touch(segments)
        while self.bytes > self._most_bytes:
            _, gone = self._slices.popitem(last=False)
            self.bytes -= len(gone.data)

    def _touch(self, segments: Sequence[Sequence[int]]) -> None:
        """The head last: so it stays longest."""
        for key, _, _ in reversed(_beginnings(segments)):
            if key in self._slices:
                self._slices.move_to_end(key)


def _beginnings(segments: Sequence[Sequence[int]]) -> list[tuple[bytes, int, int]]:
    """Of each segment before the last: the tokens up to its end, as a key, and where it begins and ends."""
    tokens = array("i", (token for segment in segments[:-1] for token in segment))
    borders = pairwise(accumulate(map(len, segments[:-1]), initial=0))
    return [(tokens[:stop].tobytes(), start, stop) for start, stop in borders if stop > start]
