"""Wraps an engine so that it stops between batches when another task needs the machine."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from models import kv
from models.engine import Engine, Logits
from shared.errors import GaveWay

PART = 128
"""Tokens computed between two checks whether to stop, which take about 100 to 200 ms.

llama.cpp computes as many per batch anyway. The logits stay the same to the bit, as they do with smaller parts.
"""


class _Interruptible:
    def __init__(self, engine: Engine, give_way: Callable[[], bool], part: int, *, keeps: bool) -> None:
        self._engine = engine
        self._give_way = give_way
        self._part = part
        self._keeps = keeps

    def prefill(self, sequence: int, tokens: Sequence[int]) -> Logits:
        start = self._engine.length(sequence)
        try:
            *before, last = kv.parts(len(tokens), self._part)
            done = 0
            for size in before:
                self._look()
                self._engine.prefill(sequence, tokens[done : done + size])
                done += size
            self._look()
            return self._engine.prefill(sequence, tokens[-last:] if last else tokens)
        except BaseException as error:
            if not (self._keeps and isinstance(error, GaveWay)):
                self._engine.rollback(sequence, self._engine.length(sequence) - start)
            raise

    def decode(self, tokens: Mapping[int, int]) -> dict[int, Logits]:
        self._look()
        return self._engine.decode(tokens)

    def verify(self, tokens: Mapping[int, Sequence[int]]) -> dict[int, list[Logits]]:
        self._look()
        return self._engine.verify(tokens)

    def _look(self) -> None:
        if self._give_way():
            raise GaveWay("Background work stopped for a question. It continues when nothing else needs the machine.")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)


def interruptible(engine: Engine, give_way: Callable[[], bool], part: int = PART, *, keeps: bool = False) -> Engine:
    """Return a wrapper of the engine. Once `give_way()` is true, its computing methods raise GaveWay and leave its
    sequences unchanged. With `keeps`, an interrupted prefill keeps the tokens that it has computed.

    `part` is the number of tokens computed between two checks, at least two.
    """
    return cast(Engine, _Interruptible(engine, give_way, part, keeps=keeps))
