"""Leaving the app restores the terminal, whatever the app's threads are doing."""

import asyncio
import subprocess
import sys
from typing import Any

import pytest

PROGRAM = """
import threading, time
from concurrent.futures import ThreadPoolExecutor
from device_app.tui.run import leave
before = threading.enumerate()
ThreadPoolExecutor(1).submit(time.sleep, {seconds})
leave(before, 7, 0.2)
print("they ended")
"""


def test_a_thread_that_cannot_be_stopped_does_not_hold_the_terminal() -> None:
    left = subprocess.run([sys.executable, "-c", PROGRAM.format(seconds=600)], timeout=60, check=False)
    assert left.returncode == 7


def test_threads_that_end_are_waited_for() -> None:
    left = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(seconds=0)], timeout=60, check=True, capture_output=True, text=True
    )
    assert left.returncode == 0


@pytest.mark.long
@pytest.mark.parametrize("turns", range(6))
@pytest.mark.parametrize("action", ["help", "knowledge", "settings", "model", "private", "cache", "search"])
async def test_leaving_while_a_screen_is_being_built_is_no_fault(person: Any, action: str, turns: int) -> None:
    async with person.at():
        opening = asyncio.create_task(person.app.perform(action))
        for _ in range(turns):
            await asyncio.sleep(0)
        person.app.exit()
    await asyncio.gather(opening, return_exceptions=True)
    assert person.app.return_code == 0
