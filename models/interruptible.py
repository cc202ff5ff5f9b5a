"""Wraps an engine so that it stops between batches when something else needs the machine."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from models import kv
from models.engine import Engine, Logits
from shared.errors import GaveWay

_PART = 128
"""The tokens computed between two checks: about 0.1 to 0.2 seconds.

llama.cpp uses batches of this size anyway, so the logits stay equal to the bit.
"""


class _Interruptible:
    def __init__(self, engine: Engine, give_way: Callable[[], bool]) -> None:
        self._engine = engine
        self._give_way = give_way

    def prefill(self, sequence: int, tokens: Sequence[int]) -> Logits:
        start = self._engine.length(sequence)
        try:
            *before, last = kv.parts(len(tokens), _PART)
            done = 0
            for size in before:
                self._look()
                self._engine.prefill(sequence, tokens[done : done + size])
                done += size
            self._look()
            return self._engine.prefill(sequence, tokens[-last:] if last else tokens)
        except BaseException:
            self._engine.rollback(sequence, self._engine.length(sequence) - start)
            raise

    def decode(self, tokens: Mapping[int, int]) -> dict[int, Logits]:
        self._look()
        return self._engine.decode(tokens)

    def _look(self) -> None:
        if self._give_way():
            raise GaveWay("Idle work gave way. It goes on when nothing else needs the machine.")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)


def interruptible(engine: Engine, give_way: Callable[[], bool]) -> Engine:
    """Return the engine; its `prefill` and `decode` raise GaveWay and change nothing once `give_way()` is true."""
    return cast(Engine, _Interruptible(engine, give_way))
