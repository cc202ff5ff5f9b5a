"""A simulated network for root on Linux: two network namespaces joined by a process that delays, jitters, throttles and
drops packets.

Both ends use real TCP, with its handshake and retransmissions. The namespaces have no names, and vanish with the last
descriptor of them. A thread enters one, and sockets and threads that it then makes stay there.
"""

import ctypes
import fcntl
import os
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import msgspec

from tests.network.line import Conditions

DEVICE, SERVER = "10.77.0.1", "10.77.0.2"
"""The addresses of device and server in their namespaces; nothing else can be reached from there."""

_CLONE_NEWNET = 0x40000000
_TUNSETIFF, _IFF_TUN, _IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
_SIOCSIFFLAGS, _SIOCSIFADDR, _SIOCSIFNETMASK = 0x8914, 0x8916, 0x891C
_IFF_UP = 0x1
_OWN = "/proc/thread-self/ns/net"


class NotPossible(Exception):
    """Namespaces cannot be made: that needs root and a kernel that supports them."""


@dataclass(frozen=True, slots=True)
class Namespaces:
    """The namespaces of the device and of the server, as file descriptors."""

    device: int
    server: int

    @contextmanager
    def inside(self, which: Literal["device", "server"]) -> Iterator[None]:
        """Within the block, this thread and the sockets and threads that it makes are in that namespace."""
        with _back():
            _checked(_libc().setns(self.device if which == "device" else self.server, _CLONE_NEWNET))
            yield


@contextmanager
def joined(up: Conditions, down: Conditions | None = None) -> Iterator[Namespaces]:
    """Two namespaces; `up` is the way from the device to the server. Raises NotPossible."""
    with ExitStack() as closing:
        try:
            device, device_tunnel = _made(DEVICE, closing)
            server, server_tunnel = _made(SERVER, closing)
        except (OSError, AttributeError) as error:
            raise NotPossible(f"no network namespaces here: {error}") from error
        settings = msgspec.json.encode([asdict(up), asdict(down or up)]).decode()
        command = [sys.executable, "-m", "tests.network.forwarder", str(device_tunnel), str(server_tunnel), settings]
        forwarder = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=(device_tunnel, server_tunnel),
            cwd=Path(__file__).parents[2],
        )
        assert forwarder.stdin and forwarder.stdout
        closing.callback(forwarder.wait)
        closing.callback(forwarder.stdout.close)
        closing.callback(forwarder.stdin.close)  # which ends it
        assert forwarder.stdout.read(1)
        yield Namespaces(device, server)


@contextmanager
def alone() -> Iterator[None]:
    """Within the block, this thread and what it starts see only a loopback interface. Raises NotPossible."""
    with _back():
        try:
            _checked(_libc().unshare(_CLONE_NEWNET))
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
                fcntl.ioctl(control, _SIOCSIFFLAGS, struct.pack("16sH22x", b"lo", _IFF_UP))
        except (OSError, AttributeError) as error:
            raise NotPossible(f"no network namespaces here: {error}") from error
        yield


def _made(address: str, closing: ExitStack) -> tuple[int, int]:
    """A namespace with this address on a tunnel, and the tunnel's other end. Raises OSError."""
    with _back():
        _checked(_libc().unshare(_CLONE_NEWNET))
        space = os.open(_OWN, os.O_RDONLY)
        closing.callback(os.close, space)
        tunnel = os.open("/dev/net/tun", os.O_RDWR)
        closing.callback(os.close, tunnel)
        fcntl.ioctl(tunnel, _TUNSETIFF, struct.pack("16sH22x", b"way", _IFF_TUN | _IFF_NO_PI))
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
            for request, value in ((_SIOCSIFADDR, address), (_SIOCSIFNETMASK, "255.255.255.0")):
                fcntl.ioctl(control, request, struct.pack("16sHH4s16x", b"way", 2, 0, socket.inet_aton(value)))
            for name in (b"lo", b"way"):
                fcntl.ioctl(control, _SIOCSIFFLAGS, struct.pack("16sH22x", name, _IFF_UP))
    return space, tunnel


@contextmanager
def _back() -> Iterator[None]:
    """Return to the thread's own namespace after the block."""
    own = os.open(_OWN, os.O_RDONLY)
    try:
        yield
    finally:
        _checked(_libc().setns(own, _CLONE_NEWNET))
        os.close(own)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _checked(returned: int) -> None:
    if returned:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
