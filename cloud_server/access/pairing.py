"""The pairing code: a short-lived secret with which one device may be paired.

The code is in a file that `jackdaw-server pair` and `serve` share. At most one code is open. It ends after five wrong
proofs, after ten minutes, or once a device is paired. Tries are counted in the file, under its lock, so that other
processes and connections get no extra tries. The file holds the key derived from the code's secret, never the code
itself.
"""

import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal

import msgspec
from filelock import FileLock

from cloud_server.access.tokens import TokenEntry, TokenFile
from shared.errors import JackdawError, StoreCorrupt
from shared.pairing import exchange as x
from shared.pairing.code import new_secret
from storage.private import private_lock, to_be_written, write_private

TRIES = 5
VALID = timedelta(minutes=10)

State = Literal["open", "paired", "tried", "expired", "withdrawn"]


@dataclass(frozen=True, slots=True)
class Record:
    """The state of a pairing code. `key` is empty once the code has ended; `name` is the name for the new token ("":
    the device chooses it); `paired` is the name that the new token got.
    """

    id: str
    key: bytes
    name: str
    opened_at: datetime
    tries_left: int = TRIES
    paired: str = ""

    def state(self, now: datetime) -> State:
        """Return the code's state at `now`. A code also expires if the clock is set back to before `opened_at`."""
        if self.paired:
            return "paired"
        if not self.tries_left:
            return "tried"
        return "open" if self.opened_at <= now < self.opened_at + VALID else "expired"


class PairingFile:
    """The file that holds the current pairing code; the file is missing if there is no code."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def open(self, pin: str, name: str, now: datetime) -> tuple[Record, int]:
        """Make a pairing code for the server whose TLS key has the hash `pin`, and replace any open code.

        `name` is that of the token to make (`Record.name`). Return the record and the secret. Raises NotWritable.
        """
        secret = new_secret()
        record = Record(secrets.token_hex(8), x.derived(secret, pin), name, now)
        with self._locked():
            self._write(record)
        return record, secret

    def read(self) -> Record | None:
        """Return the record in the file; None if there is no file. Raises StoreCorrupt."""
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=Record)
        except FileNotFoundError:
            return None
        except (msgspec.MsgspecError, OSError) as error:
            raise StoreCorrupt(f"{self._path} cannot be read ({error}). Delete it, then: jackdaw-server pair") from None

    def is_open(self, now: datetime) -> bool:
        """Return whether a code is open. Raises StoreCorrupt."""
        record = self.read()
        return record is not None and record.state(now) == "open"

    def attempt(self, proves: Callable[[bytes], bool], now: datetime) -> Record | None:
        """Check a device's proof: return the record if `proves` accepts its key; None if no pairing code is open.

        Checks the proof under the file's lock, so that at most five concurrent guesses are checked. Raises WrongProof,
        StoreCorrupt, NotWritable.
        """
        with self._locked():
            record = self.read()
            if record is None or record.state(now) != "open":
                return None
            if not proves(record.key):
                left = record.tries_left - 1
                self._write(replace(record, tries_left=left, key=record.key if left else b""))
                raise WrongProof(left)
        return record

    def complete(self, id: str, name: str, token: str, tokens: TokenFile, now: datetime) -> TokenEntry | None:
        """Make the device's new token valid and end the pairing. Return the token's record; None if the pairing code
        `id` is no longer open. `name` is the name that the device chose, for a code without one.

        Raises StoreCorrupt, NotWritable.
        """
        with self._locked():
            record = self.read()
            if record is None or record.id != id or record.state(now) != "open":
                return None
            entry = tokens.add(token, record.name or _token_name(name), now, numbered=True)
            self._write(replace(record, key=b"", paired=entry.name))
        return entry

    def withdraw(self, id: str) -> None:
        """Delete the file if it holds the pairing code with the given id. Raises NotWritable."""
        with self._locked():
            record = self.read()
            if record is not None and record.id == id:
                self._path.unlink()

    def _locked(self) -> FileLock:
        return private_lock(self._path.with_suffix(".lock"))

    def _write(self, record: Record) -> None:
        with to_be_written(f"write {self._path}"):
            write_private(self._path, msgspec.json.encode(record).decode())


class WrongProof(JackdawError):
    """The device's proof does not match the pairing code."""

    def __init__(self, tries_left: int) -> None:
        super().__init__("The pairing code is wrong.")
        self.tries_left = tries_left


def _token_name(said: str) -> str:
    """Return the name that the device chose, reduced to the characters that a token's name may have."""
    return re.sub(r"[^\w.@ -]", "", said).strip()[:60] or "device"
