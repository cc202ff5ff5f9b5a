"""`jackdaw app`, or `jackdaw` alone on a terminal: opens the terminal app."""

import gc
import os
import sys
from contextlib import nullcontext
from dataclasses import replace

import click

from device_app.settings import load
from device_app.system.phone import is_phone
from device_app.tui.opening import opening
from shared.cli.frame import Command
from shared.errors import UsageError
from shared.settings import Layer
from storage.paths import Paths


@click.command(
    cls=Command,
    examples=(
        ("Open the app", "jackdaw app"),
        ("Open the app without mouse; a long press selects text", "jackdaw app --no-mouse"),
        ("Open the app with touch on a phone", "jackdaw app --mouse"),
        ("Open the app without animations", "TEXTUAL_ANIMATIONS=none jackdaw app"),
    ),
)
@click.option(
    "--mouse/--no-mouse",
    default=None,
    help="Use mouse and touch, or leave them to the terminal, which can then select text. On a phone the default is "
    "--no-mouse: a tap opens the keyboard, and a swipe scrolls.",
)
def command(mouse: bool | None, as_json: bool) -> int:
    """Open the terminal app: conversations, sources, search. `jackdaw` alone does the same.

    NO_COLOR=1 turns its colours off. TEXTUAL_FPS sets its frame rate, TEXTUAL_ANIMATIONS its animations.
    """
    # With another driver, as under `jackdaw web`, the app draws elsewhere than on a terminal.
    on_terminal = not os.environ.get("TEXTUAL_DRIVER")
    if as_json or (on_terminal and not (sys.stdin.isatty() and sys.stdout.isatty())):
        raise UsageError('The app needs a terminal. From a script, ask with: jackdaw ask --json "…"')
    resolved = load(Paths.locate(os.environ), os.environ)
    look = resolved.settings.app
    if mouse is None:
        chosen = resolved.origins["app.mouse"].layer is not Layer.DEFAULT
        mouse = look.mouse and (chosen or not on_terminal or not is_phone())
    with opening(look.theme) if on_terminal else nullcontext() as opened:
        # Textual reads these when imported. Frames are drawn only on changes, but at a lower rate a key pressed during
        # a layout would wait for up to two more frames; a phone's processor has better things to do.
        os.environ.setdefault("TEXTUAL_FPS", "15" if is_phone() else "120")
        if is_phone():
            os.environ.setdefault("TEXTUAL_ANIMATIONS", "none")
        # Imported here because it takes a third of a second. None of the imported objects is ever garbage.
        gc.disable()
        from device_app.cli.opening import make
        from device_app.tui.run import run

        gc.freeze()
        gc.enable()
        return run(replace(look, mouse=mouse), opened, make())
