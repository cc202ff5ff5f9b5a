"""Opens the app on this terminal."""

import asyncio
import os
import signal

from device_app.tui.app import JackdawApp
from device_app.tui.edge.preferences import look

_ENDING = (signal.SIGTERM, signal.SIGHUP)


def run(*, mouse: bool) -> int:
    """Run the app until the person leaves it, or whoever may ends it; its exit code. Raises SettingError."""
    chosen = look(os.environ)
    app = JackdawApp(os.environ, look=chosen)
    asyncio.run(_run(app, mouse=mouse and chosen.mouse))
    return app.return_code or 0


async def _run(app: JackdawApp, *, mouse: bool) -> None:
    """Let SIGTERM, and a terminal that is closed, end the app as the person would: all is kept, the terminal whole."""
    for number in _ENDING:
        asyncio.get_running_loop().add_signal_handler(number, app.exit, None, 128 + number)
    await app.run_async(mouse=mouse)
