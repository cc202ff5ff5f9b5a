"""The pairing exchange, in which a device that proves knowledge of the pairing code gets a token."""

import asyncio
import hmac
import logging
from collections.abc import Callable
from datetime import datetime

from cloud_server.access.pairing import PairingFile, WrongProof
from cloud_server.access.tokens import TokenEntry, TokenFile, new_token
from cloud_server.sessions.connection import Closed, Connection
from shared.errors import JackdawError
from shared.pairing import exchange as x
from shared.protocol.messages import CloseCode

EXCHANGE_S = 15.0
"""Seconds that one exchange may take; a slow phone derives the key within one second."""

MOST_AT_ONCE = 8

log = logging.getLogger(__name__)


class PairingDesk:
    """Pairs connecting devices while a pairing code is open."""

    def __init__(self, file: PairingFile, tokens: TokenFile, clock: Callable[[], datetime]) -> None:
        self._file, self._tokens, self._clock = file, tokens, clock
        self._exchanges = 0

    def is_open(self) -> bool:
        """Return whether a pairing code is open now."""
        try:
            return self._file.is_open(self._clock())
        except JackdawError as error:
            log.error("the pairing code cannot be read", extra={"detail": str(error)})  # noqa: TRY400
            return False

    async def serve(self, connection: Connection) -> None:
        """Run the pairing exchange with one device, then close its connection, whatever the device sends."""
        self._exchanges += 1
        try:
            async with asyncio.timeout(EXCHANGE_S):
                await connection.send(x.encoded(await self._last(connection)))
                await connection.close(CloseCode.DONE)
        except (TimeoutError, Closed):
            connection.abort()
        finally:
            self._exchanges -= 1

    async def _last(self, connection: Connection) -> x.Done | x.Refused:
        """Run the exchange and return its last message, Done or Refused. Raises Closed."""
        try:
            if self._exchanges > MOST_AT_ONCE:
                raise _Refusal("busy")  # noqa: TRY301
            entry = await self._exchange(connection)
        except _Refusal as refusal:
            return x.Refused(refusal.reason)
        except WrongProof as wrong:
            log.warning("a wrong pairing code", extra={"tries_left": wrong.tries_left})
            return x.Refused("wrong", wrong.tries_left)
        except JackdawError as error:
            log.error("cannot pair", extra={"detail": str(error)})  # noqa: TRY400
            return x.Refused("failed")
        log.info("paired", extra={"client": entry.name})
        return x.Done(entry.name)

    async def _exchange(self, connection: Connection) -> TokenEntry:
        """Exchange proofs with the device, send it a new token, and make the token valid once the device has stored it.

        Return the token's record. Raises Closed, _Refusal, WrongProof, StoreError, NotWritable.
        """
        challenge, token = x.new_nonce(), new_token()
        await connection.send(x.encoded(x.Challenge(challenge)))
        said = x.from_device(await connection.receive())
        if not isinstance(said, x.Proof):
            raise _Refusal("version")
        nonce, proof = said.nonce, said.proof
        record = self._file.attempt(
            lambda key: hmac.compare_digest(proof, x.device_proof(key, challenge, nonce)), self._clock()
        )
        if record is None:
            raise _Refusal("over")
        await connection.send(x.encoded(x.Grant(x.server_proof(record.key, challenge, nonce, token), token)))
        kept = x.from_device(await connection.receive())
        if not isinstance(kept, x.Kept):
            raise _Refusal("version")
        entry = self._file.complete(record.id, kept.name, token, self._tokens, self._clock())
        if entry is None:
            raise _Refusal("over")
        return entry


class _Refusal(Exception):
    def __init__(self, reason: x.Reason) -> None:
        super().__init__(reason)
        self.reason = reason
