"""llama.cpp behind the Engine protocol, through its low-level interface. Knows no prompt and no sampling.

The C functions abort the process or go wrong silently on a bad argument, so everything is checked before they are
called. All sequences share one KV buffer (`kv_unified`), without which copying a part of one aborts; one sequence more
than announced is scratch space for slices.
"""

import ctypes
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from models import kv
from models.adapter import Adapter
from models.engine import Check, EngineInfo, KVSlice, KVType, Logits
from models.llama_bindings import LOG_VARIABLE, bindings, build, why
from models.llama_model import LlamaModel
from shared.errors import AdapterRejected, ContextFull, EngineError, SliceRejected

BATCH = 128
"""Tokens computed in one call, which Ctrl-C has to wait for."""

_MOST_SEQUENCES, _MOST_THREADS = 64, 512
_NO_ROOM = 1  # llama_decode: the KV buffer has no room; nothing was computed
_STATE_HEADER = 16  # bytes: magic, sequence, streams, cells; then 12 for each cell: position, owners, owner


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
        self._api = bindings()
        self._model = model
        adapting, refused = _load_adapter(model, adapter)  # before the context, whose graph makes room for it
        longest = self._model.trained_context() or context
        context = context if shared else min(context, longest)
        start = partial(
            self._api.llama_init_from_model,
            self._model.handle,
            _parameters(self._api, context, sequences, threads, kv_type),
        )
        self._context = start()
        if not self._context:
            reason = why(start)
            self._model.close()
            raise EngineError(
                f"{model.path.name} cannot run with {context} tokens of context and {kv_type} state ({reason}). "
                "Lower model.context, or set model.kv to f16."
            )
        model.set_adapter(self._context)
        self.computed = 0
        self._memory = self._api.llama_get_memory(self._context)
        self._batch = _Batch(self._api)
        self._info = replace(self._describe(sequences, kv_type, adapting, refused), longest=min(longest, context))
        self._scratch = sequences
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
            logits = self._logits(self._read(sequence, start, ids))
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
            self._compute(ids, positions, sequences, True)
            logits = {sequence: self._logits(row) for row, sequence in enumerate(sequences)}
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
            self._api.llama_memory_seq_cp(self._memory, source, target, -1, -1)
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
        self._unsettled[self._scratch] = 0
        self._api.llama_memory_seq_cp(self._memory, sequence, self._scratch, start, stop)
        data = np.empty(self._api.llama_state_seq_get_size(self._context, self._scratch), np.uint8)
        got = self._api.llama_state_seq_get_data(self._context, _pointer(data), data.size, self._scratch)
        self._settle()
        if got != data.size or not _covers(data, start, stop):
            raise EngineError("llama.cpp did not give the attention state.")
        return kv.cut(self._info.kv_key, tokens, start, stop, data.tobytes(), _planes(data, stop - start))

    def join(self, sequence: int, slices: Sequence[KVSlice]) -> None:
        tokens = kv.check(self._info.kv_key, self.tokens(sequence), slices)
        self._model.ids(tokens)
        self._refuse_slices()
        self._whole(sequence)
        self._cells.require(len(tokens))
        with self._appending(sequence, self._scratch):
            for one in slices:
                self._load(one)
                self._api.llama_memory_seq_cp(self._memory, self._scratch, sequence, one.start, one.stop)
                self._api.llama_memory_seq_rm(self._memory, self._scratch, -1, -1)
            self._cells.append(sequence, tokens)

    def join_moved(self, sequence: int, one: KVSlice, skip: int = 0) -> None:
        start = self._whole(sequence)
        kv.check_alone(self._info.kv_key, one)
        self._model.ids(one.tokens)
        if not self._info.movable:
            raise EngineError(f"The attention state of {self._info.model} cannot be moved.")
        if not 0 <= skip < len(one.tokens):
            raise EngineError(f"Of {len(one.tokens)} tokens, {skip} cannot be left out.")
        self._cells.require(len(one.tokens))
        first, stop = one.start + skip, start + len(one.tokens) - skip
        with self._appending(sequence, self._scratch):
            self._load(one)
            self._api.llama_memory_seq_rm(self._memory, self._scratch, one.start, first)
            # While the scratch sequence alone owns the cells: others that share them would move too.
            self._api.llama_memory_seq_add(self._memory, self._scratch, first, one.stop, start - first)
            self._api.llama_memory_seq_cp(self._memory, self._scratch, sequence, start, stop)
            self._api.llama_memory_seq_rm(self._memory, self._scratch, -1, -1)
            self._cells.append(sequence, one.tokens[skip:], moved=True)

    def exact(self, sequence: int) -> int:
        return self._cells.exact(self._checked(sequence))

    def close(self) -> None:
        context, self._context = self._context, None
        if context:
            self._api.llama_free(context)
            self._model.close()

    def _read(self, sequence: int, start: int, ids: npt.NDArray[np.int32]) -> int:
        """Compute these tokens at the end of a sequence, in batches; the row of the last one's logits."""
        done = size = 0
        for size in kv.parts(ids.size, BATCH):
            part = ids[done : done + size]
            positions = np.arange(start + done, start + done + size)
            done += size
            self._compute(part, positions, sequence, np.arange(size) == size - 1 if done == ids.size else False)
        return size - 1

    def _whole(self, sequence: int) -> int:
        """The length of a sequence, all of which llama.cpp holds then: what it lost is computed again.

        Raises ContextFull where that takes cells which the sequence shared, and which are not to be had.
        """
        length = self.length(sequence)
        if sequence in self._lost:
            self._cells.renew(sequence)
            self._api.llama_memory_seq_rm(self._memory, sequence, -1, -1)
            self._read(sequence, 0, np.array(self._cells.tokens(sequence), np.int32))
            self._lost.discard(sequence)
            self.computed += length
        return length

    def _compute(
        self, ids: npt.NDArray[np.int32], positions: npt.ArrayLike, sequences: npt.ArrayLike, outputs: npt.ArrayLike
    ) -> None:
        code = self._api.llama_decode(self._context, self._batch.filled(ids, positions, sequences, outputs))
        if code == _NO_ROOM:
            raise ContextFull(f"There is no room for {ids.size} more tokens. Raise model.context.")
        if code:
            raise EngineError(f"llama.cpp could not compute (code {code}). See its log: set {LOG_VARIABLE}=1.")

    def _logits(self, row: int) -> Logits:
        logits = self._api.llama_get_logits_ith(self._context, row)
        return np.ctypeslib.as_array(logits, (self._info.vocabulary,)).copy()

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
            cut = self._api.llama_memory_seq_rm(self._memory, sequence, length, -1)
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
        first = int(self._api.llama_memory_seq_pos_min(self._memory, sequence))
        return 0 <= first <= (max(0, length - self._window) if self._window else 0)

    def _checked(self, sequence: int) -> int:
        self._open()
        if not 0 <= sequence < self._info.sequences:
            raise EngineError(f"There is no sequence {sequence}; there are {self._info.sequences}.")
        if self._unsettled:
            self._settle()
        return sequence

    def _open(self) -> LlamaModel:
        if not self._context:
            raise EngineError("The engine is closed.")
        return self._model

    def _load(self, one: KVSlice) -> None:
        """Let the scratch sequence hold the slice's state where it was cut. Raises SliceRejected."""
        data = np.frombuffer(one.data, np.uint8)
        if not _covers(data, one.start, one.stop) or data.size != self._api.llama_state_seq_set_data(
            self._context, _pointer(data), data.size, self._scratch
        ):
            raise SliceRejected("llama.cpp refuses cached attention state; it has to be computed again.")

    def _require(self, length: int) -> None:
        """That a sequence may come to be so long."""
        if length > self._info.prompt_room:
            raise ContextFull(f"{self._info.model} was trained for {self._info.prompt_room} tokens. Ask for less.")

    def _refuse_slices(self) -> None:
        if not self._info.sliceable:
            raise EngineError(f"Parts of the attention state of {self._info.model} cannot be kept.")

    def _describe(self, sequences: int, kv_type: KVType, adapter: Adapter | None, refused: str) -> EngineInfo:
        model_hash = self._model.model_hash()
        adapting = adapter.hash if adapter else ""
        return EngineInfo(
            model=self._model.path.name.removesuffix(".gguf"),
            model_hash=model_hash,
            vocabulary=self._model.vocabulary,
            context=self._api.llama_n_ctx(self._context),
            sequences=sequences,
            kv_type=kv_type,
            kv_bytes_per_token=kv.bytes_per_token(self._model.kv_values_per_token(), kv_type),
            kv_key=f"{model_hash} {kv_type} {build()}" + (f" {adapting}" if adapting else ""),
            parameters=self._model.parameters(),
            chat_template=self._model.chat_template(),
            bos=self._model.bos(),
            sliceable=self._model.sliceable(),
            movable=self._movable(),
            adapter=adapting,
            refused=refused,
            asks=bool(adapter and adapter.asks),
            abstention=adapter.abstention if adapter else None,
        )

    def _movable(self) -> bool:
        """Whether keys carry their position as a rotation, which can be turned."""
        rotates = self._api.llama_model_rope_type(self._model.handle) >= 0
        return rotates and self._model.sliceable() and bool(self._api.llama_memory_can_shift(self._memory))


def _load_adapter(model: LlamaModel, path: Path | None) -> tuple[Adapter | None, str]:
    """The adapter that was loaded, or why it was not, where one is named."""
    if path is None:
        return None, ""
    try:
        return model.load_adapter(path), ""
    except AdapterRejected as error:
        return None, str(error)


class _Batch:
    """llama.cpp's batch over arrays that are filled in place."""

    def __init__(self, api: Any) -> None:
        self._tokens, self._positions, self._sequences = (np.zeros(BATCH, np.int32) for _ in range(3))
        self._outputs = np.zeros(BATCH, np.int8)
        self._owners = np.ones(BATCH, np.int32)
        # Each token names its sequences by a pointer; here each to its own place in one array.
        places = self._sequences.ctypes.data + self._sequences.itemsize * np.arange(BATCH, dtype=np.uintp)
        self._places = places.astype(np.uintp)
        self._batch = api.llama_batch(
            token=_pointer(self._tokens),
            pos=_pointer(self._positions),
            n_seq_id=_pointer(self._owners),
            seq_id=self._places.ctypes.data_as(dict(api.llama_batch._fields_)["seq_id"]),
            logits=_pointer(self._outputs),
        )

    def filled(
        self, ids: npt.NDArray[np.int32], positions: npt.ArrayLike, sequences: npt.ArrayLike, outputs: npt.ArrayLike
    ) -> Any:
        self._batch.n_tokens = ids.size
        self._tokens[: ids.size] = ids
        self._positions[: ids.size] = positions
        self._sequences[: ids.size] = sequences
        self._outputs[: ids.size] = outputs
        return self._batch


def _parameters(api: Any, context: int, sequences: int, threads: int, kv_type: KVType) -> Any:
    parameters = api.llama_context_default_params()
    parameters.n_ctx = context
    parameters.n_batch = parameters.n_ubatch = BATCH
    parameters.n_seq_max = parameters.n_outputs_max = sequences + 1  # not room for the logits of a whole batch
    parameters.n_threads = parameters.n_threads_batch = threads
    parameters.kv_unified = True
    parameters.no_perf = True
    exact = {"f16": api.LLAMA_FLASH_ATTN_TYPE_DISABLED, "q8_0": api.LLAMA_FLASH_ATTN_TYPE_ENABLED}
    parameters.flash_attn_type = exact[kv_type]
    parameters.type_k = parameters.type_v = {"f16": api.GGML_TYPE_F16, "q8_0": api.GGML_TYPE_Q8_0}[kv_type]
    return parameters


def _covers(data: npt.NDArray[np.uint8], start: int, stop: int) -> bool:
    """Whether the state holds each position of [start, stop) once: llama.cpp takes holes without a word."""
    count = stop - start
    head = data[: _STATE_HEADER + 12 * count]
    if head.size < _STATE_HEADER + 12 * count:
        return False
    words = head.view(np.int32)
    positions = np.sort(words[4:].reshape(count, 3)[:, 0])
    return bool(words[3] == count and np.array_equal(positions, np.arange(start, stop)))


def _planes(data: npt.NDArray[np.uint8], count: int) -> tuple[tuple[str, int], ...]:
    """The parts of a state of `count` cells: a header, K of every layer (type, bytes of a row, rows), then V."""
    begin = _STATE_HEADER + 12 * count
    layers = int(data[begin + 4 : begin + 8].view(np.int32)[0])
    row = int(data[begin + 12 : begin + 20].view(np.int64)[0])
    keys = layers * (12 + row * count)
    return ("cells", begin + 8), ("k", keys), ("v", data.size - begin - 8 - keys)


def _pointer(array: npt.NDArray[Any]) -> Any:
    """A C pointer to the array's first element; the caller keeps the array alive."""
    return array.ctypes.data_as(ctypes.POINTER(np.ctypeslib.as_ctypes_type(array.dtype)))
