"""The certificate that new connections see: read again when its files change. Connections that are open keep theirs."""

import asyncio
import logging
import ssl
from datetime import UTC, datetime
from pathlib import Path

from cloud_server.access import certificate
from shared.errors import UsageError

LOOK_S = 10.0
"""How often it is looked whether the files have changed."""

log = logging.getLogger(__name__)


class Renewed:
    """The certificate in these files. `context` is what the server listens with, from first to last.

    Raises UsageError where it cannot be used.
    """

    def __init__(self, chain: str, key: str) -> None:
        self._files = chain, key
        self._read = self._seen = self._facts()
        self._current = self.context = certificate.tls(chain, key)
        self.context.sni_callback = self._choose

    async def look(self) -> None:
        """For ever: read the files where they have changed, and then rested: chain and key are not written at once."""
        while True:
            await asyncio.sleep(LOOK_S)
            before, self._seen = self._seen, self._facts()
            if self._read != self._seen == before:
                self.reload()

    def reload(self) -> None:
        """Read the files. Where they cannot be used, the log says why, and the certificate before them stays."""
        self._read = self._facts()
        try:
            fresh = certificate.tls(*self._files)
            summary = certificate.read(*self._files).summary(datetime.now(UTC))
        except UsageError as error:
            log.error("the certificate cannot be renewed", extra={"detail": str(error)})  # noqa: TRY400
        else:
            self._current = fresh
            log.info("the certificate was read", extra={"detail": summary})

    def _choose(self, connection: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        """At each handshake, whether it names a host or not."""
        connection.context = self._current

    def _facts(self) -> tuple[tuple[int, int, int] | None, ...]:
        return tuple(_facts(Path(file)) for file in self._files if file)


def _facts(file: Path) -> tuple[int, int, int] | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns
