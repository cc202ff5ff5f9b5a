"""Checks, from within the event loop, whether the app still handles messages."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from textual.app import App
from textual.message_pump import MessagePump

from device_app.tui.running import pumps
from device_app.tui.running.liveness import EVERY_S, PUMP_LOOKS, Fault, Silence


async def watch(app: App[Any], beat: Callable[[], None]) -> Fault | None:
    """Check that the app handles messages until it is about to end (then return None) or is found frozen (then return
    the fault).

    Each check calls `beat`.
    """
    loop = asyncio.get_running_loop()
    asked: dict[MessagePump, _Asked] = {}
    before: list[MessagePump] = []
    while app.return_code is None:
        beat()
        due = loop.time() + EVERY_S
        await asyncio.sleep(EVERY_S)
        if app.return_code is None:
            if dead := pumps.died(before):
                return Fault(f"The message loop of {_name(dead)} has ended")
            asked = {pump: asked.get(pump) or _Asked() for pump in pumps.needed(app)}
            for pump, waiting in asked.items():
                if waiting.too_long(pump, loop.time() - due):
                    return Fault(f"{_name(pump)} no longer handles messages")
            before = pumps.running(app)
    return None


@dataclass(slots=True)
class _Asked:
    """A call that a widget's message loop has to make as a sign of life: whether it was made, and the checks since it
    was requested.
    """

    silence: Silence = field(default_factory=lambda: Silence(PUMP_LOOKS))
    answered: bool = True

    def too_long(self, pump: MessagePump, late_s: float) -> bool:
        frozen = self.silence.look(answered=self.answered, late_s=late_s)
        if self.answered:
            self.answered = False
            pump.call_later(self._answer)
        return frozen

    def _answer(self) -> None:
        self.answered = True


def _name(pump: MessagePump) -> str:
    return type(pump).__name__
