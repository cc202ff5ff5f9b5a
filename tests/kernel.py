"""What whole processes ask of the kernel, as strace tells it: look-ups of names, internet sockets, files written."""

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pytest

_WRITES = "creat,mkdir,mkdirat,mknod,mknodat,rename,renameat,renameat2,link,linkat,symlink,symlinkat,truncate"
_CALLS = [*_WRITES.split(","), "open", "openat", "openat2", "io_uring_setup"]

_LOOK_UPS = ("/etc/resolv.conf", "/etc/hosts", "io.systemd.Resolve", "avahi-daemon/socket", "port=htons(53)")
"""What whoever looks a name up opens, connects to or sends to."""

_DEVICES = ("/dev/null", "/dev/tty", "/dev/ptmx", "/dev/pts/")

_CALL = re.compile(r"^(\w+)\((.*)$")
_INTERNET = re.compile(r"sa_family=AF_INET6?,.*?(?:inet_addr\(|inet_pton\(AF_INET6, )\"([^\"]+)\"")
_SOCKET = re.compile(r"<socket:\[(\d+)\]>")
_PATH = re.compile(r"(?:(?:AT_FDCWD|\d+)<([^>]*)>, )?\"((?:[^\"\\]|\\.)*)\"")
_OPENED = re.compile(r"= \d+<(/[^>]*)>$")


def strace() -> str:
    """The program. Without it a test fails where CI is set, and elsewhere is skipped, saying what was not proven."""
    if found := shutil.which("strace"):
        return found
    said = "strace is not installed, so it was not proven at the kernel that nothing leaves this device"
    if os.environ.get("CI"):
        pytest.fail(said)
    pytest.skip(said)


def watched(folder: Path, command: Sequence[str]) -> list[str]:
    """The command under strace, which writes a file for each process and thread into the folder."""
    folder.mkdir()
    calls = ",".join(["%network", *(f"?{name}" for name in _CALLS)])
    options = ["-ff", "-qq", "-y", "-s", "256", "--seccomp-bpf", "-e", f"trace={calls}", "-e", "signal=none"]
    return [strace(), *options, "-o", str(folder / "calls"), *command]


def calls(folder: Path) -> Iterator[str]:
    """Every call that was written into the folder."""
    for file in sorted(folder.iterdir()):
        yield from file.read_text("utf-8", "replace").splitlines()


def leaks(calls: Iterable[str], allowed: Sequence[Path], current: Path) -> list[str]:
    """The calls that look a name up, have an internet socket that is not for loopback, or write outside `allowed`.

    `current` is the folder in which the processes started. Bytecode may be written anywhere, and devices of terminals.
    """
    found: list[str] = []
    sockets: dict[str, str] = {}
    local: set[str] = set()
    for line in calls:
        if not (call := _CALL.match(line)):
            continue
        name, rest = call.groups()
        if any(mark in rest for mark in _LOOK_UPS) or name == "io_uring_setup":
            found.append(line)
        elif name == "socket" and not rest.startswith("AF_UNIX"):
            if not rest.startswith("AF_INET"):
                found.append(line)
            elif made := _SOCKET.search(rest):
                sockets[made[1]] = line
        elif address := _INTERNET.search(rest):
            if _loopback(address[1]):
                local.update(_SOCKET.findall(rest))
            else:
                found.append(line)
        elif name in _CALLS and not all(_may_write(path, allowed) for path in _written(name, rest, current)):
            found.append(line)
    return found + [line for socket, line in sockets.items() if socket not in local]


def _loopback(address: str) -> bool:
    return address.startswith("127.") or address in ("::1", "::ffff:127.0.0.1")


def _written(name: str, rest: str, current: Path) -> list[str]:
    """The paths that a call would write; none where it only reads, or found that a folder is there already."""
    if name.startswith("open") and not re.search(r"O_(WRONLY|RDWR|CREAT|TRUNC)", rest):
        return []
    if rest.endswith("= -1 EEXIST (File exists)"):
        return []
    if opened := _OPENED.search(rest):
        return [opened[1].removesuffix(" (deleted)")]
    paths = [os.path.normpath(current / folder / path) for folder, path in _PATH.findall(rest)]
    return paths[-1:] if name.startswith("symlink") else paths


def _may_write(path: str, allowed: Sequence[Path]) -> bool:
    inside = any(Path(path).is_relative_to(folder) for folder in allowed)
    return inside or "/__pycache__/" in f"{path}/" or path.startswith(_DEVICES)
