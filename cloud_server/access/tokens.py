"""Bearer tokens, which authorise devices. Each token is shown once, when it is made; only its hash is stored.

A token is 256 random bits, too long to guess, so that one round of SHA-256 is enough. A token contains its id, by which
its hash is looked up, to be compared in constant time.
"""

import hashlib
import hmac
import os
import re
import secrets
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, count
from pathlib import Path

import msgspec
from filelock import FileLock

from shared.errors import NothingFound, StoreCorrupt, UsageError
from storage.private import private_lock, to_be_written, write_private

_TOKEN = re.compile(r"jackdaw_([0-9a-f]{8})_([0-9a-f]{64})")
_NAME = re.compile(r"[\w.@ -]{1,64}")


@dataclass(frozen=True, slots=True)
class TokenEntry:
    """A token's record. `hash` is the SHA-256 of the whole token, in hex; `created_at` is in ISO 8601."""

    id: str
    name: str
    hash: str
    created_at: str


class TokenFile:
    """The file of a server's tokens. Other processes may change the file: every read returns its current content."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: tuple[int, int, int] | None = None
        self._entries: dict[str, TokenEntry] = {}

    def create(self, name: str, now: datetime) -> tuple[TokenEntry, str]:
        """Make a token with the given name and return its record and the token itself. Raises UsageError,
        NotWritable.
        """
        token = new_token()
        return self.add(token, name, now), token

    def add(self, token: str, name: str, now: datetime, *, numbered: bool = False) -> TokenEntry:
        """Make `token` valid under the given name; with `numbered`, append -2, -3 … if the name is taken.

        With `numbered`, the caller has to check that the name is allowed. Raises UsageError, NotWritable.
        """
        with self._locked():
            if not numbered:
                self.may_add(name)
            entries = self.entries()
            taken = {entry.name for entry in entries}
            free = next(
                candidate
                for candidate in chain([name], (f"{name}-{number}" for number in count(2)))
                if candidate not in taken
            )
            entry = TokenEntry(token[8:16], free, _hash(token), now.isoformat(timespec="seconds"))
            self._write([*entries, entry])
        return entry

    def may_add(self, name: str) -> None:
        """Raise UsageError unless a new token may have the given name."""
        if not _NAME.fullmatch(name):
            raise UsageError(
                f"{name!r} cannot be a token's name. A name has 1 to 64 letters, digits, spaces, . - _ and @."
            )
        if any(entry.name == name for entry in self.entries()):
            raise UsageError(f"A token named {name!r} exists already. Revoke it first, or choose another name.")

    def entries(self) -> list[TokenEntry]:
        """Return all valid tokens, oldest first. Raises StoreCorrupt."""
        try:
            facts = self._path.stat()
            seen = (facts.st_mtime_ns, facts.st_size, facts.st_ino)
            if seen != self._seen:
                entries = msgspec.json.decode(self._path.read_bytes(), type=list[TokenEntry])
                self._entries, self._seen = {entry.id: entry for entry in entries}, seen
        except FileNotFoundError:
            self._entries, self._seen = {}, None
        except (msgspec.MsgspecError, OSError) as error:
            raise StoreCorrupt(f"{self._path} cannot be read ({error}). Correct the file, or move it away.") from None
        return list(self._entries.values())

    def revoke(self, name: str) -> TokenEntry:
        """Make the token with the given name or id invalid. Raises NothingFound, NotWritable."""
        with self._locked():
            entries = self.entries()
            gone = next((entry for entry in entries if name in (entry.name, entry.id)), None)
            if gone is None:
                raise NothingFound(f"There is no token {name!r}. List all tokens: jackdaw-server token list")
            self._write([entry for entry in entries if entry is not gone])
        return gone

    def check(self, token: str) -> TokenEntry | None:
        """Return the record of a token; None if the token is unknown or was revoked."""
        self.entries()
        form = _TOKEN.fullmatch(token)
        entry = self._entries.get(form[1]) if form else None
        return entry if entry and hmac.compare_digest(entry.hash, _hash(token)) else None

    def _locked(self) -> FileLock:
        return private_lock(self._path.with_suffix(".lock"))

    def _write(self, entries: list[TokenEntry]) -> None:
        with to_be_written(f"write {self._path}"):
            write_private(self._path, msgspec.json.format(msgspec.json.encode(entries)).decode() + os.linesep)


def new_token() -> str:
    """Return a new random token, which is valid only after `TokenFile.add`."""
    return f"jackdaw_{secrets.token_hex(4)}_{secrets.token_hex(32)}"


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
