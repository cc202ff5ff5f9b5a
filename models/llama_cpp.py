"""llama.cpp behind the Engine protocol, through its low-level interface. Knows no prompt and no sampling.

The C functions abort the process or go wrong silently on a bad argument, so everything is checked before they are
called. All sequences share one KV buffer (`kv_unified`), without which copying a part of one aborts; one sequence more
than announced is scratch space for slices.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from models import kv
from models.adapter import Adapter
from models.engine import Check, EngineInfo, KVSlice, KVType, Logits
from models.llama_context import LlamaContext
from models.llama_info import described
from models.llama_model import LlamaModel
from models.llama_state import covers, planes
from shared.errors import AdapterRejected, ContextFull, EngineError

_MOST_SEQUENCES, _MOST_THREADS = 64, 512


class LlamaCppEngine:
    """A GGUF model in llama.cpp. See models.engine.Engine for what each method promises. Closes the model with itself.

    f16 state goes without flash attention and q8_0 with it: in these two pairs the logits after joined slices equal an
    uncached run's to the bit (f16: in the same cells, as sums round by where a cell lies; beside other sequences they
    differ like any two orders of a sum. q8_0: beside others, too, until a sequence takes cells before its own that one
    of them gave up; then by up to a unit). An adapter leaves joined slices exact; but a token alone is multiplied with
    its floats by other kernels, so that beside others sequences differ with q8_0, too. One that is rejected leaves the
    bare model, and a word in `info`.

    The context is no larger than what the model was trained for, unless it is `shared`: then it has room for more, and
    each sequence alone is held to that. Raises EngineError.
    """

    def __init__(
        self,
        model: LlamaModel,
        *,
        context: int = 4096,
        sequences: int = 4,
        threads: int = 4,
        kv_type: KVType = "f16",
        adapter: Path | None = None,
        shared: bool = False,
    ) -> None:
        counts = 1 <= sequences <= _MOST_SEQUENCES and 1 <= threads <= _MOST_THREADS and context >= 1
        if not (counts and kv_type in kv.BLOCKS):
            model.close()
            raise EngineError(f"There is no engine with {sequences=}, {threads=}, {context=}, {kv_type=}.")
        self._model = model
        adapting, refused = _load_adapter(model, adapter)  # before the context, whose graph makes room for it
        longest = model.trained_context() or context
        context = context if shared else min(context, longest)
        try:
            self._context = LlamaContext(model, context, sequences, threads, kv_type)
        except EngineError:
            model.close()
            raise
        self.computed = 0
        info = described(model, self._context, kv_type, adapting, refused)
        self._info = replace(info, longest=min(longest, context))
        self._cells = kv.Cells(self._info.context, sequences + 1)
        self._window = model.window()
        self._unsettled: dict[int, int] = {}  # sequences in the middle of a change, and the length they are to have
        self._lost: set[int] = set()  # sequences that llama.cpp no longer holds whole

    @property
    def info(self) -> EngineInfo:
        return self._info

    def restrict(self, inexact: frozenset[Check]) -> None:
        """Do without what is not exact here (see models.exactness): no slices are cut; rollbacks compute again."""
        whole = "slices" not in inexact
        self._info = replace(
            self._info,
            inexact=inexact,
            sliceable=self._info.sliceable and whole,
            movable=self._info.movable and whole,
        )

    def vocabulary_hash(self) -> str:
        return self._open().vocabulary_hash()

    def tokenize(self, text: str, *, special: bool = False) -> list[int]:
        return self._open().tokenize(text, special)

    def detokenize(self, tokens: Sequence[int]) -> bytes:
        return self._open().detokenize(tokens)

    def is_end(self, token: int) -> bool:
        return self._open().is_end(token)

    def length(self, sequence: int) -> int:
        return self._cells.length(self._checked(sequence))

    def tokens(self, sequence: int) -> tuple[int, ...]:
        return self._cells.tokens(self._checked(sequence))

    def prefill(self, sequence: int, tokens: Sequence[int]) -> Logits:
        start = self._whole(sequence)
        ids = self._model.ids(tokens)
        if not ids.size:
            raise EngineError("There is nothing to prefill.")
        self._require(start + ids.size)
        self._cells.require(ids.size)
        with self._appending(sequence):
            logits = self._context.append(sequence, start, ids)
            self._cells.append(sequence, ids.tolist())
        self.computed += ids.size
        return logits

    def decode(self, tokens: Mapping[int, int]) -> dict[int, Logits]:
        sequences = sorted(tokens)
        positions = [self._whole(sequence) for sequence in sequences]
        ids = self._model.ids([tokens[sequence] for sequence in sequences])
        if not ids.size:
            raise EngineError("There is no sequence to decode.")
        self._require(max(positions) + 1)
        self._cells.require(ids.size)
        with self._appending(*sequences):
            self._context.compute(ids, positions, sequences, True)
            logits = {sequence: self._context.logits(row) for row, sequence in enumerate(sequences)}
            for sequence, token in zip(sequences, ids.tolist(), strict=True):
                self._cells.append(sequence, [token])
        self.computed += ids.size
        return logits

    def rollback(self, sequence: int, count: int) -> None:
        length = self.length(sequence)
        if not 0 <= count <= length:
            raise EngineError(f"{count} of {length} tokens cannot be rolled back.")
        self._unsettled[sequence] = length - count
        self._settle()

    def fork(self, source: int, target: int) -> None:
        self._whole(source)
        if source == target:
            raise EngineError("A sequence cannot be forked onto itself.")
        self.clear(target)
        with self._appending(target):
            self._context.copy(source, target)
            self._cells.share(source, target)

    def clear(self, sequence: int) -> None:
        self.rollback(sequence, self.length(sequence))

    def slice(self, sequence: int, start: int, stop: int) -> KVSlice:
        tokens = self.tokens(sequence)
        if not 0 <= start < stop <= len(tokens):
            raise EngineError(f"There is no slice [{start}, {stop}) of {len(tokens)} tokens.")
        self._refuse_slices()
        self._whole(sequence)
        if stop > self._cells.exact(sequence):
            # Nor could moved state itself be: its keys turn in the next call of llama_decode alone.
            raise EngineError("What stands behind a moved slice cannot be kept.")
        scratch = self._context.scratch
        self._unsettled[scratch] = 0
        self._context.copy(sequence, scratch, start, stop)
        data = self._context.state(scratch)
        self._settle()
        if data is None or not covers(data, start, stop):
            raise EngineError("llama.cpp did not give the attention state.")
        return kv.cut(self._info.kv_key, tokens, start, stop, data.tobytes(), planes(data, stop - start))

    def join(self, sequence: int, slices: Sequence[KVSlice]) -> None:
        tokens = kv.check(self._info.kv_key, self.tokens(sequence), slices)
        self._model.ids(tokens)
        self._refuse_slices()
        self._whole(sequence)
        self._cells.require(len(tokens))
        scratch = self._context.scratch
        with self._appending(sequence, scratch):
            for piece in slices:
                self._context.load(piece)
                self._context.copy(scratch, sequence, piece.start, piece.stop)
                self._context.remove(scratch)
            self._cells.append(sequence, tokens)

    def join_moved(self, sequence: int, kv_slice: KVSlice, skip: int = 0) -> None:
        start = self._whole(sequence)
        kv.check_alone(self._info.kv_key, kv_slice)
        self._model.ids(kv_slice.tokens)
        if not self._info.movable:
            raise EngineError(f"The attention state of {self._info.model} cannot be moved.")
        if not 0 <= skip < len(kv_slice.tokens):
            raise EngineError(f"Of {len(kv_slice.tokens)} tokens, {skip} cannot be left out.")
        self._cells.require(len(kv_slice.tokens))
        first, stop = kv_slice.start + skip, start + len(kv_slice.tokens) - skip
        scratch = self._context.scratch
        with self._appending(sequence, scratch):
            self._context.load(kv_slice)
            self._context.remove(scratch, kv_slice.start, first)
            # While the scratch sequence alone owns the cells: others that share them would move too.
            self._context.shift(scratch, first, kv_slice.stop, start - first)
            self._context.copy(scratch, sequence, start, stop)
            self._context.remove(scratch)
            self._cells.append(sequence, kv_slice.tokens[skip:], moved=True)

    def exact(self, sequence: int) -> int:
        return self._cells.exact(self._checked(sequence))

    def close(self) -> None:
        if self._context.handle:
            self._context.close()
            self._model.close()

    def _whole(self, sequence: int) -> int:
        """The length of a sequence, all of which llama.cpp holds then: what it lost is computed again.

        Raises ContextFull where that takes cells which the sequence shared, and which are not to be had.
        """
        length = self.length(sequence)
        if sequence in self._lost:
            self._cells.renew(sequence)
            self._context.remove(sequence)
            self._context.append(sequence, 0, np.array(self._cells.tokens(sequence), np.int32))
            self._lost.discard(sequence)
            self.computed += length
        return length

    @contextmanager
    def _appending(self, *sequences: int) -> Iterator[None]:
        """Within, sequences grow; on any exception, Ctrl-C too, each is cut back to the length it has now."""
        self._unsettled.update({sequence: self._cells.length(sequence) for sequence in sequences})
        try:
            yield
        except BaseException:
            self._settle()
            raise
        self._unsettled.clear()

    def _settle(self) -> None:
        """Cut what is unsettled to its length. Where Ctrl-C interrupts this too, the next call does it again."""
        for sequence, length in self._unsettled.items():
            cut = self._context.remove(sequence, length)
            self._cells.truncate(sequence, length)
            if length == 0:
                self._lost.discard(sequence)
            elif not (cut and self._holds(sequence, length)) or "rollback" in self._info.inexact:
                self._lost.add(sequence)
        self._unsettled.clear()

    def _holds(self, sequence: int, length: int) -> bool:
        """Whether llama.cpp holds what the next token of a sequence cut to this length would read.

        Cells that a sliding window has passed serve other sequences, so that what a rollback needs again may be gone.
        """
        first = self._context.first_position(sequence)
        return 0 <= first <= (max(0, length - self._window) if self._window else 0)

    def _checked(self, sequence: int) -> int:
        self._open()
        if not 0 <= sequence < self._info.sequences:
            raise EngineError(f"There is no sequence {sequence}; there are {self._info.sequences}.")
        if self._unsettled:
            self._settle()
        return sequence

    def _open(self) -> LlamaModel:
        if not self._context.handle:
            raise EngineError("The engine is closed.")
        return self._model

    def _require(self, length: int) -> None:
        """That a sequence may come to be so long."""
        if length > self._info.prompt_room:
            raise ContextFull(f"{self._info.model} was trained for {self._info.prompt_room} tokens. Ask for less.")

    def _refuse_slices(self) -> None:
        if not self._info.sliceable:
            raise EngineError(f"Parts of the attention state of {self._info.model} cannot be kept.")


def _load_adapter(model: LlamaModel, path: Path | None) -> tuple[Adapter | None, str]:
    """The adapter that was loaded, or why it was not, where one is named."""
    if path is None:
        return None, ""
    try:
        return model.load_adapter(path), ""
    except AdapterRejected as error:
        return None, str(error)
