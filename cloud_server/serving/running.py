"""Where the server of this person listens, told to commands in other processes while it runs."""

import ipaddress
import socket
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from storage.paths import write_private


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A server that runs, or ran until it was killed. `names` are those of a certificate that an authority signed."""

    host: str
    port: int
    tls: bool
    names: tuple[str, ...]
    pid: int

    def local_address(self) -> str:
        """Where a process on this machine connects to."""
        unspecified = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}
        return unspecified.get(self.host, self.host)

    def reached_at(self) -> tuple[str, ...]:
        """Where other devices most likely reach it, as HOST:PORT: by a name of its certificate, and by the address that
        this machine has towards other networks; by its host name where it has none.
        """
        hosts = [self.host]
        with suppress(ValueError):
            address = ipaddress.ip_address(self.host)
            if address.is_unspecified:
                outward = _outward(address.version)
                hosts = [*(name for name in self.names if "*" not in name), *outward] or [socket.gethostname()]
        return tuple(f"{joined(host)}:{self.port}" for host in hosts[:2])


def joined(host: str) -> str:
    """A host as it stands before a port."""
    return f"[{host}]" if ":" in host else host


def read(file: Path) -> RunningServer | None:
    """What was told; None where nothing was."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=RunningServer)
    except (OSError, msgspec.MsgspecError):
        return None


def announce(file: Path, running: RunningServer) -> None:
    """Say where it listens. Raises NotWritable."""
    write_private(file, msgspec.json.encode(running).decode())


def forget(file: Path, pid: int) -> None:
    """Say that it does no more, unless another server has told of itself since."""
    running = read(file)
    if running and running.pid == pid:
        file.unlink(missing_ok=True)


def _outward(version: int) -> list[str]:
    """This machine's address on the way to other networks. To connect a datagram socket sends nothing."""
    family, target = (socket.AF_INET, "192.0.2.1") if version == 4 else (socket.AF_INET6, "2001:db8::1")
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((target, 9))
            return [probe.getsockname()[0]]
    except OSError:
        return []
