"""The app in a real browser: it is drawn, takes a question, and the page asks nobody else for anything."""

import asyncio
import base64
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession, ClientWebSocketResponse
from yarl import URL

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
WAIT_S = 30

_COLOURS = """(async () => {
  const picture = new Image();
  picture.src = "data:image/png;base64,%s";
  await picture.decode();
  const canvas = new OffscreenCanvas(picture.width, picture.height);
  const drawing = canvas.getContext("2d");
  drawing.drawImage(picture, 0, 0);
  const pixels = new Uint32Array(drawing.getImageData(0, 0, picture.width, picture.height).data.buffer);
  return new Set(pixels).size;
})()"""


class Page:
    """A browser page, controlled by the DevTools protocol. `received` is the data that its WebSocket got."""

    def __init__(self, socket: ClientWebSocketResponse) -> None:
        self._socket = socket
        self._last = 0
        self.received = b""
        self.asked: list[str] = []

    async def call(self, method: str, **parameters: Any) -> Any:
        self._last += 1
        await self._socket.send_json({"id": self._last, "method": method, "params": parameters})
        while (message := await self._next()).get("id") != self._last:
            pass
        assert "error" not in message, message
        return message["result"]

    async def shown(self, text: str) -> None:
        """Wait until the app has drawn the text."""
        async with asyncio.timeout(WAIT_S):
            while text.encode() not in self.received:
                await self._next()

    async def picture(self) -> tuple[str, int]:
        """The page as a PNG in base 64, and how many colours it has."""
        data = (await self.call("Page.captureScreenshot", format="png"))["data"]
        result = await self.call("Runtime.evaluate", expression=_COLOURS % data, awaitPromise=True, returnByValue=True)
        return data, result["result"]["value"]

    async def type(self, text: str) -> None:
        for letter in text:
            code = 13 if letter == "\r" else 0
            key = "Enter" if code else letter
            await self.call("Input.dispatchKeyEvent", type="keyDown", key=key, text=letter, windowsVirtualKeyCode=code)
            await self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    async def _next(self) -> Any:
        message = await self._socket.receive_json()
        match message.get("method"):
            case "Network.webSocketFrameReceived":
                response = message["params"]["response"]
                data = response["payloadData"]
                self.received += base64.b64decode(data) if response["opcode"] == 2 else data.encode()
            case "Network.responseReceived":
                self.asked.append(message["params"]["response"]["url"])
        return message


@pytest.fixture
def chromium(tmp_path: Path) -> Iterator[URL]:
    """Run a headless Chromium; yield the URL of its DevTools."""
    if not CHROMIUM:
        pytest.skip("Chromium is not here")
    profile = tmp_path / "profile"
    options = "headless no-sandbox disable-gpu disable-quic no-first-run disable-background-networking "
    options += "disable-component-update disable-sync remote-debugging-port=0 window-size=900,600"
    log = (tmp_path / "chromium.log").open("wb")
    command = [CHROMIUM, *(f"--{option}" for option in options.split()), f"--user-data-dir={profile}", "about:blank"]
    with log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            port = profile / "DevToolsActivePort"
            for _ in range(WAIT_S * 10):
                if port.exists() and port.read_text().strip():
                    break
                assert process.poll() is None, (tmp_path / "chromium.log").read_text()
                asyncio.run(asyncio.sleep(0.1))
            yield URL(f"http://127.0.0.1:{port.read_text().split()[0]}")
        finally:
            process.terminate()


def test_the_app_is_drawn_and_answers_in_chromium(chromium: URL, serve: Callable[..., Any]) -> None:
    async def work(address: URL) -> None:
        async with ClientSession() as session:
            async with session.get(chromium / "json") as answer:
                (target,) = [page for page in await answer.json() if page["type"] == "page"]
            async with session.ws_connect(target["webSocketDebuggerUrl"], max_msg_size=0) as socket:
                page = Page(socket)
                await page.call("Network.enable")
                await page.call("Page.enable")
                await page.call("Page.navigate", url=str(address))
                await page.shown("about your files")
                await asyncio.sleep(1)  # the page fades in
                before, colours = await page.picture()
                assert colours > 20  # letters, smoothed
                await page.type("who has the blue drill?\r")
                await page.shown("nothing found")
                await asyncio.sleep(1)
                after, _ = await page.picture()
                assert after != before
                assert {URL(url).origin() for url in page.asked if url.startswith("http")} == {address.origin()}
                where = await page.call("Runtime.evaluate", expression="location.href")
                assert where["result"]["value"] == f"{address.origin()}/"

    with serve() as running:
        asyncio.run(work(URL(running.address)))
