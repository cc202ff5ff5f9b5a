"""An engine that runs llama.cpp through its low-level interface. Independent of prompts and sampling.

The C functions abort the process or fail silently on a bad argument, so all arguments are checked before. All sequences
share one KV buffer (`kv_unified`), as copying a part of a sequence would abort otherwise; one more sequence is scratch
space for slices.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from models import kv
from models.engine import EngineInfo, KVSlice, KVType, Logits
from models.llama_context import LlamaContext
from models.llama_info import described
from models.llama_model import LlamaModel
from models.llama_state import covers, planes
from models.verdict import Verdict
from shared.errors import ContextFull, EngineError

_MOST_SEQUENCES, _MOST_THREADS = 64, 512


class LlamaCppEngine:
    """A GGUF model in llama.cpp, see `models.engine.Engine`. Closing the engine also closes the model.

    f16 states are used without flash attention and q8_0 states with it, because the logits after joined slices then
    equal, to the bit, those of a run without cached states. With f16 this holds only in the same cells of the KV
    buffer, which decide how sums are rounded, so not beside other sequences. With q8_0 it also holds beside other
    sequences, until a sequence takes freed cells before its own; then logits differ by up to 1.

    With an adapter, joined slices stay exact. But other kernels multiply a single token with the adapter's floats, so
    that with q8_0, too, results beside other sequences differ. If the adapter is rejected, the bare model is used and
    `info` says why.

    The context is limited to the model's training length; if `shared`, each sequence is instead. Raises EngineError.
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
        branches: int = 0,
    ) -> None:
        counts = 1 <= sequences <= _MOST_SEQUENCES and 1 <= threads <= _MOST_THREADS and context >= 1
        if not (counts and 0 <= branches <= _MOST_SEQUENCES and kv_type in kv.BLOCKS):
            model.close()
            raise EngineError(f"An engine cannot have {sequences=}, {threads=}, {context=}, {kv_type=}.")
        self._model = model
        adapting, refused = model.adapted(adapter)  # before the context, whose graph reserves room for it
        longest = model.trained_context() or context
        context = context if shared else min(context, longest)
        try:
            self._context = LlamaContext(model, context, sequences, threads, kv_type, branches)
        except EngineError:
            model.close()
            raise
        self.computed = 0
        info = described(model, self._context, kv_type, adapting, refused)
        self._info = self._able = replace(info, longest=min(longest, context))
        self._branches = branches
        self._cells = kv.Cells(self._info.context, sequences + 1 + branches)
        self._window = model.window()
        self._unsettled: dict[int, int] = {}  # sequences being changed, and their target lengths
        self._lost: set[int] = set()  # sequences of which llama.cpp no longer holds all state

    @property
    def info(self) -> EngineInfo:
        return self._info

    def restrict(self, verdict: Verdict) -> None:
        """Stop using the features that are not exact on this machine: cached attention states, and rollbacks without
        recomputing. The verdict replaces an earlier one (see `models.exactness`).
        """
        able, keeps = self._able, verdict.keeps_states
        self._info = replace(
            self._info, verdict=verdict, sliceable=able.sliceable and keeps, movable=able.movable and keeps
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
        self._cells.require(max(2, ids.size))  # a single token is computed beside another one
        with self._appending(sequence, self._context.scratch):
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

    def verify(self, tokens: Mapping[int, Sequence[int]]) -> dict[int, list[Logits]]:
        sequences = sorted(tokens)
        starts = [self._whole(sequence) for sequence in sequences]
        parts = [self._model.ids(tokens[sequence]) for sequence in sequences]
        sizes = [part.size for part in parts]
        if not (parts and all(sizes) and sum(sizes) <= self._info.verifies):
            raise EngineError(f"Lists of {sizes} tokens cannot be verified at once: 1 to {self._info.verifies} in all.")
        self._require(max(map(sum, zip(starts, sizes, strict=True))))
        self._cells.require(sum(sizes))
        with self._appending(*sequences):
            logits = self._context.append_all(sequences, starts, parts)
            for sequence, part in zip(sequences, parts, strict=True):
                self._cells.append(sequence, part.tolist())
        self.computed += sum(sizes)
        return dict(zip(sequences, logits, strict=True))

    def rollback(self, sequence: int, count: int) -> None:
        length = self.length(sequence)
        if not 0 <= count <= length:
            raise EngineError(f"{count} of {length} tokens cannot be rolled back.")
        self._unsettled |= {sequence: length - count} if count else {}
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
            # llama.cpp could not save moved state itself either: its keys are rotated only in the next llama_decode.
            raise EngineError("The attention state after a moved slice cannot be kept.")
        scratch = self._context.scratch
        self._unsettled[scratch] = 0
        self._context.copy(sequence, scratch, start, stop)
        data = self._context.state(scratch)
        self._settle()
        if data is None or not covers(data, start, stop):
            raise EngineError("llama.cpp did not give the attention state.")
        return kv.cut(self._info.kv_key, tokens, start, stop, data.data.toreadonly(), planes(data, stop - start))

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
            raise EngineError(f"A slice of {len(kv_slice.tokens)} tokens cannot be joined without its first {skip}.")
        self._cells.require(len(kv_slice.tokens))
        first, stop = kv_slice.start + skip, start + len(kv_slice.tokens) - skip
        scratch = self._context.scratch
        with self._appending(sequence, scratch):
            self._context.load(kv_slice)
            self._context.remove(scratch, kv_slice.start, first)
            # Shift while the scratch sequence alone owns the cells: sequences that share them would be shifted, too.
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
        """Return the sequence's length, after recomputing attention state that llama.cpp dropped.

        Raises ContextFull if recomputing needs new cells in place of shared ones and none are free.
        """
        length = self.length(sequence)
        if sequence in self._lost:
            self._cells.renew(sequence)
            self._context.remove(sequence)
            with self._appending(self._context.scratch):
                self._context.append(sequence, 0, np.array(self._cells.tokens(sequence), np.int32))
            self._lost.discard(sequence)
            self.computed += length
        return length

    @contextmanager
    def _appending(self, *sequences: int) -> Iterator[None]:
        """Let sequences grow in the `with` block; on any exception, even Ctrl-C, cut each back to its old length."""
        self._unsettled.update({sequence: self._cells.length(sequence) for sequence in sequences})
        try:
            yield
        except BaseException:
            self._settle()
            raise
        self._unsettled.clear()

    def _settle(self) -> None:
        """Cut sequences that an interrupt left too long. If Ctrl-C interrupts this, the next call does it again."""
        for sequence, length in self._unsettled.items():
            cut = self._context.remove(sequence, length)
            self._cells.truncate(sequence, length)
            if length == 0:
                self._lost.discard(sequence)
            elif not (cut and self._holds(sequence, length)) or not self._info.verdict.trusts("rollback"):
                self._lost.add(sequence)
        self._unsettled.clear()

    def _holds(self, sequence: int, length: int) -> bool:
        """Return whether llama.cpp still holds all state that the next token of a sequence of this length needs.

        A sliding window's old cells are reused for other sequences, so state needed after a rollback may be lost.
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
        """Raise ContextFull if a sequence may not grow to the given length."""
        if length > self._info.prompt_room:
            raise ContextFull(
                f"{self._info.model} was trained for {self._info.prompt_room} tokens at most. "
                "Shorten the question, or lower the limit of tokens per answer."
            )

    def _refuse_slices(self) -> None:
        if not self._info.sliceable:
            raise EngineError(f"Parts of the attention state of {self._info.model} cannot be kept.")
