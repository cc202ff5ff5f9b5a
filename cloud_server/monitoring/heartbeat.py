"""The event loop's heartbeat: its lag is measured, and systemd's watchdog hears of it while the server serves."""

import asyncio
import os
from collections.abc import Callable, Mapping

from cloud_server.monitoring.systemd import notify

BEAT_S = 0.5


async def beat(late: Callable[[float], None], serves: Callable[[], bool]) -> None:
    """For ever: tell by how many seconds the event loop was late, and tell the watchdog, where there is one.

    Where the server does not serve any more, the watchdog hears nothing, and systemd starts it again.
    """
    loop, watchdog_every = asyncio.get_running_loop(), watchdog_s(os.environ)
    every = min(BEAT_S, watchdog_every / 4) if watchdog_every else BEAT_S
    notified = loop.time()
    while True:
        due = loop.time() + every
        await asyncio.sleep(every)
        now = loop.time()
        late(max(now - due, 0.0))
        if watchdog_every and now - notified >= watchdog_every / 3 and serves():
            notify("WATCHDOG=1")
            notified = now


def watchdog_s(environment: Mapping[str, str]) -> float | None:
    """Within how many seconds systemd's watchdog wants to hear of this process; None where it does not."""
    if environment.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return None
    asked = environment.get("WATCHDOG_USEC", "")
    return int(asked) / 1e6 if asked.isascii() and asked.isdigit() and int(asked) else None
