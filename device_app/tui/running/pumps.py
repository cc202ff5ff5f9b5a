"""The message pumps of an app: which have died. Where another Textual lacks the private names used here, none has.

A pump ends without a word when one of its handlers raises CancelledError, whatever was cancelled: it takes that for its
own end. A widget is gone then, a screen with all its widgets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any

from textual.app import App
from textual.message_pump import MessagePump


def on_each_message(call: Callable[[], None]) -> bool:
    """Make the call before each message that any pump started from here handles. False if this Textual cannot."""
    with suppress(ImportError, AttributeError):
        from textual._context import message_hook

        message_hook.set(lambda *_: call())
        return True
    return False


def running(app: App[Any]) -> list[MessagePump]:
    """The running pumps of all screens and their widgets."""
    nodes = (node for screen in app.screen_stack for node in screen.walk_children(with_self=True))
    return [node for node in nodes if node.is_running]


def died(before: Iterable[MessagePump]) -> MessagePump | None:
    """The first of these pumps that has ended although nothing closed it."""
    return next((pump for pump in before if not pump.is_running and not getattr(pump, "_closing", True)), None)


def ended_alone(app: App[Any]) -> bool:
    """Whether the app's own pump has ended though nobody asked it to. Holds only once the app has ended."""
    return app.return_code is None and not getattr(app, "_closed", True)


def needed(app: App[Any]) -> Iterator[MessagePump]:
    """The pumps that a key passes: the app's, the shown screen's and the focused widget's."""
    yield app
    if app.screen_stack:
        yield app.screen
        if app.focused:
            yield app.focused
