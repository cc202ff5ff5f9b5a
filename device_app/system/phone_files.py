"""Writes and removes the files by which other apps on a phone reach Jackdaw: two scripts that Termux runs when an app
shares text or a file with it, and a shortcut that opens Jackdaw.

A file of the person's is moved aside, never overwritten. The hash of each file is recorded before the file is written,
so that, even after this process was killed, the next run can tell Jackdaw's files from the person's.
"""

import hashlib
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from device_app.system.phone import prefix
from device_app.system.services import Unit
from shared.errors import NotWritable
from storage.paths import HOME_VARIABLE
from storage.private import to_be_written, write_private

MARK = "# Written by `jackdaw phone setup`; `jackdaw phone remove` takes it away."

_MOST_BYTES = 100_000
"""The most bytes of a file that are compared: Jackdaw's own files are smaller."""

Standing = Literal["missing", "written", "outdated", "yours"]
"""The state of a file: missing, as this version writes it, as an earlier version wrote it, or the person's own."""


@dataclass(frozen=True, slots=True)
class Written:
    """The record of a file that was written: its hash, and the person's file that was moved aside for it."""

    sha256: str
    moved: str | None = None


Record = Mapping[str, Written]
"""The records of written files, by path."""


def units(program: Path, environment: Mapping[str, str]) -> Sequence[Unit]:
    """Return the files to write for a person with this environment (HOME; PREFIX and JACKDAW_HOME if set).

    `program` is the path of `jackdaw`, which they start.
    """
    home, shell = Path(environment["HOME"]), f"#!{prefix(environment)}/bin/sh"
    own = environment.get(HOME_VARIABLE)
    call = shlex.join([*(["env", f"{HOME_VARIABLE}={own}"] if own else []), str(program)])
    share = f"{call} phone share -- \"$1\"\nprintf 'Press Enter to close. '\nread -r _\n"
    return (
        Unit(home / "bin" / "termux-url-opener", f"{shell}\n{MARK}\n{share}", executable=True),
        Unit(home / "bin" / "termux-file-editor", f"{shell}\n{MARK}\n{share}", executable=True),
        Unit(home / ".shortcuts" / "Jackdaw", f"{shell}\n{MARK}\nexec {call}\n", executable=True),
    )


def standing(unit: Unit, record: Record) -> Standing:
    """Return whether a file is missing, written by Jackdaw, outdated, or the person's own.

    A link, a folder, and a file that cannot be read count as the person's own.
    """
    if not unit.path.is_symlink() and not unit.path.exists():
        return "missing"
    content = _content(unit.path)
    if content == unit.text.encode():
        return "written"
    written = record.get(str(unit.path))
    return "outdated" if content is not None and written and written.sha256 == _hash(content) else "yours"


def write(unit: Unit, record_file: Path) -> Path | None:
    """Write a file; return where a file of the person's was moved to, None if there was none. Raises NotWritable."""
    record = read_record(record_file)
    before = record.get(str(unit.path))
    moved = Path(before.moved) if before and before.moved else None
    aside = _beside(unit.path) if standing(unit, record) == "yours" else None
    written = Written(_hash(unit.text.encode()), str(aside or moved) if aside or moved else None)
    _write_record(record_file, {**record, str(unit.path): written})
    if aside:
        with to_be_written(f"move {unit.path} to {aside}"):
            unit.path.rename(aside)
    write_private(unit.path, unit.text)
    with to_be_written(f"make {unit.path} executable"):
        unit.path.chmod(0o700)
    return aside


def remove(unit: Unit, record_file: Path) -> bool:
    """Remove a file that Jackdaw wrote and restore the file moved aside for it; return whether there was such a file.

    The person's own file stays. Raises NotWritable.
    """
    record = dict(read_record(record_file))
    if standing(unit, record) == "yours":
        return False
    is_ours = unit.path.exists()
    with to_be_written(f"remove {unit.path}"):
        unit.path.unlink(missing_ok=True)
        written = record.pop(str(unit.path), None)
        if written and written.moved and Path(written.moved).is_file():
            Path(written.moved).rename(unit.path)
    _write_record(record_file, record)
    return is_ours


def read_record(file: Path) -> Record:
    """Return the records of written files; empty if the record file is missing or unreadable."""
    with suppress(OSError, ValueError, msgspec.DecodeError):
        return msgspec.json.decode(file.read_bytes(), type=dict[str, Written])
    return {}


def _write_record(file: Path, record: Record) -> None:
    write_private(file, msgspec.json.encode(record).decode())


def _content(path: Path) -> bytes | None:
    """Return the first bytes of a regular file; None if it is not regular, or cannot be read."""
    if path.is_symlink() or not path.is_file():
        return None
    with suppress(OSError), path.open("rb") as file:
        return file.read(_MOST_BYTES)
    return None


def _beside(path: Path) -> Path:
    """Return a free name beside the path. Raises NotWritable if there is none."""
    names = (f"{path.name}.before-jackdaw{f'-{number}' if number > 1 else ''}" for number in range(1, 100))
    for name in names:
        beside = path.with_name(name)
        if not beside.exists() and not beside.is_symlink():
            return beside
    raise NotWritable(f"{path.parent} has too many copies of {path.name}. Remove those that end in .before-jackdaw.")


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
