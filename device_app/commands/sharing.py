"""Keeps what another app shares: a link, as a note with its address, or a file. Nothing is fetched."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from datetime import datetime
from pathlib import Path
from urllib.parse import unquote, urlsplit

from shared.errors import UsageError
from shared.printable import safe, safe_line
from storage.private import write_private

MOST_CHARACTERS = 4_000
"""The most characters of a web address."""

_ADDRESS = re.compile(r"https?://", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_][\w'’]*")
_MOST_WORDS = 20


def is_address(text: str) -> bool:
    """Return whether the text is meant to be a web address, valid or not: it begins with a scheme."""
    return bool(re.match(r"[a-zA-Z][\w+.-]*:", text))


def address_of(text: str) -> str:
    """Return a web address without a user's name and password. Raises UsageError if the text is no valid address."""
    reason = ""
    if len(text) > MOST_CHARACTERS:
        reason = f"it has {len(text):,} characters, and at most {MOST_CHARACTERS:,} are allowed"
    elif text != safe(text) or len(text.split()) != 1:
        reason = "it has spaces or control characters"
    elif not _ADDRESS.match(text):
        reason = "it does not begin with http:// or https://"
    else:
        try:
            parts = urlsplit(text)
            if parts.hostname and parts.port != 0:
                return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
            reason = "it names no website"
        except ValueError:
            reason = "it cannot be read as one"
    shown = safe_line(text[:80]) + ("…" if len(text) > 80 else "")
    raise UsageError(f"This is no web address: {shown} ({reason}). Share the page itself, or its text.")


def keep_address(folder: Path, address: str, now: datetime) -> tuple[Path, bool]:
    """Keep an address as a note; return the note and whether the note is new. Raises NotWritable.

    The words of the address are the note's title, by which it is found. `now` is stored with its time zone.
    """
    parts = urlsplit(address)
    host = (parts.hostname or "").removeprefix("www.")
    words = _WORD.findall(re.sub(r"[-_./+]", " ", unquote(f"{parts.path} {parts.query}", errors="replace")))
    title = safe_line(" ".join(words[:_MOST_WORDS])) or "Link"
    name = re.sub(r"[^a-z0-9.-]", "-", host.lower())[:60]
    note = folder / f"{name}-{hashlib.sha256(address.encode()).hexdigest()[:12]}.md"
    if note.exists():
        return note, False
    shared = now.isoformat(sep=" ", timespec="minutes")
    write_private(note, f"# {title} ({safe_line(host)})\n\nLink: {address}\n\nShared on {shared}.\n")
    return note, True


def file_of(path: Path, max_bytes: int) -> Path:
    """Return the path of a shared file. Raises UsageError if it is no file, or is larger than `max_bytes`."""
    from device_app.system.phone import storage_advice

    shown = safe_line(str(path))
    try:
        status = os.stat(path)  # noqa: PTH116 (Path.stat is the same; here the errors matter)
    except (OSError, ValueError):
        advice = storage_advice(path) or f"There is no file named {shown}, and it is no web address"
        raise UsageError(f"{advice}.") from None
    if not stat.S_ISREG(status.st_mode):
        raise UsageError(f"{shown} is not a file. To read a folder: jackdaw add PATH")
    if status.st_size > max_bytes:
        raise UsageError(
            f"{shown} has {status.st_size / 1e6:,.0f} MB, and files of up to {max_bytes / 1e6:,.0f} MB are read. To "
            "read it all the same: jackdaw config set knowledge.max_file_mb MB"
        )
    return path


def filter_of(path: Path) -> str:
    """Return the filter that limits a question to this file."""
    name = max(re.split(r'["“”]', path.name), key=len)
    return f'in:"{name}"'
