"""Reloads the TLS certificate when its files change. Only new connections get the new certificate."""

import asyncio
import logging
import ssl
from datetime import UTC, datetime
from pathlib import Path

from cloud_server.access import certificate
from shared.errors import UsageError

LOOK_S = 10.0
"""Seconds between two checks of the certificate's files for changes."""

log = logging.getLogger(__name__)


class Renewed:
    """The server's TLS certificate, reloaded when its files change. The server listens with the TLS context `context`
    throughout.

    Raises UsageError if the certificate cannot be used.
    """

    def __init__(self, chain: str, key: str) -> None:
        self._files = chain, key
        self._read = self._seen = self._facts()
        self._current = self.context = certificate.tls(chain, key)
        self.context.sni_callback = self._choose

    async def look(self) -> None:
        """Check the certificate's files forever, and reload them when they have changed and then stayed the same for
        one interval.

        The interval is needed because the certificate chain and the key are written one after the other.
        """
        while True:
            await asyncio.sleep(LOOK_S)
            before, self._seen = self._seen, self._facts()
            if self._read != self._seen == before:
                self.reload()

    def reload(self) -> None:
        """Reload the certificate's files. If they cannot be used, log the reason and keep the current certificate."""
        self._read = self._facts()
        try:
            fresh = certificate.tls(*self._files)
            summary = certificate.read(*self._files).summary(datetime.now(UTC))
        except UsageError as error:
            log.error("the certificate cannot be renewed", extra={"detail": str(error)})  # noqa: TRY400
        else:
            self._current = fresh
            log.info("the certificate was reloaded", extra={"detail": summary})

    def _choose(self, connection: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        """Use the current certificate for a TLS handshake, whether or not the client names a host (SNI callback)."""
        connection.context = self._current

    def _facts(self) -> tuple[tuple[int, int, int] | None, ...]:
        return tuple(_facts(Path(file)) for file in self._files if file)


def _facts(file: Path) -> tuple[int, int, int] | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns
