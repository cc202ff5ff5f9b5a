"""The file in which a running server publishes its address for the user's other commands."""

import ipaddress
import socket
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from storage.private import write_private


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A running server's address and process; the data may be stale after the server was killed. `names` are the host
    names in a CA-signed certificate.
    """

    host: str
    port: int
    tls: bool
    names: tuple[str, ...]
    pid: int

    def local_address(self) -> str:
        """Return the address at which processes on this machine connect to the server."""
        unspecified = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}
        return unspecified.get(self.host, self.host)

    def reached_at(self) -> tuple[str, ...]:
        """Return up to two addresses at which other devices can probably reach the server, as HOST:PORT: a name in the
        certificate, and this machine's address towards other networks; its host name if there is neither.
        """
        hosts = [self.host]
        with suppress(ValueError):
            address = ipaddress.ip_address(self.host)
            if address.is_unspecified:
                outward = _outward(address.version)
                hosts = [*(name for name in self.names if "*" not in name), *outward] or [socket.gethostname()]
        return tuple(f"{joined(host)}:{self.port}" for host in hosts[:2])


def joined(host: str) -> str:
    """Return the host as it is written before a port: an IPv6 address gets brackets."""
    return f"[{host}]" if ":" in host else host


def read(file: Path) -> RunningServer | None:
    """Return the running server that the file names; None if the file is missing or unreadable."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=RunningServer)
    except (OSError, msgspec.MsgspecError):
        return None


def announce(file: Path, running: RunningServer) -> None:
    """Write the server's address to the file. Raises NotWritable."""
    write_private(file, msgspec.json.encode(running).decode())


def forget(file: Path, pid: int) -> None:
    """Delete the file, unless another server has written it since."""
    running = read(file)
    if running and running.pid == pid:
        file.unlink(missing_ok=True)


def _outward(version: int) -> list[str]:
    """Return the IP address from which this machine reaches other networks, if any. Connecting a datagram socket sends
    no packet.
    """
    family, target = (socket.AF_INET, "192.0.2.1") if version == 4 else (socket.AF_INET6, "2001:db8::1")
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((target, 9))
            return [probe.getsockname()[0]]
    except OSError:
        return []
