"""Being the one process that works ahead, and ending when it is told to. Knows no work."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from shared.errors import UsageError
from storage.paths import private_folder, to_be_written


@contextmanager
def alone(file: Path, last: int | None) -> Iterator[None]:
    """Hold the lock; the system lets go of it however the process ends. `last` is who held it last, for the message.

    Raises UsageError where another process holds it, NotWritable.
    """
    # Whoever only asks whether a process runs holds the lock for a moment.
    lock = _lock(file, wait_s=1)
    if not _acquired(lock):
        process = f" (process {last})" if last else ""
        raise UsageError(f"Jackdaw works ahead already{process}. `jackdaw daemon status` shows what it does.")
    try:
        yield
    finally:
        lock.release()


def is_running(file: Path) -> bool:
    """Whether a process holds the lock. Raises NotWritable."""
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
    """Let the first SIGTERM or SIGINT call `end`, and a second one end the process as it always does.

    In another thread than the main one, signals are left to whoever has that.
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
