"""The event loop's heartbeat: measures the loop's lag and notifies systemd's watchdog while the server works."""

import asyncio
import os
from collections.abc import Callable, Mapping

from cloud_server.monitoring.systemd import notify

BEAT_S = 0.5


async def beat(late: Callable[[float], None], serves: Callable[[], bool]) -> None:
    """Forever, report the event loop's lag in seconds to `late`, and notify systemd's watchdog, if enabled.

    Does not notify the watchdog while `serves` returns False, so that systemd restarts the server.
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
    """Return the interval, in seconds, in which systemd's watchdog expects a notification; None if there is no
    watchdog.
    """
    if environment.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return None
    asked = environment.get("WATCHDOG_USEC", "")
    return int(asked) / 1e6 if asked.isascii() and asked.isdigit() and int(asked) else None
