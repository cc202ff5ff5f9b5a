"""Opens a file of the person's at a line, in the editor that the person chose."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from shared.errors import NothingFound, UsageError

if TYPE_CHECKING:
    from device_app.device import Device
    from shared.types import StoredPassage

_PLUS = {
    *("ed", "emacs", "emacsclient", "ex", "jed", "joe", "kak", "less", "micro", "mg", "ne"),
    *("nano", "nvi", "nvim", "pico", "vi", "view", "vim", "vis", "zile"),
}
"""Editors that take the line as an option: +LINE FILE."""

_COLON = {"hx", "helix", "subl", "zed"}
"""Editors that take the line after the file: FILE:LINE."""

_GOTO = {"code", "code-insiders", "codium", "cursor", "windsurf"}
"""Editors that take an option for the place: --goto FILE:LINE."""

NO_EDITOR = "No editor is chosen. Set one, for example: export EDITOR=nano"


def editor_command(environment: Mapping[str, str], path: bytes, line: int | None) -> list[bytes]:
    """Return the command that opens the file in $VISUAL or $EDITOR, at the line if the editor can.

    Raises UsageError if no editor is chosen.
    """
    chosen = environment.get("VISUAL") or environment.get("EDITOR") or ""
    try:
        words = [os.fsencode(word) for word in shlex.split(chosen)]
    except ValueError:
        words = []
    if not words:
        raise UsageError(NO_EDITOR)
    name = os.fsdecode(os.path.basename(words[0]))  # noqa: PTH119 (bytes)
    at = [path]
    if line is not None and name in _PLUS:
        at = [f"+{line}".encode(), path]
    elif line is not None and name in _COLON:
        at = [path + f":{line}".encode()]
    elif line is not None and name in _GOTO:
        at = [b"--goto", path + f":{line}".encode()]
    return [*words, *at]


def command_for(device: Device, passage: StoredPassage, environment: Mapping[str, str]) -> Sequence[bytes]:
    """Return the command that opens a passage's file at its line.

    Raises NothingFound if the file is gone, UsageError if no editor is chosen or the file holds no text.
    """
    from device_app.knowledge.freshness import status_of
    from device_app.knowledge.phone.sources import passage_is_of_phone

    if passage_is_of_phone(passage):
        raise UsageError("This is from your phone, not from a file. Open the phone's own app for it.")
    states = device.knowledge.files_of([passage.id])
    try:
        current = status_of(Path(os.fsdecode(states[0].path)))[0] if states else None
    except OSError:
        current = None
    if current is None or not current.is_file():
        raise NothingFound(f"{passage.path} is gone. To bring your knowledge up to date: jackdaw add")
    path = os.fsencode(current)
    if passage.page is not None or _is_binary(path):
        page = "" if passage.page is None else f" Look at page or slide {passage.page}."
        raise UsageError(f"{passage.path} is no text file, so an editor cannot show it.{page}")
    return editor_command(environment, path, passage.line)


def _is_binary(path: bytes) -> bool:
    try:
        with open(path, "rb") as stream:  # noqa: PTH123 (bytes)
            return b"\0" in stream.read(4096)
    except OSError as error:
        raise NothingFound(f"The file cannot be opened: {error.strerror}.") from error
