"""The app in a process on a terminal, with a fake model, frequent checks of its liveness, and a command that runs test
code.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

PROGRAM = """
import asyncio, threading, time
from pathlib import Path
from device_app.tui.running import liveness
liveness.EVERY_S, liveness.LATE_S, liveness.LOOP_LOOKS, liveness.PUMP_LOOKS = 0.2, 0.1, 8, 12
liveness.GRACE_LOOKS, liveness.SLOW_GRACE_LOOKS = 10, 50
from device_app.tui.running import ending
ending._TYPED_S = 0.4
from functools import partial
from models.fake import FakeEngine
from tests.devices import fake_device
loads = FakeEngine
async def cancelled():
    raise asyncio.CancelledError
async def befall(app):
    {befall}
def begun():
    {begun}
from device_app.tui.app import JackdawApp
JackdawApp.action_theme = lambda app, _: befall(app)
from device_app.tui import run
opened = run.run
run.run = lambda *given: (begun(), opened(*given))[1]
from device_app.cli import main; main(partial(fake_device, engine=lambda: loads()))
"""
BEFALL = "/theme\r"
"""The keys of the command that runs the code `befall` of the test inside the app."""

Start = Callable[..., Any]


@pytest.fixture
def start(terminal: Start) -> Start:
    """Starts the app. The code `preparation` runs before the app opens; the code `befall` runs when BEFALL is typed."""

    def started(befall: str = "pass", preparation: str = "pass", **size: int) -> Any:
        program = PROGRAM.format(befall=befall, begun=preparation)
        environment = os.environ | {"PYTHONPATH": str(Path.cwd()), "JACKDAW_ANSWER_SUMMARIES": "quoted"}
        return terminal([sys.executable, "-c", program], environment, **size)

    return started
