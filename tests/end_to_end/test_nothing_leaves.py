"""No data leaves the device: the system calls of whole processes, with real models and the sample data.

No host name is looked up, no internet socket is opened except on loopback, and no file is written outside Jackdaw's
folders, the temporary folder and Python's bytecode.
"""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest
from aiohttp import ClientSession, CookieJar
from yarl import URL

from tests.kernel import calls, leaks, watched

ROOT = Path(__file__).parents[2]
PROGRAM = [sys.executable, "-c", "from device_app.cli import main; main()"]
LONG_S = 20.0
"""Seconds after which a library's telemetry begins at the latest: onnxruntime sends some about ten seconds after its
import.
"""


@dataclass(frozen=True, slots=True)
class Home:
    """A person's home, in which Jackdaw uses the platform's own folders."""

    folder: Path
    environment: Mapping[str, str]
    allowed: Sequence[Path]

    @property
    def current(self) -> Path:
        return self.folder / "elsewhere"

    def runs(self, *arguments: str, codes: Collection[int] = (0,)) -> str:
        """Run one command line under strace, and check its exit code; return those of its system calls that send data
        or write outside the allowed folders.
        """
        trace = self.folder / "-".join(["trace", arguments[0]])
        command = watched(trace, [*PROGRAM, *arguments])
        ended = subprocess.run(
            command, env=self.environment, cwd=self.current, check=False, capture_output=True, timeout=200
        )
        assert ended.returncode in codes, ended.stderr
        return self.leaks(trace)

    def leaks(self, trace: Path) -> str:
        """Return the recorded system calls that send data or write outside the allowed folders, one a line."""
        seen = list(calls(trace))
        assert len(seen) > 100, "strace saw next to nothing"
        return "\n".join(leaks(seen, self.allowed, self.current))


@pytest.fixture
def home(tmp_path: Path, weights: Path) -> Home:
    """A home with the mails of the sample data, which Jackdaw has not read yet."""
    folder = tmp_path / "home"
    for name in ("elsewhere", "tmp", "home/.cache", "home/.config", "home/.local/state", "home/.local/share/jackdaw"):
        (tmp_path / name).mkdir(parents=True)
    (folder / ".local" / "share" / "jackdaw" / "weights").symlink_to(weights)
    dropped = ("JACKDAW_", "XDG_", "HF_", "ORT_", "RAY_", "DO_NOT_TRACK")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(dropped)} | {
        "HOME": str(folder),
        "TMPDIR": str(tmp_path / "tmp"),
        "PYTHONPATH": str(ROOT),
        "JACKDAW_MODEL_THREADS": "1",
        "JACKDAW_EMBEDDER_THREADS": "1",
    }
    process = subprocess.run([*PROGRAM, "paths", "--json"], env=environment, check=True, capture_output=True)
    paths = json.loads(process.stdout)
    own = [Path(paths[name]) for name in ("config", "data", "cache", "state")]
    assert all(path.is_relative_to(folder) for path in own)
    return Home(tmp_path, environment, [*own, weights, tmp_path / "tmp"])


@pytest.fixture
def read(home: Home) -> Home:
    """A home whose mails from the sample data Jackdaw has read."""
    command = [*PROGRAM, "add", str(ROOT / "scripts" / "sample_life" / "mail")]
    subprocess.run(command, env=home.environment, cwd=home.current, check=True, capture_output=True)
    return home


_MADE = "socket(AF_INET, SOCK_STREAM|SOCK_CLOEXEC, IPPROTO_IP) = 5<socket:[77]>"


def _to(address: str, port: int = 443, call: str = "connect") -> str:
    """Return a line as strace writes it: a system call that connects or binds socket 5 to the address."""
    if ":" in address:
        fields = f'sin6_port=htons({port}), sin6_flowinfo=htonl(0), inet_pton(AF_INET6, "{address}", &sin6_addr)'
        return f"{call}(5<socket:[77]>, {{sa_family=AF_INET6, {fields}, sin6_scope_id=0}}, 28) = 0"
    fields = f'sin_port=htons({port}), sin_addr=inet_addr("{address}")'
    return f"{call}(5<socket:[77]>, {{sa_family=AF_INET, {fields}}}, 16) = 0"


def _service(path: str, became: str) -> str:
    return f'connect(5<socket:[77]>, {{sa_family=AF_UNIX, sun_path="{path}"}}, 110) = {became}'


def _opened(path: str, flags: str, became: str) -> str:
    return f'openat(AT_FDCWD</home/anna>, "{path}", {flags}, 0666) = {became}'


@pytest.mark.parametrize(
    ("lines", "leaking"),
    [
        ([_MADE, _to("127.0.0.1", 8420, "bind")], []),
        ([_MADE, _to("127.0.0.1", 8420), _to("127.0.0.1", 8420, "bind")], []),  # in whatever process
        ([_MADE, _to("127.0.0.1", 0, "bind"), _to("127.0.0.1", 40_001, "getsockname"), _to("127.0.0.1", 40_001)], []),
        ([_MADE, _to("127.0.0.1", 3128)], [1]),  # somebody else's: a proxy
        ([_MADE, _to("0.0.0.0", 0, "bind")], [0, 1]),
        (["socket(AF_UNIX, SOCK_STREAM|SOCK_CLOEXEC, 0) = 5<socket:[77]>"], []),
        ([_MADE], [0]),  # nobody knows what for
        (["socket(AF_INET, SOCK_STREAM, 0) = 5"], [0]),  # nor which it is
        (["socket(AF_INET6, SOCK_STREAM, 0) = -1 EAFNOSUPPORT (Address family not supported by protocol)"], []),
        ([_MADE, _to("20.42.65.84")], [0, 1]),
        ([_to("127.0.0.53", 53)], [0]),
        ([_to("::1"), _to("::1", 443, "bind")], []),
        ([_to("2603::1")], [0]),
        ([_service("/var/run/nscd/socket", "0")], [0]),
        ([_service("/var/run/nscd/socket", "-1 ENOENT (No such file or directory)")], []),
        ([_service("/home/anna/own/x", "0")], []),
        (["socket(AF_NETLINK, SOCK_RAW|SOCK_CLOEXEC, NETLINK_ROUTE) = 5<socket:[77]>"], [0]),
        ([_opened("/etc/resolv.conf", "O_RDONLY|O_CLOEXEC", "3</etc/resolv.conf>")], [0]),
        ([_opened("/etc/passwd", "O_RDONLY|O_CLOEXEC", "3</etc/passwd>")], []),
        ([_opened("own/x", "O_RDWR|O_CREAT", "3</home/anna/own/x>")], []),
        ([_opened("own/../x", "O_RDWR|O_CREAT", "3</home/anna/x>")], [0]),
        ([_opened("own/../x", "O_WRONLY|O_CREAT", "-1 EACCES (Permission denied)")], [0]),
        ([_opened("a.pyc", "O_WRONLY|O_CREAT|O_EXCL", "3</lib/__pycache__/a.pyc.123>")], []),
        ([_opened("b", "O_WRONLY|O_CREAT|O_EXCL", "3</lib/__pycache__/token>")], [0]),
        (['unlink("own/a") = 0', 'unlink("b") = 0', 'chmod("own/a", 0600) = 0', 'chmod("b", 0600) = 0'], [1, 3]),
        ([_opened("/dev/tty", "O_RDWR", "3</dev/tty>")], []),
        (['mkdir("own/a", 0700) = 0', 'mkdir("/home/anna/.cache", 0700) = -1 EEXIST (File exists)'], []),
        (['mkdirat(AT_FDCWD</home/anna>, ".cache", 0700) = 0'], [0]),
        (['rename("own/a", "own/b") = 0', 'rename("own/a", "b") = 0'], [1]),
        (['symlink("/etc/passwd", "own/link") = 0', 'symlink("own/a", "/etc/link") = 0'], [1]),
    ],
)
def test_what_leaks(lines: list[str], leaking: list[int]) -> None:
    assert leaks(lines, [Path("/home/anna/own")], Path("/home/anna")) == [lines[index] for index in leaking]


def test_what_leaks_is_seen_through_strace(tmp_path: Path) -> None:
    code = (
        "import socket, pathlib; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect(('127.0.0.1', 9)); "
        "pathlib.Path('own/a').touch(); pathlib.Path('b').touch()"
    )
    (tmp_path / "own").mkdir()
    command = watched(tmp_path / "trace", [sys.executable, "-S", "-c", code])
    subprocess.run(command, cwd=tmp_path, check=True)
    leaked = leaks(calls(tmp_path / "trace"), [tmp_path / "own"], tmp_path)
    assert [line.partition("(")[0] for line in leaked] == ["connect", "openat"]
    assert leaked[1].endswith(f"<{tmp_path / 'b'}>")


@pytest.mark.weights
def test_add(home: Home) -> None:
    assert home.runs("add", str(ROOT / "scripts" / "sample_life" / "mail")) == ""


@pytest.mark.weights
def test_ask(read: Home) -> None:
    assert read.runs("ask", "What is the booking reference of the flights to Bergen?") == ""


@pytest.mark.long
@pytest.mark.weights
def test_daemon_run_once(read: Home) -> None:
    # Under strace on a loaded machine, no step may be done in so short a time: then the exit code is 3.
    assert read.runs("daemon", "run-once", "--minutes", str(LONG_S / 60), codes=(0, 3)) == ""


@pytest.mark.long
@pytest.mark.weights
def test_the_app_for_a_while(read: Home, terminal: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(read.current)
    trace = read.folder / "trace"
    began = time.monotonic()
    app = terminal(watched(trace, PROGRAM), read.environment, columns=80, rows=24)
    app.awaits("sk about your files")
    app.awaits("ready")
    app.types("What is the booking reference of the flights to Bergen?\r")
    app.awaits("nothing left this device")
    while time.monotonic() < began + LONG_S:
        app.settles()
        time.sleep(0.5)
    app.types("\x11")
    assert app.ends() == 0
    assert read.leaks(trace) == ""


@pytest.mark.long
@pytest.mark.weights
def test_web(read: Home) -> None:
    trace = read.folder / "trace"
    command = watched(trace, [*PROGRAM, "web", "--port", "0", "--json"])
    with subprocess.Popen(
        command, env=read.environment, cwd=read.current, stdout=subprocess.PIPE, text=True
    ) as running:
        try:
            assert running.stdout
            address = json.loads(running.stdout.readline())["url"]
            page = asyncio.run(_visited(address))
        finally:
            with suppress(psutil.NoSuchProcess):
                for process in psutil.Process(running.pid).children():  # strace would leave it running
                    process.send_signal(signal.SIGTERM)
            assert running.wait(60) == 0
    assert set(re.findall(r"//([\w.:-]+)", page)) <= {URL(address).authority}, "the page names another host"
    assert read.leaks(trace) == ""


async def _visited(address: str) -> str:
    """Ask a question in the web app, and return the page's HTML."""
    url = URL(address)
    async with ClientSession(cookie_jar=CookieJar(unsafe=True)) as session, asyncio.timeout(120):
        page = await (await session.get(url)).text()
        headers = {"Origin": str(url.origin())}
        where = url.origin() / "ws" % {"width": "80", "height": "24"}
        async with session.ws_connect(where, headers=headers) as socket:
            await _shown(socket, b"ready")
            await socket.send_json(["stdin", "What is the booking reference of the flights to Bergen?\r"])
            await _shown(socket, b"nothing left this device")
    return page


async def _shown(socket: Any, text: bytes) -> None:
    sent = b""
    while text not in sent:
        message = await socket.receive()
        sent += message.data if isinstance(message.data, bytes) else str(message.data).encode()
