"""An assistant whose model can be stopped within one batch."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threading import Event

    from device_app.answering.assistant import Assistant
    from device_app.inference.local import LocalSource


def stoppable(assistant: Assistant, stop: Event) -> Assistant:
    """Return the assistant with a model that raises GaveWay within one batch after `stop` is set."""
    from models.interruptible import interruptible

    def source() -> LocalSource:
        loaded = assistant.source()
        return replace(loaded, engine=interruptible(loaded.engine, stop.is_set))

    return replace(assistant, source=source)
