"""Opens the app on this terminal."""

import os

from device_app.tui.app import JackdawApp
from device_app.tui.edge.preferences import look


def run(*, mouse: bool) -> int:
    """Run the app until the person leaves it; its exit code. Raises SettingError."""
    chosen = look(os.environ)
    app = JackdawApp(os.environ, look=chosen)
    app.run(mouse=mouse and chosen.mouse)
    return app.return_code or 0
