"""Records the system calls of whole processes with strace: name look-ups, sockets and written files."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pytest

_WRITES = frozenset(
    re.findall(
        r"\w+",
        """chmod chown creat fchmodat fchmodat2 fchownat lchown link linkat lsetxattr mkdir mkdirat mknod mknodat
        rename renameat renameat2 rmdir setxattr symlink symlinkat truncate unlink unlinkat utime utimensat utimes""",
    )
)
_OPENS = frozenset(("open", "openat", "openat2"))

_LOOK_UPS = ("/etc/resolv.conf", "/etc/hosts", "port=htons(53)")
"""Parts of the system calls by which a program looks up a host name itself; a service that does it is seen by its
socket.
"""

_DEVICES = ("/dev/null", "/dev/tty", "/dev/ptmx", "/dev/pts/")

_CALL = re.compile(r"^(\w+)\((.*)$")
_PORT = re.compile(r"port=htons\((\d+)\)")
_INTERNET = re.compile(r"sa_family=AF_INET6?,.*?(?:inet_addr\(|inet_pton\(AF_INET6, )\"([^\"]+)\"")
_LOCAL = re.compile(r"sa_family=AF_UNIX, sun_path=@?\"([^\"]*)\"")
_SOCKET = re.compile(r"<socket:\[(\d+)\]>")
_PATH = re.compile(r"(?:(?:AT_FDCWD|\d+)<([^>]*)>, )?\"((?:[^\"\\]|\\.)*)\"")
_OPENED = re.compile(r"= \d+<(/[^>]*)>$")
_BYTECODE = re.compile(r"/__pycache__(?:/[^/]+\.pyc(?:\.\d+)?)?$")


def strace() -> str:
    """The path of strace.

    If it is missing or may not trace, a test fails in CI; elsewhere it is skipped with a message.
    """
    program = shutil.which("strace")
    if (
        program
        and not subprocess.run(
            [program, "-qq", "-e", "trace=none", "true"], capture_output=True, check=False
        ).returncode
    ):
        return program
    said = "strace is not there or may not trace, so it was not proven at the kernel that nothing leaves this device"
    if os.environ.get("CI"):
        pytest.fail(said)
    pytest.skip(said)


def watched(folder: Path, command: Sequence[str]) -> list[str]:
    """Return the command with strace before it, which writes a file for each process and thread into the folder."""
    folder.mkdir()
    calls = ",".join(["%network", *(f"?{name}" for name in sorted({*_WRITES, *_OPENS, "io_uring_setup"}))])
    options = ["-ff", "-qq", "-y", "-s", "256", "--seccomp-bpf", "-e", f"trace={calls}", "-e", "signal=none"]
    return [strace(), *options, "-o", str(folder / "calls"), *command]


def calls(folder: Path) -> Iterator[str]:
    """Return every system call recorded in the folder."""
    for file in sorted(folder.iterdir()):
        yield from file.read_text("utf-8", "replace").splitlines()


def leaks(calls: Iterable[str], allowed: Sequence[Path], current: Path) -> list[str]:
    """Return the calls that look up a name, use an internet socket other than on loopback between these processes,
    connect to a service of this machine, or change a file outside `allowed`.

    `current` is the folder in which the processes started. Python's bytecode and terminal devices may be written
    anywhere.
    """
    seen = [(call[1], call[2], line) for line in calls if (call := _CALL.match(line))]
    listening = {
        port
        for name, rest, _ in seen
        if name in ("bind", "getsockname") and (address := _INTERNET.search(rest)) and _is_loopback(address[1])
        for port in _PORT.findall(rest)
    }
    bound = {
        socket
        for name, rest, _ in seen
        if name in ("bind", "connect") and (address := _INTERNET.search(rest)) and _is_loopback(address[1])
        for socket in _SOCKET.findall(rest)
    }
    return [
        line
        for name, rest, line in seen
        if any(mark in rest for mark in _LOOK_UPS)
        or name == "io_uring_setup"
        or (name == "socket" and _is_strange(rest, bound))
        or (name != "socket" and _is_elsewhere(name, rest, listening, allowed))
        or not all(_may_write(path, allowed) for path in _written(name, rest, current))
    ]


def _is_strange(rest: str, bound: set[str]) -> bool:
    """Return whether a new socket may reach beyond this machine: neither a Unix socket nor bound or connected on
    loopback.
    """
    if rest.startswith("AF_UNIX") or " = -1 " in rest:
        return False
    made = _SOCKET.search(rest)
    return not (rest.startswith("AF_INET") and made and made[1] in bound)


def _is_elsewhere(name: str, rest: str, listening: set[str], allowed: Sequence[Path]) -> bool:
    """Whether a call goes to an address that none of these processes listens on."""
    if address := _INTERNET.search(rest):
        foreign = name in ("connect", "sendto", "sendmsg", "sendmmsg") and not listening.issuperset(_PORT.findall(rest))
        return foreign or not _is_loopback(address[1])
    service = _LOCAL.search(rest) if name == "connect" and rest.endswith(" = 0") else None
    return service is not None and not _may_write(service[1], allowed)


def _is_loopback(address: str) -> bool:
    return address.startswith("127.") or address in ("::1", "::ffff:127.0.0.1")


def _written(name: str, rest: str, current: Path) -> list[str]:
    """Return the paths that a call writes; none if it only reads, or only finds out whether a file exists."""
    if name not in _WRITES and not (name in _OPENS and re.search(r"O_(WRONLY|RDWR|CREAT|TRUNC)", rest)):
        return []
    if rest.endswith(("= -1 EEXIST (File exists)", "= -1 ENOENT (No such file or directory)")):
        return []
    if opened := _OPENED.search(rest):
        return [opened[1].removesuffix(" (deleted)")]
    paths = [os.path.normpath(current / folder / path) for folder, path in _PATH.findall(rest)]
    return paths[-1:] if name.startswith("symlink") else paths[: 1 if "xattr" in name else None]


def _may_write(path: str, allowed: Sequence[Path]) -> bool:
    inside = any(Path(path).is_relative_to(folder) for folder in allowed)
    return inside or _BYTECODE.search(path) is not None or path.startswith(_DEVICES)
