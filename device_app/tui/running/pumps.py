"""The message pumps of an app: which have died. The one place that looks into what Textual keeps to itself.

A pump ends without a word when one of its handlers raises CancelledError, whatever was cancelled: it takes that for its
own end. A widget is gone then, a screen with all its widgets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from textual._context import message_hook
from textual.app import App
from textual.message_pump import MessagePump


def on_each_message(then: Callable[[], None]) -> None:
    """Call it before any pump that is begun from here handles a message."""
    message_hook.set(lambda _: then())


def running(app: App[Any]) -> list[MessagePump]:
    """The pumps of all screens and of their widgets, as far as they have begun."""
    nodes = (node for screen in app.screen_stack for node in screen.walk_children(with_self=True))
    return [node for node in nodes if node.is_running]


def died(before: Iterable[MessagePump]) -> MessagePump | None:
    """One that was running, has ended, and was not asked to."""
    return next((pump for pump in before if not pump.is_running and not pump._closing), None)


def ended_alone(app: App[Any]) -> bool:
    """Whether the app's own pump has ended though nobody asked it to. Holds only once the app has ended."""
    return app.return_code is None and not app._closed


def needed(app: App[Any]) -> Iterator[MessagePump]:
    """The pumps that a key passes: the app's, the shown screen's and the focused widget's."""
    yield app
    if app.screen_stack:
        yield app.screen
        if app.focused:
            yield app.focused
