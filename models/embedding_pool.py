"""Embeds a large corpus in several processes, with the pool of sentence-transformers. Independent of the models'
files.
"""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import resource_tracker
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from shared.errors import EngineError

BEGINS_AFTER: Final = 4096
"""The number of texts that this process embeds before it starts others. Starting them takes as long as embedding some
hundreds of texts.
"""

PROCESS_BYTES: Final = 1_000_000_000
"""The bytes of memory that each process may take, in addition to the weights, which all processes share."""

MOST_PROCESSES: Final = 16

_LOOK_S: Final = 0.5
"""Seconds between two checks by an embedding process whether the process that started it still runs."""


def processes_for(cores: int, memory: int) -> int:
    """Return the number of embedding processes for a number of cores and bytes of memory; 1 means that this process
    embeds alone.
    """
    return max(1, min(cores, memory // PROCESS_BYTES, MOST_PROCESSES))


class EmbeddingPool:
    """A pool of at most `processes` embedding processes that share `cores` cores, started once a corpus proves large.

    For one thread at a time. Must always be closed; if this process is killed, the others end by themselves.
    """

    def __init__(self, processes: int, cores: int) -> None:
        self._processes, self._threads = processes, max(cores // processes, 1)
        self._embedded = 0
        self._pool: dict[str, Any] | None = None
        self._stop: Callable[[dict[str, Any]], None]

    def encode(self, model: Any, texts: Sequence[str], **options: Any) -> npt.NDArray[np.float32]:
        """Return the result of `model.encode` for the texts with the given options. Raises EngineError if a process
        fails.
        """
        self._embedded += len(texts)
        if self._processes < 2 or self._embedded <= BEGINS_AFTER or model.device.type != "cpu":
            vectors: npt.NDArray[np.float32] = model.encode(texts, **options)
            return vectors
        chunk = max(1, -(-len(texts) // (2 * self._processes)))  # two for each, as one may take longer
        try:
            if self._pool is None:
                self._begin(model)
            vectors = model.encode(texts, pool=self._pool, chunk_size=chunk, **options)
        except Exception as error:  # the library's errors share no base but this
            self.close()
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise EngineError(
                f"A process that embeds has failed ({reason}). Run the same command again, with --threads 1 to embed "
                "in a single process. Finished work is kept."
            ) from error
        return vectors

    def close(self) -> None:
        """End the embedding processes that the pool started."""
        pool, self._pool = self._pool, None
        if pool:
            for process in pool["processes"]:
                process.kill()  # none of their results is needed
            self._stop(pool)

    def _begin(self, model: Any) -> None:
        with _interrupts_held(), _environment(OMP_NUM_THREADS=str(self._threads)):
            model.leash = _Leash()
            try:
                self._stop = model.stop_multi_process_pool
                self._pool = model.start_multi_process_pool(["cpu"] * self._processes)
            finally:
                del model.leash


class _Leash:
    """An object sent to an embedding process together with the model; it ends that process when the process that
    started it has ended.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return _end_with_parent, ()


def _end_with_parent() -> None:
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_LOOK_S)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Block Ctrl-C in the processes that are started within this context, so that only this process handles it."""
    resource_tracker.ensure_running()  # it would unblock interrupts if it were started within
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _environment(**variables: str) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
