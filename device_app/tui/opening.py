"""The screen shown while the app is imported: the title, an empty composer, and "opening".

Keys typed meanwhile are kept for the app, without echo. The module imports only the standard library, to start at once.
"""

import os
import shutil
import signal
import sys
import termios
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

ALTERNATE, NORMAL = "\x1b[?1049h", "\x1b[?1049l"
COLOURS = {
    "dark": ("#12151a", "#191d24", "#9cc4e4", "#8f9bac"),
    "light": ("#faf9f6", "#f1efe9", "#1f5f99", "#5b6673"),
    "contrast": ("#000000", "#000000", "#00e5ff", "#e0e0e0"),
}
"""The colours of each theme: background, surface, primary and quiet."""

_AGAIN_S = 0.5
"""The seconds until a signal that has not ended the program ends it again."""


@dataclass(slots=True)
class Opening:
    """The state of the opening screen: `found`, the terminal's original modes, and `taken`: the app has taken over."""

    found: list[Any]
    taken: bool = False


@contextmanager
def opening(theme: str) -> Iterator[Opening]:
    """Show the opening screen in this context, and restore the terminal at its end, even after an error."""
    coloured = os.environ.get("COLORTERM") in ("truecolor", "24bit") and "NO_COLOR" not in os.environ
    shown = Opening(termios.tcgetattr(0))

    def end(number: int, _: object) -> None:
        # Imports run destructors and callbacks, in which Python ignores an exit: so another one follows, until it ends.
        signal.signal(signal.SIGALRM, lambda *_: end(number, None))
        signal.setitimer(signal.ITIMER_REAL, _AGAIN_S)
        sys.exit(128 + number)

    handlers = [(number, signal.signal(number, end)) for number in (signal.SIGTERM, signal.SIGHUP)]
    handlers.append((signal.SIGALRM, signal.getsignal(signal.SIGALRM)))
    try:
        termios.tcsetattr(0, termios.TCSANOW, _unseen(shown.found))
        _write(ALTERNATE + frame(*shutil.get_terminal_size(), COLOURS[theme] if coloured else ()))
        yield shown
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        with suppress(OSError, termios.error):  # a closed terminal needs no restoring
            if not shown.taken:
                _write(NORMAL)
            termios.tcsetattr(0, termios.TCSANOW, shown.found)
        for number, handler in handlers:
            signal.signal(number, handler)


def frame(columns: int, rows: int, colours: Sequence[str]) -> str:
    """Return the text that draws the app's empty screen; if `colours` is empty, in the terminal's own colours."""
    paper, bar, line, quiet = (";".join(map(str, bytes.fromhex(colour[1:]))) for colour in colours or ["#"] * 4)
    title, body, status = (
        f"\x1b[0;{more}{f';38;2;{fore};48;2;{back}' if colours else ''}m"
        for more, fore, back in ((1, line, bar), (22, line, paper), (22, quiet, bar))
    )
    box = [f" ╭{'─' * (columns - 4)}╮", f" │{'│':>{columns - 3}}", f" ╰{'─' * (columns - 4)}╯"] if rows >= 22 else ["▌"]
    lines = [(title, " jackdaw")] if rows >= 12 else []
    lines += [(body, "")] * (rows - len(lines) - len(box) - 1)
    lines += [*((body, line) for line in box), (status, f"{'opening … ':>{columns}}")]
    drawn = [f"\x1b[{row};1H{style}{text:{columns}.{columns}}" for row, (style, text) in enumerate(lines, 1)]
    row, column = (rows - 2, 4) if rows >= 22 else (rows - 1, 3)
    return f"{''.join(drawn)}\x1b[0m\x1b[{row};{column}H"


def _unseen(events: list[Any]) -> list[Any]:
    """Return the terminal's modes, changed to store keys without echo; only Ctrl-C acts."""
    iflag, oflag, cflag, lflag, *speeds, signs = events
    signs = [*signs]
    signs[termios.VMIN], signs[termios.VTIME] = 1, 0
    signs[termios.VSUSP] = signs[termios.VQUIT] = bytes([os.fpathconf(0, "PC_VDISABLE")])
    iflag &= ~(termios.ICRNL | termios.INLCR | termios.IGNCR | termios.IXON | termios.IXOFF)
    return [iflag, oflag, cflag, lflag & ~(termios.ECHO | termios.ICANON | termios.IEXTEN), *speeds, signs]


def _write(text: str) -> None:
    print(text, end="", flush=True, file=sys.__stderr__)  # Textual writes there, too
