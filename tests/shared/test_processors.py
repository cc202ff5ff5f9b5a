"""Idle processors are counted over time, and none where the system does not say."""

import os
import time

import psutil
import pytest

from shared.processors import LOOK_S, IdleProcessors


class Machine:
    """A machine whose clock and idle seconds a test sets."""

    now = 100.0
    seconds = 7.0

    def counted(self) -> IdleProcessors:
        return IdleProcessors(lambda: self.seconds, lambda: self.now)


def test_idle_processors_are_a_mean_since_the_last_look() -> None:
    machine = Machine()
    idle = machine.counted()
    assert idle.count() == 0
    machine.now, machine.seconds = 102.0, 10.0
    assert idle.count() == pytest.approx(1.5)
    machine.now += LOOK_S / 2
    machine.seconds += 50
    assert idle.count() == pytest.approx(1.5)
    machine.now, machine.seconds = 104.0, 10.5
    assert idle.count() == pytest.approx(0.25)


def test_none_is_idle_where_the_system_does_not_say(monkeypatch: pytest.MonkeyPatch) -> None:
    def denied() -> None:
        raise PermissionError

    monkeypatch.setattr(psutil, "cpu_times", denied)
    idle = IdleProcessors()
    time.sleep(LOOK_S)
    assert idle.count() == 0


def test_no_more_are_idle_than_there_are() -> None:
    idle = IdleProcessors()
    time.sleep(2 * LOOK_S)
    assert 0 <= idle.count() <= 1.2 * (os.cpu_count() or 1)
