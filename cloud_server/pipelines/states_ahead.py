"""Computes KV states of the index's passages before a question needs them, so that answers begin sooner: the most used
passages first, as many as a limit in bytes allows.

PerCache (a published cache of KV states) does this for private passages. A passage's state is computed directly after
the instructions. The state serves, exactly, every prompt in which that passage comes first: each row of an answer
written in rows of one passage, and an answer from one prompt.
"""

from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from cloud_server.engine.saved_states import SavedStates
from cloud_server.pipelines.answering import instructions_and_passage
from cloud_server.retrieval.index import Progress
from cloud_server.retrieval.opened import StoredPassages
from models.engine import Engine
from shared.errors import StoreFull, UsageError
from shared.prompt import ChatTemplate

_OVERHEAD = 1_024
_OVERHEAD_PER_TOKEN = 32
"""The most bytes per token that a file takes in addition to the keys and values themselves."""


@dataclass(frozen=True, slots=True)
class StatesReport:
    """The content of the folder of states, and what the run changed. `passages` of the index's `of` passages have a
    state. `computed` states are new, including `damaged` ones that were replaced. `removed` states belonged to another
    model, adapter or build, belonged to passages that are gone, or exceeded the limit. Sizes are in bytes.
    """

    passages: int
    of: int
    computed: int
    damaged: int
    removed: int
    tokens_computed: int
    bytes: int
    limit_bytes: int


class StatesWriter:
    """Computes states and writes them into their folder. `hottest` are the ids of the used passages, the most used
    first.
    """

    def __init__(
        self,
        engine: Engine,
        template: ChatTemplate,
        passages: StoredPassages,
        saved: SavedStates,
        hottest: Sequence[int],
    ) -> None:
        self._engine, self._template, self._passages, self._saved = engine, template, passages, saved
        self._hottest = hottest

    def close(self) -> None:
        """Free the model."""
        self._engine.close()

    def fill(self, limit: int, on_progress: Callable[[Progress], None]) -> StatesReport:
        """Make the folder contain exactly the states of the most used passages that fit into `limit` bytes.

        Finished states stay, so that the same call continues after an interrupt. At any moment at most `limit` bytes
        are in the folder. Raises UsageError if states of this model are not exact on this machine, StoreFull,
        NotWritable, EngineError.
        """
        info = self._engine.info
        if not (info.sliceable and info.verdict.serves_rows):
            raise UsageError(
                f"No states are computed: with {info.model} on this machine, an answer from kept states could differ "
                "from one without. Answers are written without them. To see why: jackdaw-server models info"
            )
        self._saved.sweep()
        head, texts, names = self._plan(limit)
        gone = self._saved.sizes().keys() - names
        for name in gone:
            self._saved.delete(name)
        before, made = self._saved.sizes(), dict[str, int]()
        self._engine.clear(0)
        if texts and (state := self._saved.read(head, 0)):
            self._engine.join(0, [state])
        elif texts:
            made |= self._write(head, 0, limit)
        for done, text in enumerate(texts):
            on_progress(Progress("states", done, len(texts), done))
            if self._saved.read((*head, *text), len(head)) is None:
                self._engine.rollback(0, self._engine.length(0) - len(head))
                made |= self._write(text, len(head), limit)
        on_progress(Progress("states", len(texts), len(texts), len(texts)))
        size = sum(self._saved.sizes().values())
        return StatesReport(
            passages=len(texts),
            of=len(self._passages.files),
            computed=len(made),
            damaged=len(made.keys() & before),
            removed=len(gone),
            tokens_computed=sum(made.values()),
            bytes=size,
            limit_bytes=limit,
        )

    def _plan(self, limit: int) -> tuple[Sequence[int], list[Sequence[int]], set[str]]:
        """Return the tokens of the instructions, those of each passage whose state fits into the limit, and the names
        of all these states. The tokens take about a thousandth of their states' bytes.
        """
        head: Sequence[int] = ()
        texts: list[Sequence[int]] = []
        names: set[str] = set()
        size = 0
        for number in self._ranked():
            passage = self._passages.read(number)
            if passage is None:
                continue
            head, text = instructions_and_passage(self._engine, self._template, passage)
            own = self._saved.name((*head, *text))
            if own in names or not (head and text and len(head) + len(text) < self._engine.info.prompt_room):
                continue
            more = {own: self._room(text)} | ({} if names else {self._saved.name(head): self._room(head)})
            if size + sum(more.values()) > limit:
                break
            size += sum(more.values())
            names |= more.keys()
            texts.append(array("i", text))
        return head, texts, names

    def _ranked(self) -> Iterator[int]:
        """Yield the numbers of all passages, the most used first, then those never used, in index order."""
        numbers = map(self._passages.number, self._hottest)
        hot = [number for number in numbers if number is not None]
        known = set(hot)
        return chain(hot, (number for number in range(len(self._passages.files)) if number not in known))

    def _write(self, tokens: Sequence[int], start: int, limit: int) -> dict[str, int]:
        """Compute the state of these tokens after the `start` tokens in the sequence, and write it to a file. Return a
        dictionary with one item: the file's name and the state's number of tokens. `limit`, in bytes, is only for the
        error message if the disk is full.
        """
        self._engine.prefill(0, tokens)
        try:
            self._saved.write(self._engine, 0, start)
        except StoreFull as error:
            raise StoreFull(
                "The disk is full. The states that were written are complete, and the server uses them. Free some "
                f"space, or give --limit-mb a number below {limit / 1e6:,.0f}."
            ) from error
        return {self._saved.name(self._engine.tokens(0)): len(tokens)}

    def _room(self, tokens: Sequence[int]) -> int:
        return _OVERHEAD + len(tokens) * (self._engine.info.kv_bytes_per_token + _OVERHEAD_PER_TOKEN)
