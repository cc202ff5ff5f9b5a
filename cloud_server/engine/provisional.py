"""Prefills prompts that will probably be requested, up to the question, into the prefix cache, while no answer needs
the engine.

The prompts are made of the passages that a running search has found so far. The access tokens (owners) take turns,
prompt by prompt. Independent of the index and of clocks.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from cloud_server.engine.fairness import RoundRobin
from cloud_server.engine.jobs import Segments
from cloud_server.engine.prefix_cache import PrefixCache
from cloud_server.engine.queue import work
from cloud_server.monitoring.unforeseen import log_unforeseen
from models.engine import Engine
from shared.errors import EngineLost

NOT_EMPTIED = "The engine failed to empty a sequence's KV state. Restart the server."

log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Beginnings:
    """The prompts to prefill for one question of an access token (the owner).

    `rows` are all prompts; `left` are those that fit the engine and are not completely prefilled yet.
    """

    owner: str
    rows: tuple[Segments, ...]
    left: list[Segments]


class ProvisionalPrefill:
    """Prefills prompts that will probably be requested. For use by the batch's thread.

    Borrows a free sequence until `pause`, which raises EngineLost if the sequence cannot be emptied, as do all methods
    that call `pause`. `computed` counts the tokens prefilled here, `dropped` those of them that no answer has used.
    """

    def __init__(self, engine: Engine, prefixes: PrefixCache, chunk: int) -> None:
        self.computed = self.dropped = 0
        self._engine, self._prefixes, self.piece = engine, prefixes, chunk
        self._beginnings: dict[int, _Beginnings] = {}
        self._turns = RoundRobin()  # between the owners of prompts
        self._sequence: int | None = None
        self._borrower: _Beginnings | None = None  # whose prompt's beginning is in the sequence
        self._row: Segments = ()  # the prompt whose beginning is in the sequence

    @property
    def enabled(self) -> bool:
        """Whether KV states are cached at all."""
        return self._engine.info.sliceable and self._prefixes.enabled

    def fits(self, free: Sequence[int], cells: int) -> bool:
        """Return whether there is a prompt to prefill that fits into the given free sequences and context cells
        (entries of the KV cache).
        """
        return self._borrower is not None or bool(self._fitting(free, cells))

    def begin(self, key: int, owner: str, rows: Sequence[Segments]) -> None:
        """Queue the prompts `rows` of one question under a key, to be prefilled without their last segments. Prompts
        that the engine can never hold are left out. Does nothing if no KV states are cached.
        """
        if self.enabled:
            possible = [row for row in rows if 0 < _length(row) <= self._engine.info.prompt_room]
            self._beginnings[key] = _Beginnings(owner, tuple(rows), possible)

    def end(self, key: int) -> None:
        """Stop prefilling the prompts queued under a key; their cached states stay."""
        if beginnings := self._beginnings.get(key):
            if beginnings is self._borrower:
                self.pause()
            beginnings.left.clear()

    def release(self, key: int) -> None:
        """Stop prefilling the prompts queued under a key, and drop their cached states that no answer has used."""
        self.end(key)
        if beginnings := self._beginnings.pop(key, None):
            self.dropped += sum(map(self._prefixes.drop_unused, beginnings.rows))

    def step(self, free: Sequence[int], cells: int) -> tuple[str, int]:
        """Prefill the next piece of a prompt that `fits` into the free sequences and cells; drop a prompt that fails.
        Return the prompt's owner and the number of tokens prefilled; "" and 0 if no prompt fits.
        """
        if self._borrower is None:
            fitting = self._fitting(free, cells)
            if not fitting:
                return "", 0
            self._borrower, self._row = fitting[self._turns.next(fitting.keys())]
        borrower, row, computed = self._borrower, self._row, self.computed
        try:
            whole = self._prefill(row, free[-1])
        except Exception as error:
            log_unforeseen(log, "provisional passages were not prefilled", error)
            whole = True
        if whole:
            self.pause()
            borrower.left.remove(row)
        self._turns.charge(borrower.owner, work(self.computed - computed, 0))
        return borrower.owner, self.computed - computed

    def pause(self) -> None:
        """Empty the borrowed sequence, if one is borrowed, and give it back. A passage prefilled in part is lost."""
        self._borrower = None
        if self._sequence is None:
            return
        sequence, self._sequence = self._sequence, None
        held = self._engine.length(sequence)
        self.dropped += held - max((border for border in self._borders() if border <= held), default=0)
        try:
            self._engine.clear(sequence)
        except Exception as error:
            raise EngineLost(NOT_EMPTIED) from error

    def _fitting(self, free: Sequence[int], cells: int) -> dict[str, tuple[_Beginnings, Segments]]:
        """Return, by owner, an entry of `_beginnings` and its prompt: the owner's first prompt for which there
        is room.
        """
        fitting: dict[str, tuple[_Beginnings, Segments]] = {}
        for beginnings in self._beginnings.values() if free else ():
            if row := next((row for row in beginnings.left if _length(row) <= cells), None):
                fitting.setdefault(beginnings.owner, (beginnings, row))
        return fitting

    def _prefill(self, row: Segments, free: int) -> bool:
        """Prefill the next tokens of the prompt `row`: at most `piece`, and not beyond the end of a segment, whose
        states are then cached. Borrows the sequence `free` unless one is borrowed already. Return whether all segments
        but the last one, the question, are prefilled. Raises EngineError.
        """
        if self._sequence is None:
            self._sequence = free
            self._prefixes.join(self._engine, free, row, provisional=True)
        sequence, held = self._sequence, self._engine.length(self._sequence)
        borders = self._borders()
        end = next((border for border in borders if border > held), held)
        tokens = [token for segment in row[:-1] for token in segment]
        part = tokens[held : min(held + self.piece, end)]
        if part:
            self._engine.prefill(sequence, part)
            self.computed += len(part)
            if held + len(part) == end:
                whole = row[: borders.index(end) + 1]
                self._prefixes.keep(self._engine, sequence, (*whole, ()), provisional=True)
        return held + len(part) == len(tokens)

    def _borders(self) -> list[int]:
        return list(accumulate(map(len, self._row[:-1])))


def _length(row: Segments) -> int:
    """Return the number of tokens of a prompt that are prefilled: all but the last segment."""
    return sum(map(len, row[:-1]))
