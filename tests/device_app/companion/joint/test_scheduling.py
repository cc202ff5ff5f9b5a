"""What the device measures during a joint answer, and when it reports its distance (the round-trip time) to
the server.
"""

from dataclasses import dataclass
from typing import Any, cast

import pytest

from device_app.companion.joint.joint_request import JointReport
from device_app.companion.joint.scheduling import Scheduling
from shared.aggregation.aggregator import Aggregator
from shared.aggregation.messages import Place, Rule, Switch
from shared.aggregation.terms import Terms


@dataclass
class Far:
    """A fake measurement of the round-trip time, which a test can change."""

    seconds: float | None = None

    def __call__(self) -> float | None:
        return self.seconds


def machine(place: Place, rule: Rule = "algorithm1") -> Aggregator:
    return Aggregator(Terms("device", rule, place, 1, 10, 20))


def test_a_server_that_settles_is_told_each_new_distance_once() -> None:
    far = Far()
    watched = Scheduling(machine("server"), JointReport(), far, changes=True)
    assert watched.news_s() is None
    news = []
    for far.seconds in (0.1, 0.1, 0.109, 0.111, 0.105, 0.3, 0.02):
        news.append(watched.news_s())
    assert news == [0.1, None, None, 0.111, None, 0.3, 0.02]


def test_a_server_is_not_told_again_what_the_request_said() -> None:
    far = Far(0.1)
    watched = Scheduling(machine("server"), JointReport(), far, changes=True, told_s=0.1)
    assert watched.news_s() is None
    far.seconds = 0.2
    assert watched.news_s() == 0.2


@pytest.mark.parametrize(
    ("place", "rule", "changes"),
    [
        ("device", "algorithm1", True),
        ("server", "algorithm1", False),
        ("both", "algorithm1", True),
        ("both", "coupled", True),
        ("device", "greedy", True),
    ],
)
def test_nobody_else_is_told(place: Place, rule: Rule, changes: bool) -> None:
    watched = Scheduling(machine(place, rule), JointReport(), Far(0.1), changes=changes)
    assert watched.news_s() is None
    assert not watched.gives(None)
    assert watched.step_s(None) == 0.0


def test_the_pace_is_of_tokens_written_together_without_the_readers_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("device_app.companion.joint.scheduling.time.monotonic", lambda: now[0])
    acting, report = machine("device"), JointReport()
    watched = Scheduling(acting, report, Far(), changes=False)
    for count in (1, 2, 4):
        acting.settled[:] = range(count)
        watched.watch()
        now[0] += 0.3
        with watched.reader():
            now[0] += 7.0
    watched.watch()
    assert report.timed == 3
    assert report.token_s == pytest.approx(0.2)
    report.alone = "the server failed"
    acting.settled[:] = range(9)
    watched.watch()
    assert report.timed == 3


def test_the_servers_own_pace_is_reported_once_it_says_it() -> None:
    report = JointReport()
    watched = Scheduling(machine("device"), report, Far(), changes=False)
    watched.observe_server(0)
    assert report.server_step_s == 0.0
    watched.observe_server(40_000)
    watched.observe_server(0)
    assert report.server_step_s == pytest.approx(0.04)


def test_changes_of_the_side_are_counted() -> None:
    acting, report = machine("server"), JointReport()
    watched = Scheduling(acting, report, Far(), changes=True)
    watched.watch()
    assert report.changes == 0
    acting._role.on_switch(Switch(0, 0, 0), 0, 0, 0)
    assert cast(Any, acting._role.take(0))
    watched.watch()
    watched.watch()
    assert report.changes == 1
