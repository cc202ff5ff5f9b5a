"""The server over real HTTP on loopback: one browser, its own page, and nothing left behind."""

import asyncio
import logging
import shutil
import subprocess
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
from aiohttp import ClientSession, ClientWebSocketResponse, CookieJar, TCPConnector, WSMsgType, WSServerHandshakeError
from yarl import URL

from device_app.web.server import tls_context
from shared.errors import NotWritable, UsageError

Serve = Callable[..., Any]
WAIT_S = 30


@asynccontextmanager
async def browser(**more: Any) -> AsyncIterator[ClientSession]:
    async with ClientSession(cookie_jar=CookieJar(unsafe=True), **more) as session:
        yield session


@asynccontextmanager
async def page(session: ClientSession, address: URL) -> AsyncIterator[ClientWebSocketResponse]:
    headers = {"Origin": str(address.origin())}
    async with session.ws_connect(address.origin() / "ws" % {"width": "80", "height": "24"}, headers=headers) as socket:
        yield socket


async def shown(socket: ClientWebSocketResponse, text: bytes) -> bytes:
    """Return what the server has sent to the page by the time that it contains the text."""
    sent = b""
    async with asyncio.timeout(WAIT_S):
        while text not in sent:
            message = await socket.receive()
            assert message.type in (WSMsgType.BINARY, WSMsgType.TEXT), (message, sent)
            sent += message.data if isinstance(message.data, bytes) else message.data.encode()
    return sent


async def gone(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(WAIT_S):
        while holds():
            await asyncio.sleep(0.05)


def judged(serve: Serve, work: Callable[[URL], Coroutine[Any, Any, None]]) -> None:
    with serve() as running:
        asyncio.run(work(URL(running.address)))


def test_the_token_lets_one_browser_in_and_leaves_the_address(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    async def work(address: URL) -> None:
        async with browser() as first, browser() as second:
            async with first.get(address, allow_redirects=False) as answer:
                assert (answer.status, answer.headers["Location"]) == (303, "/")
                (cookie,) = answer.cookies.values()
                assert (cookie["httponly"], cookie["samesite"], cookie["path"]) == (True, "Strict", "/")
            async with first.get(address.origin()) as answer:
                text = await answer.text()
                assert answer.status == 200
                assert "xterm" in text
                assert address.query["token"] not in text
                assert "default-src 'self'" in answer.headers["Content-Security-Policy"]
                assert answer.headers["Cache-Control"] == "no-store"
            async with second.get(address) as answer:
                assert answer.status == 403
                assert "used this address already" in await answer.text()
            async with first.get(address) as answer:
                assert (answer.status, str(answer.url)) == (200, str(address.origin()) + "/")
        assert address.query["token"] not in caplog.text

    judged(serve, work)


@pytest.mark.parametrize("path", ["", "?token=guessed", "static/js/textual.js", "download/key", "ws", "nothing"])
def test_without_the_cookie_there_is_nothing(serve: Serve, path: str) -> None:
    async def work(address: URL) -> None:
        async with browser() as session, session.get(f"{address.origin()}/{path}") as answer:
            assert answer.status == 403
            assert "textual" not in await answer.text()

    judged(serve, work)


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "evil.example", "Origin": "http://evil.example"},
        {"Origin": "http://evil.example"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "null"},
        {},
    ],
)
def test_another_page_opens_no_socket_with_our_cookie(serve: Serve, headers: dict[str, str]) -> None:
    async def work(address: URL) -> None:
        async with browser() as session:
            await session.get(address)
            with pytest.raises(WSServerHandshakeError) as refused:
                await session.ws_connect(address.origin() / "ws", headers=headers)
            assert refused.value.status == 403
            if headers:
                async with session.get(address.origin(), headers=headers) as answer:
                    assert answer.status == 403

    judged(serve, work)


def the_app() -> psutil.Process:
    """Return the process of the app that a page runs, among this process's children."""
    (app,) = (child for child in psutil.Process().children() if "TEXTUAL_DRIVER" in child.environ())
    return app


def test_a_page_runs_the_app_which_answers_and_ends_with_it(serve: Serve) -> None:
    async def work(address: URL) -> None:
        async with browser() as session:
            await session.get(address)
            async with page(session, address) as socket:
                await shown(socket, b"about your files")
                app = the_app()
                await socket.send_json(["stdin", "who has the blue drill?\r"])
                await shown(socket, b"nothing found")
            await gone(app.is_running)

    judged(serve, work)


def test_quitting_closes_the_page(serve: Serve) -> None:
    async def work(address: URL) -> None:
        async with browser() as session:
            await session.get(address)
            async with page(session, address) as socket:
                await shown(socket, b"about your files")
                await socket.send_json(["stdin", "\x11"])
                async with asyncio.timeout(WAIT_S):
                    while (await socket.receive()).type not in (WSMsgType.CLOSE, WSMsgType.CLOSED):
                        pass

    judged(serve, work)


def test_an_app_that_fails_to_start_closes_its_page(serve: Serve) -> None:
    async def work(address: URL) -> None:
        async with browser() as session:
            await session.get(address)
            async with page(session, address) as socket, asyncio.timeout(WAIT_S):
                while (await socket.receive()).type not in (WSMsgType.CLOSE, WSMsgType.CLOSED):
                    pass

    with serve() as running:
        running.server.command = "exit 1"
        asyncio.run(work(URL(running.address)))


@pytest.mark.long
def test_apps_end_with_the_server(serve: Serve) -> None:
    async def work(running: Any) -> None:
        address = URL(running.address)
        async with browser() as session:
            await session.get(address)
            async with page(session, address) as socket:
                await shown(socket, b"about your files")
                app = the_app()
                await asyncio.to_thread(running.__exit__)
                await gone(app.is_running)

    running = serve().__enter__()
    asyncio.run(work(running))


def test_a_port_that_is_taken_is_named(serve: Serve) -> None:
    with serve() as running:
        port = URL(running.address).port
        with pytest.raises(NotWritable, match=rf"port {port}: .* --port"), serve(port):
            pass


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, Path]:
    if not shutil.which("openssl"):
        pytest.skip("openssl is not here to make a certificate")
    certificate, key = tmp_path / "own.pem", tmp_path / "own.key"
    made = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    made += ["-subj", "/CN=localhost", "-out", str(certificate), "-keyout", str(key)]
    subprocess.run(made, check=True, capture_output=True)
    return certificate, key


def test_with_tls_everything_goes_through_it(serve: Serve, certificate: tuple[Path, Path]) -> None:
    async def work(address: URL) -> None:
        assert address.scheme == "https"
        async with browser(connector=TCPConnector(ssl=False)) as session:
            async with session.get(address, allow_redirects=False) as answer:
                (cookie,) = answer.cookies.values()
                assert cookie["secure"]
            async with session.get(address.origin()) as answer:
                assert f"wss://127.0.0.1:{address.port}/ws" in await answer.text()

    with serve(tls=tls_context(*certificate)) as running:
        asyncio.run(work(URL(running.address)))


def test_what_is_no_certificate_is_refused(tmp_path: Path, certificate: tuple[Path, Path]) -> None:
    with pytest.raises(UsageError, match=r"not a PEM certificate and its private key"):
        tls_context(certificate[1], certificate[0])
    with pytest.raises(UsageError, match=r"No such file"):
        tls_context(tmp_path / "missing.pem", certificate[1])
