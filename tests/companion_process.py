"""Runs a complete companion server with the fake engine in a process of its own, which a test can end or kill."""

import logging
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path

from cloud_server.access.tokens import TokenFile
from cloud_server.cli.serve import run
from cloud_server.serving.server import CompanionServer
from models.fake import FakeEngine
from shared.errors import JackdawError
from tests.companion import Slow, companion

_PROCESSES = multiprocessing.get_context("forkserver")
_PROCESSES.set_forkserver_preload(["tests.companion_process"])  # what is imported once starts in milliseconds


class CompanionProcess:
    """A server process, started by the constructor. `log` is its complete log.

    Its engine takes `seconds` for a token; `engine` makes another engine, in the server's process. `spoil` is called in
    that process with the server before it serves.
    """

    def __init__(
        self,
        folder: Path,
        seconds: float = 0.0,
        *,
        engine: Callable[[], FakeEngine] | None = None,
        spoil: Callable[[CompanionServer], None] | None = None,
        **sections: Mapping[str, object],
    ) -> None:
        self.tokens = TokenFile(folder / "tokens.json")
        self.log = folder / "server.log"
        own, others = _PROCESSES.Pipe()
        made = engine or partial(Slow, seconds)
        arguments = (folder / "tokens.json", self.log, made, spoil, sections, others)
        self._process = _PROCESSES.Process(target=_serve, args=arguments, daemon=True)
        self._process.start()
        others.close()
        with own:
            assert own.poll(60)
            self.port, self.metrics_port = own.recv()

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.port}/"

    def token(self, name: str = "phone") -> str:
        return self.tokens.create(name, datetime.now(UTC))[1]

    def kill(self) -> None:
        """Kill the process with SIGKILL."""
        self._process.kill()

    def terminate(self) -> None:
        """Send SIGTERM to the process."""
        self._process.terminate()

    def signals(self, number: signal.Signals) -> None:
        """Send a signal to the process."""
        assert self._process.pid
        os.kill(self._process.pid, number)

    def ended(self) -> int | None:
        """Wait until the process has ended, and return its exit code."""
        self._process.join(60)
        return self._process.exitcode


def _serve(
    tokens: Path,
    log: Path,
    engine: Callable[[], FakeEngine],
    spoil: Callable[[CompanionServer], None] | None,
    sections: Mapping[str, Mapping[str, object]],
    sender: Connection,
) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.basicConfig(filename=log, level=logging.DEBUG, format="%(asctime)s %(name)s %(message)s")
    server = companion(TokenFile(tokens), engine(), sections)
    if spoil:
        spoil(server)
    try:
        run(server, lambda _host, port, metrics: sender.send((port, metrics)))
    except JackdawError as error:
        sys.exit(error.exit_code)
