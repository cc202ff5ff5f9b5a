"""Every setting and metric that the operator's guide names exists."""

import re
from pathlib import Path

from cloud_server.monitoring.load import Load
from cloud_server.monitoring.metrics import Metrics
from cloud_server.settings import SETTINGS, Serve

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "cloud_server" / "README.md").read_text("utf-8")


def test_its_settings_exist() -> None:
    sections = {key.partition(".")[0] for key in SETTINGS}
    named = {name for name in re.findall(r"`([a-z]+\.[a-z_]+)`", GUIDE) if name.partition(".")[0] in sections}
    assert len(named) > 10
    assert named <= set(SETTINGS)


def test_its_metrics_exist() -> None:
    shown = Metrics(Load, lambda: 0).text().decode()
    named = set(re.findall(r"`((?:jackdaw|process)_[a-z_]+?)(?:_total)?`", GUIDE))
    assert len(named) > 10
    assert {name for name in named if f"# TYPE {name}" not in shown} == set()


def test_the_unit_leaves_time_to_drain() -> None:
    unit = (ROOT / "scripts" / "jackdaw-server.service").read_text("utf-8")
    seconds = int(re.search(r"^TimeoutStopSec=(\d+)$", unit, re.MULTILINE)[1])  # type: ignore[index]
    assert seconds >= Serve().drain_s + 10
