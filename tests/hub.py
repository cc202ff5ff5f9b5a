"""A model hub on the loopback, which can misbehave."""

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Hub:
    """A fake model hub: the file that it serves and how it misbehaves.

    `asked` holds the Range header of each download so far.
    """

    content: bytes
    sha256: str | None
    size: int | None
    endpoint: str = ""
    cut_after: int | None = None
    stall_after: int | None = None
    ignores_range: bool = False
    moved: bool = False
    asked: list[str | None] = field(default_factory=list)
    tokens: dict[str, str | None] = field(default_factory=dict)
    stalled: threading.Event = field(default_factory=threading.Event)
    go_on: threading.Event = field(default_factory=threading.Event)

    @classmethod
    def of(cls, content: bytes) -> "Hub":
        """Return a hub that serves this file and states its size and hash correctly."""
        return cls(content, hashlib.sha256(content).hexdigest(), len(content))


class Handler(BaseHTTPRequestHandler):
    hub: Hub

    def do_HEAD(self) -> None:
        hub = self.hub
        hub.tokens["hub"] = self.headers.get("Authorization")
        if hub.moved and self.path.startswith("/owner/"):
            self.send_response(307)
            self.send_header("Location", self.path.replace("/owner/", "/new-owner/"))
            self.send_header("Content-Length", "99")
        elif "/missing/" in self.path:
            self.send_response(404)
        else:
            self.send_response(302)
            # The same server by another name: another host, as a hub's storage is.
            self.send_header("Location", f"{hub.endpoint.replace('127.0.0.1', 'localhost')}/storage")
            if hub.sha256:
                self.send_header("X-Linked-Etag", f'"{hub.sha256}"')
            if hub.size is not None:
                self.send_header("X-Linked-Size", str(hub.size))
        self.end_headers()

    def do_GET(self) -> None:
        hub = self.hub
        expected = self.headers.get("Range")
        hub.asked.append(expected)
        hub.tokens["storage"] = self.headers.get("Authorization")
        start = 0
        if expected and not hub.ignores_range:
            start = int(expected.removeprefix("bytes=").removesuffix("-"))
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(hub.content) - 1}/{len(hub.content)}")
        else:
            self.send_response(200)
        body = hub.content[start:]
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if hub.stall_after is not None:
            self.wfile.write(body[: hub.stall_after])
            self.wfile.flush()
            hub.stalled.set()
            hub.go_on.wait(60)
            return
        self.wfile.write(body if hub.cut_after is None else body[: hub.cut_after])

    def log_message(self, *_: object) -> None:
        """Log nothing."""

    def handle(self) -> None:
        try:
            super().handle()
        except ConnectionError:  # the other side was killed, as the test wants
            self.close_connection = True


@contextmanager
def serving(content: bytes) -> Iterator[Hub]:
    """Run a hub with one file; `HF_ENDPOINT` has to be its `endpoint`."""
    hub = Hub.of(content)
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"hub": hub}))
    hub.endpoint = f"http://127.0.0.1:{httpd.server_address[1]}"
    thread = threading.Thread(target=httpd.serve_forever)
    thread.start()
    try:
        yield hub
    finally:
        hub.go_on.set()
        httpd.shutdown()
        httpd.server_close()
        thread.join()
