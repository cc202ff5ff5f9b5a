"""Reports the service's state to systemd (Type=notify)."""

import os
import socket
from contextlib import suppress


def notify(state: str) -> None:
    """Send a state such as READY=1 to systemd. Does nothing if systemd did not start the process."""
    address = os.environ.get("NOTIFY_SOCKET")
    if not address:
        return
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
        channel.connect("\0" + address[1:] if address.startswith("@") else address)
        channel.sendall(state.encode())
