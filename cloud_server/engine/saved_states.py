"""The folder of KV states of public passages that were computed ahead (`jackdaw-server index states`): one file for the
instructions with which all prompts begin, and one for each passage as it follows the instructions.

A file's name begins with a hash of the engine's `kv_key`, so that states of another model, adapter, build or KV type
are never used; the rest of the name is a hash of all tokens up to the state's end.
"""

import hashlib
import logging
import time
from array import array
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from models import kv, kv_file
from models.engine import Engine, KVSlice
from shared.errors import NotWritable, SliceRejected
from storage.blobs import Blobs
from storage.private import hand_over

_ABANDONED_S = 60.0
"""The age in seconds from which an unfinished file counts as abandoned by a killed process."""

log = logging.getLogger(__name__)


class SavedStates:
    """The states on disk that fit the engine with the given `kv_key`. Files that other processes write or delete are
    noticed at once.
    """

    def __init__(self, folder: Path, kv_key: str) -> None:
        self._blobs = Blobs(folder)
        self._kv_key = kv_key
        self._mark = _digest(kv_key.encode(), 8)

    def name(self, tokens: Sequence[int]) -> str:
        """Return the file name of the state that ends after the given tokens, with which a prompt begins."""
        return f"{self._mark}-{_digest(array('q', tuple(tokens)).tobytes(), 16)}"

    def read(self, tokens: Sequence[int], start: int) -> KVSlice | None:
        """Return the state from position `start` to the end of the given tokens, with which a prompt begins; None if
        there is no such state.

        A damaged state is deleted and logged.
        """
        content = self._blobs.read(name := self.name(tokens))
        if not content:
            return None
        with suppress(SliceRejected):
            state = kv_file.unpack(content)
            kv.check_alone(self._kv_key, state)
            if (state.start, state.tokens) == (start, tuple(tokens[start:])):
                return state
        remedy = "Compute it again: jackdaw-server index states"
        log.warning("a damaged state of a passage was deleted", extra={"detail": remedy})
        with suppress(NotWritable):
            self._blobs.delete(name)
        return None

    def write(self, engine: Engine, sequence: int, start: int) -> int:
        """Write the state of the sequence from position `start` to its end, and return the file's size in bytes.

        Raises StoreFull, NotWritable.
        """
        tokens = engine.tokens(sequence)
        name = self.name(tokens)
        size = self._blobs.write(name, kv_file.pack(engine.slice(sequence, start, len(tokens))))
        hand_over(self._blobs.folder / name, self._blobs.folder)
        return size

    def delete(self, name: str) -> None:
        """Delete a state by its name. Raises NotWritable."""
        self._blobs.delete(name)

    def sweep(self) -> None:
        """Delete the unfinished files of killed processes. Raises NotWritable."""
        self._blobs.sweep(time.time() - _ABANDONED_S)

    def sizes(self) -> dict[str, int]:
        """Return the size in bytes of every state in the folder by file name, including states of other engines."""
        return self._blobs.sizes()

    def fits(self, name: str) -> bool:
        """Return whether the state with the given file name was made by this engine's model, adapter, build and KV
        type.
        """
        return name.startswith(f"{self._mark}-")


def _digest(content: bytes, size: int) -> str:
    return hashlib.blake2b(content, digest_size=size).hexdigest()
