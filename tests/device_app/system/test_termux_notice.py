"""A phone's notification during long work: its text, its button and its end, even if the notification command fails."""

import itertools
import shlex
import threading
import time

import pytest

from device_app.system import phone_notice as module
from device_app.system.phone_notice import Notice, adding, ahead
from tests.termux import Phone, Wrong

SHOW, REMOVE = "termux-notification", "termux-notification-remove"


@pytest.fixture(autouse=True)
def _on_a_phone(phone: Phone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "AFTER_S", 0.0)
    monkeypatch.setattr(module, "EVERY_S", 0.01)
    monkeypatch.setattr("device_app.system.termux.SECONDS", 60.0)
    phone.enter(monkeypatch)


def shown(phone: Phone, count: int) -> list[list[str]]:
    """Wait for `count` notifications, and return all so far."""
    while len(calls := phone.calls(SHOW)) < count:
        time.sleep(0.005)
    return calls


def test_the_latest_text_is_shown_with_a_button_and_then_removed(phone: Phone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JACKDAW_HOME", "/a b")
    with ahead() as notice:
        notice.show("1 step done")
        (first,) = shown(phone, 1)
        notice.show("2 steps done")
        *_, last = shown(phone, 2)
    assert first[first.index("--content") + 1] == "1 step done"
    assert last[last.index("--content") + 1] == "2 steps done"
    assert {"--ongoing", "--alert-once"} < set(last)
    assert last[last.index("--id") + 1] == "jackdaw-ahead"
    action = shlex.split(last[last.index("--button1-action") + 1])
    assert (action[:2], action[3:]) == (["env", "JACKDAW_HOME=/a b"], ["daemon", "pause"])
    assert phone.calls(REMOVE) == [[REMOVE, "jackdaw-ahead"]]


def test_it_can_be_shown_again(phone: Phone) -> None:
    notice = adding()
    for count in (1, 2):
        notice.show("1 of 3 files")
        shown(phone, count)
        notice.close()
    assert len(phone.calls(REMOVE)) == 2


def test_what_ends_soon_is_not_shown(phone: Phone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "AFTER_S", 60)
    with adding() as notice:
        notice.show("1 of 3 files")
    assert phone.calls() == []


@pytest.mark.parametrize("how", [Wrong.HANGS, Wrong.MISSING])
def test_a_command_that_goes_wrong_is_not_tried_for_ever(
    phone: Phone, how: Wrong, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("device_app.system.termux.SECONDS", 0.05)
    phone.goes_wrong(how, SHOW)
    with Notice("x", "X", ()) as notice:
        for number in itertools.count():
            notice.show(f"{number}")
            if not any(thread.name == "notice" for thread in threading.enumerate()):
                break
            time.sleep(0.02)
    assert len(phone.calls(SHOW)) <= 2


def test_a_laptop_shows_none(phone: Phone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.delenv("PREFIX")
    with ahead() as notice:
        notice.show("1 step done")
        assert not any(thread.name == "notice" for thread in threading.enumerate())
    assert phone.calls() == []
