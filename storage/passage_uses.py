"""Counts how often answers were written from each public passage: one decaying count per passage, stored in a file,
without the times of use.
"""

from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Annotated, Final

from msgspec import Meta, MsgspecError, json

from storage.blobs import Blobs
from storage.hotness import Hotness

MOST: Final = 20_000
"""The most passages with a count; the least used ones lose their count."""

_LARGEST: Final = 4 << 20

_Scores = dict[int, Annotated[float, Meta(ge=0)]]


class PassageUses:
    """The counts of uses, by passage id. Thread-safe. If several processes write counts, those written last remain.

    If the file is missing or damaged, all counts begin at 0.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._hotness = Hotness(self._read())
        self._lock = Lock()

    def count(self, ids: Sequence[int]) -> None:
        """Count that one answer used the given passages, and store the counts in the file. Raises StoreFull,
        NotWritable.
        """
        with self._lock:
            self._hotness.ask(ids)
            if len(self._hotness) > MOST:
                self._hotness.forget_coldest(MOST)
            scores = {identity: round(score, 6) for identity, score in self._hotness.scores().items()}
            Blobs(self._file.parent).write(self._file.name, [json.encode(scores)])

    def hottest(self) -> list[int]:
        """Return the ids of the passages with a count, the most used first."""
        with self._lock:
            scores = self._hotness.scores()
        return sorted(scores, key=lambda identity: (-scores[identity], identity))

    def _read(self) -> dict[int, float]:
        try:
            with self._file.open("rb") as stream:
                return json.decode(stream.read(_LARGEST), type=_Scores)
        except (OSError, MsgspecError, UnicodeDecodeError):
            return {}
