"""Recognises the text of scanned pages with two programs, if they are installed: poppler's pdftoppm and tesseract."""

import shutil
from collections.abc import Callable
from pathlib import Path
from subprocess import TimeoutExpired
from tempfile import TemporaryDirectory

from device_app.system.commands import output

_PROGRAMS = ("pdftoppm", "tesseract")
_LONGER_SIDE = 2500
"""The longer side of a page's picture in pixels: some 210 dots an inch on A4. It also limits the work for a page."""
_DRAWING_S, _READING_S = 60.0, 180.0
"""The most seconds for drawing a page, and for recognising its text."""
_MOST_LANGUAGES = 4
_NO_LANGUAGES = {"osd", "equ", "snum"}


def is_available() -> bool:
    """Return whether both programs are installed."""
    return all(map(shutil.which, _PROGRAMS))


def languages() -> str:
    """Return tesseract's installed languages, in the form of its option. Raises OSError, TimeoutExpired."""
    listed = output(["tesseract", "--list-langs"], _DRAWING_S).decode("utf-8", "replace").splitlines()[1:]
    return "+".join([name for name in listed if name not in _NO_LANGUAGES][:_MOST_LANGUAGES])


def page_text(path: Path, page: int, language: str, look: Callable[[], object]) -> str:
    """Return the text on a page of a PDF, counted from 1; "" if there is none, or if a program fails or takes too long.

    `language` is one of tesseract's, or several (`languages`). `look` is called several times a second; an error that
    it raises ends the programs. Raises OSError.
    """
    with TemporaryDirectory(prefix="jackdaw-") as folder:
        picture = Path(folder) / "page"
        only = ["-f", str(page), "-l", str(page), "-singlefile"]
        size = ["-gray", "-scale-to", str(_LONGER_SIDE)]
        # Several threads a page would compete with each other, and with whoever uses the machine.
        read = ["env", "OMP_THREAD_LIMIT=1", "tesseract", f"{picture}.pgm", "stdout", "-l", language]
        try:
            output(["pdftoppm", *only, *size, str(path), str(picture)], _DRAWING_S, look)
            return output(read, _READING_S, look).decode("utf-8", "replace")
        except (ValueError, TimeoutExpired):  # more than any page holds; the pages after it are not kept waiting
            return ""
