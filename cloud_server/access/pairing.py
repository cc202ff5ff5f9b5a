"""The code with which a device may be paired, in a file.

The code is in a file that `jackdaw-server pair` and `serve` share. At most one is open. Five wrong proofs end it, ten
minutes do, and one device that was paired; all are counted in the file and under its lock, so that no other process and
no second connection has tries of its own. What is kept is the key that the secret was made to, never the code.
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
from storage.paths import private_lock, to_be_written, write_private

TRIES = 5
VALID = timedelta(minutes=10)

State = Literal["open", "paired", "tried", "expired", "withdrawn"]


@dataclass(frozen=True, slots=True)
class Record:
    """A code that was made. `key` is empty once it is over; `name` is what the token is to be called, "" if the device
    says it itself; `paired` is what it was called in the end.
    """

    id: str
    key: bytes
    name: str
    opened_at: datetime
    tries_left: int = TRIES
    paired: str = ""

    def state(self, now: datetime) -> State:
        """Whether it may be used, or why not. A clock that was set back before its beginning ends it, too."""
        if self.paired:
            return "paired"
        if not self.tries_left:
            return "tried"
        return "open" if self.opened_at <= now < self.opened_at + VALID else "expired"


class PairingFile:
    """The code that is open, if one is."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def open(self, pin: str, name: str, now: datetime) -> tuple[Record, int]:
        """Make a code for a server whose key has this pin; one that was open is withdrawn. The record and the secret.

        Raises NotWritable.
        """
        secret = new_secret()
        record = Record(secrets.token_hex(8), x.derived(secret, pin), name, now)
        with self._locked():
            self._write(record)
        return record, secret

    def read(self) -> Record | None:
        """What is there now. Raises StoreCorrupt."""
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=Record)
        except FileNotFoundError:
            return None
        except (msgspec.MsgspecError, OSError) as error:
            raise StoreCorrupt(f"{self._path} cannot be read ({error}). Delete it, then: jackdaw-server pair") from None

    def is_open(self, now: datetime) -> bool:
        """Whether a device may be paired. Raises StoreCorrupt."""
        record = self.read()
        return record is not None and record.state(now) == "open"

    def attempt(self, proves: Callable[[bytes], bool], now: datetime) -> Record | None:
        """The record, if `proves` holds for its key; None where no code is open.

        Compared under the lock: of any number of guesses at once, five are looked at.
        Raises WrongProof, StoreCorrupt, NotWritable.
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
        """Make the token valid that a device has got, and end the pairing; None where it is over by now.

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
        """End this pairing, and forget it. Raises NotWritable."""
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
    """Whoever tried does not know the code."""

    def __init__(self, tries_left: int) -> None:
        super().__init__("The code is wrong.")
        self.tries_left = tries_left


def _token_name(said: str) -> str:
    """What a device calls itself, as a token may be called."""
    return re.sub(r"[^\w.@ -]", "", said).strip()[:60] or "device"
