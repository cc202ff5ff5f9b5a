"""Leaving the app gives the terminal back, whatever its threads are in the middle of."""

import subprocess
import sys

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
