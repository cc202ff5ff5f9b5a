"""`jackdaw app`, or `jackdaw` alone on a terminal: opens the terminal app."""

import gc
import os
import sys
from contextlib import nullcontext
from dataclasses import replace

import click

from device_app.cli.opening import make
from device_app.settings import load
from device_app.tui.opening import opening
from shared.cli.frame import Command
from shared.errors import UsageError
from storage.paths import Paths


@click.command(
    cls=Command,
    examples=(
        ("Open it", "jackdaw app"),
        ("The same, and a long press selects text", "jackdaw app --no-mouse"),
        ("Without motion", "TEXTUAL_ANIMATIONS=none jackdaw app"),
    ),
)
@click.option("--no-mouse", is_flag=True, help="Leave the mouse, and selecting by touch, to the terminal.")
def command(no_mouse: bool, as_json: bool) -> int:
    """Open the terminal app: conversations, sources, search. `jackdaw` alone does so too.

    NO_COLOR=1 takes its colours away.
    """
    # A driver of its own, as `jackdaw web` gives it, draws elsewhere than on a terminal.
    on_terminal = not os.environ.get("TEXTUAL_DRIVER")
    if as_json or (on_terminal and not (sys.stdin.isatty() and sys.stdout.isatty())):
        raise UsageError('The app needs a terminal. From a script, ask with: jackdaw ask --json "…"')
    look = load(Paths.locate(os.environ), os.environ).settings.app
    with opening(look.theme) if on_terminal else nullcontext() as opened:
        # Read with the import. Nothing is drawn more often than it changes; but a key that comes during a layout waits
        # for up to two frames more.
        os.environ.setdefault("TEXTUAL_FPS", "120")
        # Only here: what the app imports takes a third of a second. Nothing of that is garbage, now or later.
        gc.disable()
        from device_app.tui.run import run

        gc.freeze()
        gc.enable()
        return run(replace(look, mouse=look.mouse and not no_mouse), opened, make())
