"""The app's worker threads: which work has priority."""

import os
import sys
import threading
from functools import partial

import pytest

from device_app.commands.opening import opened
from device_app.tui.edge.thread import ANSWERS, READING, DeviceThread


def _niceness() -> int:
    return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a thread has no niceness of its own")
@pytest.mark.parametrize("nice", [0, ANSWERS, READING])
def test_a_thread_and_those_it_begins_leave_the_processor_to_the_screen(nice: int) -> None:
    before, niceness = _niceness(), list[int]()
    thread = DeviceThread("work", partial(opened, dict(os.environ)), nice)

    def work(_: object) -> None:
        niceness.append(_niceness())
        thread = threading.Thread(target=lambda: niceness.append(_niceness()))
        thread.start()
        thread.join()

    thread.submit(work).result()
    thread.close()
    assert niceness == [max(before, nice)] * 2 if nice else [before] * 2
    assert _niceness() == before
