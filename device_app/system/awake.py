"""Keeps a phone awake by Termux's wake lock while an answer is written, or a job that the person started runs.

Android has one lock for all of Termux. So each process that needs it keeps a file of its own locked, and the last
process to end releases the wake lock. The system unlocks the files of a killed process, so that the next Jackdaw
process can release a wake lock left behind. Termux's commands run beside the work; what they kept awake for does not
wait for one that hangs.
"""

import fcntl
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from device_app.system import phone, termux
from shared.errors import NotWritable
from storage.private import private_folder, to_be_written

GRACE_S = 1.0
"""Seconds to wait before taking the lock: the screen is still on then, and most answers end sooner."""

_WAIT_S = 2 * termux.SECONDS
"""Seconds to wait for another Jackdaw process that releases the lock."""


@contextmanager
def awake(folder: Path) -> Iterator[None]:
    """Keep the phone awake while in this context, however it ends; do nothing on other devices."""
    if not phone.is_phone():
        yield
        return
    over = threading.Event()
    mine: list[_Held] = []
    answered: list[bool] = []

    def take() -> None:
        if not over.wait(GRACE_S):
            with suppress(NotWritable, OSError):  # a full disk: the phone may sleep, and the answer takes longer
                mine.append(_take(folder))
                answered.append(termux.call("termux-wake-lock", is_over=over.is_set).is_answer)

    thread = threading.Thread(target=take, name="awake", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        for held in mine:
            _give_back(folder, held, termux.call if any(answered) else termux.send)


def clear_up(folder: Path) -> bool:
    """Release the wake lock if a killed Jackdaw process left it; return whether one was left. Raises nothing."""
    if not (phone.is_phone() and folder.is_dir() and any(folder.glob("*.held"))):
        return False
    with _alone(folder):
        dead, living = _holders(folder)
        for file in dead:
            file.unlink(missing_ok=True)
        if dead and not living:
            termux.call("termux-wake-unlock")
        return bool(dead)


def holders(folder: Path) -> int:
    """Return the number of processes that keep the phone awake now."""
    return len(_holders(folder)[1])


class _Held:
    """A file that this process keeps locked while it needs the wake lock."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.descriptor = os.open(file, os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self.descriptor, fcntl.LOCK_EX)  # who counts the holders has it for a moment
        except OSError:
            os.close(self.descriptor)
            raise

    def end(self) -> None:
        self.file.unlink(missing_ok=True)
        os.close(self.descriptor)


def _take(folder: Path) -> _Held:
    """Record, by a locked file, that this process needs the phone's wake lock. Raises NotWritable, OSError."""
    private_folder(folder)
    with _alone(folder), to_be_written(f"write into {folder}"):
        return _Held(folder / f"{os.getpid()}-{threading.get_ident()}.held")


def _give_back(folder: Path, held: _Held, run: Callable[[str], object]) -> None:
    """Release the phone's wake lock, unless other Jackdaw processes need it. `run` runs a command of Termux."""
    with _alone(folder):
        held.end()
        dead, living = _holders(folder)
        for file in dead:
            file.unlink(missing_ok=True)
        if not living:
            run("termux-wake-unlock")


def _holders(folder: Path) -> tuple[list[Path], list[Path]]:
    """Return the lock files of processes that have ended, and those of running processes."""
    dead: list[Path] = []
    living: list[Path] = []
    for file in folder.glob("*.held"):
        with suppress(FileNotFoundError):
            descriptor = os.open(file, os.O_WRONLY)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                dead.append(file)
            except BlockingIOError:
                living.append(file)
            finally:
                os.close(descriptor)
    return dead, living


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Let only one Jackdaw process at a time record its need or release the wake lock; after `_WAIT_S`, proceed without
    waiting.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(folder / "lock", timeout=_WAIT_S, mode=0o600)
    with suppress(Timeout, OSError):
        lock.acquire()
    try:
        yield
    finally:
        lock.release()
