"""Ensures that only one process does the background work, and ends it on a signal. Independent of the work itself."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from shared.errors import UsageError
from storage.private import private_folder, to_be_written


@contextmanager
def alone(file: Path, last: int | None) -> Iterator[None]:
    """Hold the lock file while in this context; the system releases it however the process ends.

    `last` is the id of the last process that held the lock, for the error message. Raises UsageError if another process
    holds the lock, NotWritable.
    """
    # `is_running` holds the lock for a moment, so wait a little.
    lock = _lock(file, wait_s=1)
    if not _acquired(lock):
        process = f" (process {last})" if last else ""
        raise UsageError(f"Background work is running already{process}. To see what it does: jackdaw daemon status")
    try:
        yield
    finally:
        lock.release()


def is_running(file: Path) -> bool:
    """Return whether a process holds the lock. Raises NotWritable."""
    lock = _lock(file, wait_s=0)
    free = _acquired(lock)
    lock.release()
    return not free


def _lock(file: Path, wait_s: float) -> FileLock:
    private_folder(file.parent)
    return FileLock(file, timeout=wait_s, mode=0o600)


def _acquired(lock: FileLock) -> bool:
    with to_be_written(f"lock {lock.lock_file}"):
        try:
            lock.acquire()
        except Timeout:
            return False
    return True


@contextmanager
def ended_by_signals(end: Callable[[], None]) -> Iterator[None]:
    """Let the first SIGTERM or SIGINT call `end`, and a second one end the process as it does by default.

    Outside the main thread, signal handlers are left unchanged.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def on_signal(_number: int, _frame: object) -> None:
        restore()
        end()

    for number in before:
        signal.signal(number, on_signal)
    try:
        yield
    finally:
        restore()
