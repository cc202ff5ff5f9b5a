"""Opens the app on this terminal."""

import os

from device_app.tui.app import JackdawApp


def run(*, mouse: bool) -> int:
    """Run the app until the person leaves it; its exit code."""
    app = JackdawApp(os.environ)
    app.run(mouse=mouse)
    return app.return_code or 0
