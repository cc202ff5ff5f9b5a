"""Runs the server of `jackdaw web` in a thread; its apps have a fake engine and data of their own."""

import asyncio
import os
import shlex
import ssl
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("textual_serve")

from device_app.web.server import WebServer

FAKE = "from tests.devices import fake_device; from device_app.cli import main; main(fake_device)"


class Running:
    """A server in a thread of its own; `address` is what it printed."""

    def __init__(self, server: WebServer) -> None:
        self.server, self.address = server, ""
        self._loop = asyncio.new_event_loop()
        self._ended, self._started = asyncio.Event(), threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "Running":
        self._thread.start()
        assert self._started.wait(30)
        if self._error:
            self._thread.join()
            raise self._error
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join(30)
        assert not self._thread.is_alive()

    def _run(self) -> None:
        def started(address: str) -> None:
            self.address = address
            self._started.set()

        try:
            self._loop.run_until_complete(self.server.run(started, self._ended))
        except Exception as error:  # raised again where it was started
            self._error = error
            self._started.set()
        finally:
            self._loop.close()


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for variable in [name for name in os.environ if name.startswith(("JACKDAW_", "TEXTUAL_"))]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("JACKDAW_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def serve() -> Callable[..., Running]:
    """Makes a server whose pages run the app with a fake engine."""

    def made(port: int = 0, tls: ssl.SSLContext | None = None) -> Running:
        server = WebServer("127.0.0.1", port, tls)
        server.command = f"exec {shlex.join([sys.executable, '-c', FAKE, 'app'])}"
        return Running(server)

    return made
