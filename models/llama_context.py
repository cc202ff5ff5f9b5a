"""A llama.cpp context: the attention state of its sequences and the computations in them. Independent of engines.

The C functions abort the process or fail silently on a bad argument, so callers of these methods have to check
arguments.
"""

import ctypes
from collections.abc import Sequence
from functools import partial
from itertools import count
from typing import Any

import numpy as np
import numpy.typing as npt

from models import kv
from models.engine import KVSlice, KVType, Logits
from models.llama_bindings import LOG_VARIABLE, bindings, why
from models.llama_model import LlamaModel
from models.llama_state import covers
from shared.errors import ContextFull, EngineError, SliceRejected

BATCH = 128
"""The most tokens computed in one call. Ctrl-C has to wait for the end of the call."""

MOST_LOGITS = 32
"""The most tokens of one call whose logits can be read, unless there are more sequences than that. Drafts are verified
in calls of this size.
"""

_NO_ROOM = 1  # return code of llama_decode: no room in the KV buffer, nothing computed


class LlamaContext:
    """Sequences that share one KV buffer of `size` tokens.

    The sequence `scratch`, after the others, holds a slice of attention state while it is copied. `branches` more
    sequences come last, for the chains of draft trees. `handle` is llama.cpp's pointer, None once closed. Raises
    EngineError.
    """

    def __init__(
        self, model: LlamaModel, size: int, sequences: int, threads: int, kv_type: KVType, branches: int = 0
    ) -> None:
        self._api = bindings()
        parameters = _parameters(self._api, size, sequences, threads, kv_type)
        parameters.n_seq_max += branches
        start = partial(self._api.llama_init_from_model, model.handle, parameters)
        self.handle: Any = start()
        if not self.handle:
            raise EngineError(
                f"{model.path.name} cannot run with {size} tokens of context and {kv_type} state ({why(start)}). "
                "Lower model.context, or set model.kv to f16."
            )
        model.set_adapter(self.handle)
        self.size = int(self._api.llama_n_ctx(self.handle))
        self.scratch = sequences
        self._vocabulary = model.vocabulary
        self._memory = self._api.llama_get_memory(self.handle)
        self._batch = _Batch(self._api)

    def close(self) -> None:
        """Free the context. A second call does nothing."""
        handle, self.handle = self.handle, None
        if handle:
            self._api.llama_free(handle)

    def can_shift(self) -> bool:
        """Return whether llama.cpp can change the positions of tokens in the KV buffer."""
        return bool(self._api.llama_memory_can_shift(self._memory))

    def compute(
        self, ids: npt.NDArray[np.int32], positions: npt.ArrayLike, sequences: npt.ArrayLike, outputs: npt.ArrayLike
    ) -> None:
        """Compute tokens at the given positions of the given sequences; `outputs` marks the tokens whose logits are
        needed.

        Raises ContextFull, with nothing computed, and EngineError.
        """
        self._decode(self._batch.filled(ids, positions, sequences, outputs), ids.size)

    def compute_shared(
        self, ids: npt.NDArray[np.int32], positions: npt.ArrayLike, sequences: Sequence[Sequence[int]]
    ) -> None:
        """Compute tokens at the given positions, each in several sequences; the logits of all can be read. Raises the
        errors of `compute`. The sequences that share a token have to hold the same positions.
        """
        self._decode(self._batch.filled_shared(ids, positions, sequences), ids.size)

    def _decode(self, batch: Any, size: int) -> None:
        code = self._api.llama_decode(self.handle, batch)
        if code == _NO_ROOM:
            raise ContextFull(f"The context has no room for {size} more tokens. Raise model.context.")
        if code:
            raise EngineError(
                f"llama.cpp could not compute (code {code}). To see llama.cpp's log, set {LOG_VARIABLE}=1."
            )

    def logits(self, row: int) -> Logits:
        """Return the logits after the token with the index `row` in the last `compute` call, shape (vocabulary,)."""
        logits = self._api.llama_get_logits_ith(self.handle, row)
        return np.ctypeslib.as_array(logits, (self._vocabulary,)).copy()

    def give_features(self, is_on: bool) -> None:
        """Set whether `compute` also computes features. If so, it takes at most `MOST_LOGITS` tokens, because it
        computes the logits of all of them.
        """
        self._api.llama_set_embeddings(self.handle, is_on)

    def features(self, first: int, count: int, width: int) -> npt.NDArray[np.float32]:
        """Return the features of tokens [first, first + count) of the last `compute` call, shape (count, width)."""
        features = self._api.llama_get_embeddings(self.handle)
        return np.ctypeslib.as_array(features, (first + count, width))[first:].copy()

    def append(self, sequence: int, start: int, ids: npt.NDArray[np.int32]) -> Logits:
        """Compute tokens in batches at the end of a sequence of `start` tokens; return the last token's logits.

        A single token is computed beside another one, in the scratch sequence: a pass of one token is computed by other
        kernels, which round f16 sums differently from all larger passes.
        """
        if ids.size == 1:
            self.compute(ids.repeat(2), [start, 0], [sequence, self.scratch], [True, False])
            self.remove(self.scratch)
            return self.logits(0)
        done = size = 0
        for size in kv.parts(ids.size, BATCH):
            part = ids[done : done + size]
            positions = np.arange(start + done, start + done + size)
            done += size
            self.compute(part, positions, sequence, np.arange(size) == size - 1 if done == ids.size else False)
        return self.logits(size - 1)

    def append_all(
        self, sequences: Sequence[int], starts: Sequence[int], parts: Sequence[npt.NDArray[np.int32]]
    ) -> list[list[Logits]]:
        """Compute several tokens at the end of each sequence, in one batch; return the logits after each token.

        `starts` are the sequences' lengths before, `parts` their tokens.
        """
        positions = [np.arange(start, start + part.size) for start, part in zip(starts, parts, strict=True)]
        owners = np.repeat(sequences, [part.size for part in parts])
        self.compute(np.concatenate(parts), np.concatenate(positions), owners, True)
        rows = count()
        return [[self.logits(next(rows)) for _ in part] for part in parts]

    def copy(self, source: int, target: int, start: int = -1, stop: int = -1) -> None:
        """Let the target sequence share the positions [start, stop) of the source; -1 stands for the source's own start
        or end.
        """
        self._api.llama_memory_seq_cp(self._memory, source, target, start, stop)

    def remove(self, sequence: int, start: int = -1, stop: int = -1) -> bool:
        """Remove the positions [start, stop) from a sequence, -1 as in `copy`; return whether that was possible."""
        return bool(self._api.llama_memory_seq_rm(self._memory, sequence, start, stop))

    def shift(self, sequence: int, start: int, stop: int, by: int) -> None:
        """Move the positions [start, stop) of a sequence, and of all sequences that share their cells, by `by`."""
        self._api.llama_memory_seq_add(self._memory, sequence, start, stop, by)

    def first_position(self, sequence: int) -> int:
        """Return the first position that a sequence holds; -1 if it is empty."""
        return int(self._api.llama_memory_seq_pos_min(self._memory, sequence))

    def state(self, sequence: int) -> npt.NDArray[np.uint8] | None:
        """Return a sequence's attention state, serialised; None if llama.cpp does not provide it."""
        data = np.empty(self._api.llama_state_seq_get_size(self.handle, sequence), np.uint8)
        got = self._api.llama_state_seq_get_data(self.handle, _pointer(data), data.size, sequence)
        return data if got == data.size else None

    def load(self, piece: KVSlice) -> None:
        """Load cached attention state (a slice) into the scratch sequence, at its original positions. Raises
        SliceRejected.
        """
        data = np.frombuffer(piece.data, np.uint8)
        if not covers(data, piece.start, piece.stop) or data.size != self._api.llama_state_seq_set_data(
            self.handle, _pointer(data), data.size, self.scratch
        ):
            raise SliceRejected("llama.cpp refuses the cached attention state, which has to be computed again.")


class _Batch:
    """llama.cpp's batch structure, backed by arrays that are filled in place."""

    def __init__(self, api: Any) -> None:
        self._tokens, self._positions, self._sequences = (np.zeros(BATCH, np.int32) for _ in range(3))
        self._outputs = np.zeros(BATCH, np.int8)
        self._owners = np.ones(BATCH, np.int32)
        self._shared = self._sequences
        # llama.cpp wants a pointer to each token's sequences; here each points to its own element of one array.
        places = self._sequences.ctypes.data + self._sequences.itemsize * np.arange(BATCH, dtype=np.uintp)
        self._own_places = places.astype(np.uintp)
        self._places = self._own_places.copy()
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
        self._owners[: ids.size] = 1
        self._places[: ids.size] = self._own_places[: ids.size]
        return self._batch

    def filled_shared(
        self, ids: npt.NDArray[np.int32], positions: npt.ArrayLike, sequences: Sequence[Sequence[int]]
    ) -> Any:
        batch = self.filled(ids, positions, 0, True)
        counts = np.array([len(own) for own in sequences])
        self._shared = np.concatenate([np.array(own, np.int32) for own in sequences])  # llama.cpp reads it: keep it
        self._owners[: ids.size] = counts
        starts = self._shared.itemsize * (np.cumsum(counts) - counts)
        self._places[: ids.size] = self._shared.ctypes.data + starts.astype(np.uintp)
        return batch


def _parameters(api: Any, context: int, sequences: int, threads: int, kv_type: KVType) -> Any:
    parameters = api.llama_context_default_params()
    parameters.n_ctx = context
    parameters.n_batch = parameters.n_ubatch = BATCH
    parameters.n_seq_max = sequences + 1
    parameters.n_outputs_max = max(sequences + 1, MOST_LOGITS)  # not the whole batch: logits are large
    parameters.n_threads = parameters.n_threads_batch = threads
    parameters.kv_unified = True
    parameters.no_perf = True
    exact = {"f16": api.LLAMA_FLASH_ATTN_TYPE_DISABLED, "q8_0": api.LLAMA_FLASH_ATTN_TYPE_ENABLED}
    parameters.flash_attn_type = exact[kv_type]
    parameters.type_k = parameters.type_v = {"f16": api.GGML_TYPE_F16, "q8_0": api.GGML_TYPE_Q8_0}[kv_type]
    return parameters


def _pointer(array: npt.NDArray[Any]) -> Any:
    """Return a C pointer to the array's first element; the caller keeps the array alive."""
    return array.ctypes.data_as(ctypes.POINTER(np.ctypeslib.as_ctypes_type(array.dtype)))
