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
    machine.now += 1.5 * LOOK_S
    machine.seconds += 1.5 * 1.5 * LOOK_S
    assert idle.count() == pytest.approx(1.5)
    machine.now += LOOK_S / 2
    machine.seconds += 50
    assert idle.count() == pytest.approx(1.5)
    machine.now += LOOK_S
    machine.seconds += 0.25 * 1.5 * LOOK_S - 50
    assert idle.count() == pytest.approx(0.25)


def test_what_was_idle_long_ago_does_not_count() -> None:
    machine = Machine()
    idle = machine.counted()
    machine.now += 3600
    machine.seconds += 7200
    assert idle.count() == 0
    machine.now += 1.5 * LOOK_S
    machine.seconds += 2 * 1.5 * LOOK_S
    assert idle.count() == pytest.approx(2)


def test_none_is_idle_where_the_system_does_not_say(monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(**_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(psutil, "cpu_times", denied)
    idle = IdleProcessors()
    time.sleep(LOOK_S)
    assert idle.count() == 0


def test_no_more_are_idle_than_there_are() -> None:
    idle = IdleProcessors()
    time.sleep(1.2 * LOOK_S)
    assert idle.count() <= 2 * (os.cpu_count() or 1)
