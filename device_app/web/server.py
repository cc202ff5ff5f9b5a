"""Serves the app to one browser with textual-serve: each page runs its own process. Requests are not logged."""

from __future__ import annotations

import asyncio
import re
import shlex
import signal
import ssl
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

from aiohttp import web
from textual_serve.app_service import AppService
from textual_serve.server import Server, to_int
from yarl import URL

from device_app.web.door import Door, Request, Verdict
from shared.errors import NotWritable, UsageError

ENDING_S = 5.0
"""Seconds that an app may take to end after its page was closed."""

_MOST_MESSAGE = 1_000_000
"""The most bytes in a message from the page, such as key presses or a paste."""

_APP = (sys.executable, "-P", "-c", "from device_app.cli import main; main()", "app")
"""The command of `jackdaw app`, independent of the current folder."""

_FOCUS = """
new MutationObserver(() => document.querySelector(".xterm-helper-textarea")?.focus())
  .observe(document.body, { attributes: true, attributeFilter: ["class"] });
"""

_ELSEWHERE = re.compile(r'<link[^>]*\bhref="(?:https?:)?//[^>]*>|\sxmlns="[^"]*"')
"""References to other hosts in textual-serve's page: a font from Google, and an XML namespace HTML can omit."""

_REFUSALS = {
    Verdict.ELSEWHERE: "This page opens only at the address that `jackdaw web` printed.",
    Verdict.USED: "Another browser has used this address already. Run `jackdaw web` again for a new address.",
    Verdict.STRANGER: "Open the complete address that `jackdaw web` printed, including the token.",
}

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Session(AppService):
    """The app process of one page, ended when the page is closed."""

    def _build_environment(self, width: int = 80, height: int = 24) -> dict[str, str]:
        return super()._build_environment(width, height) | {"TEXTUAL_DRIVER": "device_app.web.driver:PageDriver"}

    async def run(self) -> None:
        """Forward the app's output to the page; close the connection when the app ends, for whatever reason."""
        try:
            await super().run()
        finally:
            await self.remote_close()

    async def stop(self) -> None:
        """Ask the app to end, and kill it if it has not ended after `ENDING_S`."""
        process = self._process
        if process is None:
            return
        with suppress(TimeoutError):
            await asyncio.wait_for(super().stop(), ENDING_S)
            await asyncio.wait_for(process.wait(), ENDING_S)
        if process.returncode is None:
            process.kill()
            await process.wait()


class WebServer(Server):
    """A web server with access control, which runs an app for each page that is let in."""

    def __init__(self, host: str, port: int, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(f"exec {shlex.join(_APP)}", host, port, title="Jackdaw")
        self._tls = tls
        self._door = Door("")
        self._open: set[asyncio.Task[object]] = set()

    @property
    def address(self) -> str:
        """The address to open in a browser, with the token."""
        return str(URL(self.public_url) / "" % {"token": self._door.token})

    async def run(self, started: Callable[[str], None], ended: asyncio.Event) -> None:
        """Serve until `ended` is set; call `started` with the address. Raises NotWritable if the port is taken."""
        runner = web.AppRunner(await self._make_app(), access_log=None, shutdown_timeout=ENDING_S)
        await runner.setup()
        try:
            await self._listen(runner)
            started(self.address)
            await ended.wait()
        finally:
            for task in self._open:
                task.cancel()
            await runner.cleanup()

    async def _listen(self, runner: web.AppRunner) -> None:
        try:
            await web.TCPSite(runner, self.host, self.port, ssl_context=self._tls).start()
        except OSError as error:
            raise NotWritable(
                f"Cannot listen on {self.host}, port {self.port}: {(error.strerror or str(error)).lower()}. "
                "Choose another port with --port."
            ) from None
        scheme, port = ("https" if self._tls else "http"), runner.addresses[0][1]
        self.public_url = str(URL.build(scheme=scheme, host=self.host, port=port).origin())
        self._door = Door(self.public_url)

    async def _make_app(self) -> web.Application:
        app = await super()._make_app()
        app.middlewares.append(self._guarded)
        return app

    async def on_startup(self, app: web.Application) -> None:
        """Print nothing: the command prints the address."""

    @web.middleware
    async def _guarded(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        name = f"jackdaw-{URL(self.public_url).port}"  # cookies ignore the port, so the name holds it
        verdict = self._door.decide(
            Request(
                host=request.headers.get("Host"),
                origin=request.headers.get("Origin"),
                is_socket=request.path == "/ws",
                token=request.query.get("token") if request.method == "GET" and request.path == "/" else None,
                cookie=request.cookies.get(name),
            )
        )
        response: web.StreamResponse
        if verdict is Verdict.SERVE:
            response = await handler(request)
        elif verdict is Verdict.EXCHANGE:
            response = web.Response(status=303, headers={"Location": "/"})
            secure = self._tls is not None
            response.set_cookie(name, self._door.cookie, httponly=True, samesite="Strict", secure=secure)
        else:
            response = web.Response(status=403, text=_REFUSALS[verdict] + "\n")
        if not response.prepared:
            response.headers.update(_headers(self.public_url))
        return response

    async def handle_index(self, request: web.Request) -> web.Response:
        """Return the page without references to other hosts, with a script that focuses the app once drawn."""
        page = await super().handle_index(request)
        assert isinstance(page, web.Response)
        page.text = _ELSEWHERE.sub("", page.text or "").replace("</body>", f"<script>{_FOCUS}</script></body>")
        return page

    async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
        """Run an app for the page until the app ends or the page is closed."""
        websocket = web.WebSocketResponse(heartbeat=15, max_msg_size=_MOST_MESSAGE)
        await websocket.prepare(request)
        session = Session(
            self.command,
            write_bytes=websocket.send_bytes,
            write_str=websocket.send_str,
            close=_closing(websocket),
            download_manager=self.download_manager,
        )
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            await session.start(to_int(request.query.get("width", ""), 80), to_int(request.query.get("height", ""), 24))
            await self._process_messages(websocket, session)
        finally:
            self._open.discard(task)
            await session.stop()
        return websocket


def serve(host: str, port: int, tls: ssl.SSLContext | None, started: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM; call `started` with the address. Raises NotWritable."""

    async def until_signalled() -> None:
        ended = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, ended.set)
        await WebServer(host, port, tls).run(started, ended)

    asyncio.run(until_signalled())


def tls_context(certificate: Path, key: Path) -> ssl.SSLContext:
    """Return a TLS context with the certificate chain and its key, both PEM. Raises UsageError."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        reason = error.strerror or error.__class__.__name__
        raise UsageError(f"{certificate} and {key} are not a PEM certificate and its private key: {reason}.") from None
    return context


def _closing(websocket: web.WebSocketResponse) -> Callable[[], Awaitable[None]]:
    async def close() -> None:
        await websocket.close()

    return close


def _headers(url: str) -> dict[str, str]:
    """Return headers that forbid the page requests to other hosts, being framed and being cached."""
    socket = url.replace("http", "ws", 1)
    return {
        "Content-Security-Policy": (
            f"default-src 'self' data:; connect-src 'self' {socket}; "
            "script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'; "
            "base-uri 'none'; form-action 'none'"
        ),
        "Cross-Origin-Resource-Policy": "same-origin",
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cache-Control": "no-store",
    }
