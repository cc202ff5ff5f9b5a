"""Reads whether the network is metered, so that its traffic costs money or is limited, from NetworkManager on Linux.

Termux on a phone and other systems do not report this: the result is None there.
"""

import subprocess

from device_app.system.commands import output

_BUS_S = 1.0
"""Seconds to wait for NetworkManager."""

_MANAGER = "org.freedesktop.NetworkManager"
_GET = ("/org/freedesktop/NetworkManager", "org.freedesktop.DBus.Properties", "Get", "ss", _MANAGER, "Metered")

_METERED = {b"1": True, b"2": False, b"3": True, b"4": False}
"""The meaning of NetworkManager's numbers: yes, no, guessed yes, guessed no; 0 is unknown."""


def metered() -> bool | None:
    """Return whether the network is metered; None if unknown. Takes some milliseconds, at most a second."""
    try:
        said = output(("busctl", "--system", "--auto-start=no", "call", _MANAGER, *_GET), _BUS_S).split()
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
    return _METERED.get(said[2]) if said[:2] == [b"v", b"u"] and len(said) == 3 else None
