"""Finds message pumps of Textual (the tasks that handle a widget's messages) that have died.

A pump ends silently when one of its handlers raises CancelledError, whatever was cancelled: the pump takes that for its
own end. A widget, or a screen with all its widgets, then no longer reacts. In versions of Textual without the private
names used here, no dead pump is found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any

from textual.app import App
from textual.message_pump import MessagePump


def on_each_message(call: Callable[[], None]) -> bool:
    """Make Textual call `call` before each message, in pumps that are started in this context.

    Return whether this version of Textual supports that.
    """
    with suppress(ImportError, AttributeError):
        from textual._context import message_hook

        message_hook.set(lambda *_: call())
        return True
    return False


def running(app: App[Any]) -> list[MessagePump]:
    """Return the pumps (message loops) of all screens and their widgets that have not ended."""
    nodes = (node for screen in app.screen_stack for node in screen.walk_children(with_self=True))
    return [node for node in nodes if node.is_running]


def died(before: Iterable[MessagePump]) -> MessagePump | None:
    """Return the first of the pumps (message loops of widgets) that has ended although nothing closed it; None if there
    is none.
    """
    return next((pump for pump in before if not pump.is_running and not getattr(pump, "_closing", True)), None)


def ended_alone(app: App[Any]) -> bool:
    """Return whether the app's own pump (message loop) died, rather than being closed.

    Valid only once the app has ended.
    """
    return app.return_code is None and not getattr(app, "_closed", True)


def needed(app: App[Any]) -> Iterator[MessagePump]:
    """Yield the pumps (message loops) that handle a key: of the app, the current screen and the focused widget."""
    yield app
    if app.screen_stack:
        yield app.screen
        if app.focused:
            yield app.focused
