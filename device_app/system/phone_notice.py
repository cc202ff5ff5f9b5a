"""Shows a phone's notification of work that takes long, with a button that pauses the work; nothing on other devices.

Other people may see the notification, so its text has only counts, and no file, question or name.
"""

import os
import shlex
import threading
from collections.abc import Sequence

from device_app.system import phone, services, termux
from shared.errors import UsageError
from shared.printable import counted
from storage.paths import HOME_VARIABLE

AFTER_S, EVERY_S = 5.0, 10.0
"""Seconds of work before the notification is shown, and between two updates: each starts two processes."""

READING, PREPARING = "reads changed files", "prepares answers"
"""The texts of the notification while background work reads files, and while it fills the caches."""

_MOST_FAILURES = 2
"""The number of failures in a row after which no more notifications are shown, as the companion app must be missing."""


class Notice:
    """One notification. `show` returns at once; a thread sends the latest text. Leaving the context removes it."""

    def __init__(self, name: str, title: str, pause: Sequence[str]) -> None:
        """Create a notification that is not shown yet; `pause` are the arguments of `jackdaw` that its button runs."""
        self._name, self._title, self._pause = f"jackdaw-{name}", title, pause
        self._changed = threading.Condition()
        self._text = ""
        self._over = self._is_shown = self._answers = False
        self._thread: threading.Thread | None = None

    def __enter__(self) -> "Notice":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def show(self, text: str) -> None:
        """Show this text in the notification, after some seconds of work."""
        if not phone.is_phone():
            return
        with self._changed:
            self._text = text
            if self._thread is None:
                self._over = False
                self._thread = threading.Thread(target=self._run, name="notice", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Remove the notification; a later `show` shows a new one."""
        with self._changed:
            self._over = True
            self._changed.notify()
        if self._thread:
            self._thread.join()
            self._thread = None
        if self._is_shown:
            self._is_shown = False
            remove = termux.call if self._answers else termux.send  # the work does not wait for a command that hangs
            remove("termux-notification-remove", self._name)

    def _run(self) -> None:
        pause, sent, failures = AFTER_S, "", 0
        while failures < _MOST_FAILURES:
            with self._changed:
                self._changed.wait_for(lambda: self._over, pause)
                if self._over:
                    return
                text, pause = self._text, EVERY_S
            if text != sent:
                self._is_shown = True  # also if the command is killed: it may have been heard
                reply = termux.call("termux-notification", *self._arguments(text), is_over=lambda: self._over)
                self._answers = reply.is_answer
                failures = 0 if reply.is_answer else failures + 1
                sent = text

    def _arguments(self, text: str) -> Sequence[str]:
        action = ("--button1", "Pause", "--button1-action", command_line(*self._pause)) if self._pause else ()
        return ("--id", self._name, "--ongoing", "--alert-once", "--title", self._title, "--content", text, *action)


def command_line(*arguments: str) -> str:
    """Return a command line that runs `jackdaw` from Android, which has none of this shell's environment variables."""
    own = [f"{HOME_VARIABLE}={os.environ[HOME_VARIABLE]}"] if os.environ.get(HOME_VARIABLE) else []
    try:
        program = str(services.program())
    except UsageError:
        program = "jackdaw"
    return shlex.join([*(["env", *own] if own else []), program, *arguments])


def files_read(done: int, total: int) -> str:
    """Return the text about files being read."""
    return f"{done:,} of {counted(total, 'file')}"


def steps_done(steps: int, tokens: int) -> str:
    """Return the text about background work that was done."""
    return f"{counted(steps, 'step')} done, {tokens:,} tokens"


def ahead() -> Notice:
    """Return the notification for background work, not shown yet; its button pauses the work."""
    return Notice("ahead", "Jackdaw works ahead", ("daemon", "pause"))


def adding() -> Notice:
    """Return the notification for files being read, not shown yet; its button pauses the reading."""
    return Notice("add", "Jackdaw reads your files", ("phone", "pause"))
