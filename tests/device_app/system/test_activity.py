"""The file that stores when the last question was asked."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from device_app.system.activity import Activity

ROOT = Path(__file__).parents[3]


@pytest.fixture
def activity(tmp_path: Path) -> Activity:
    return Activity(tmp_path / "state" / "activity")


def test_a_note_is_seen_and_is_private(activity: Activity) -> None:
    mark = activity.mark()
    assert not activity.changed(mark)
    activity.note()
    assert activity.changed(mark)
    assert activity.path.stat().st_mode & 0o777 == 0o600
    assert activity.path.parent.stat().st_mode & 0o777 == 0o700


def test_each_note_differs_from_the_one_before(activity: Activity) -> None:
    seen = set()
    for _ in range(100):
        activity.note()
        seen.add(activity.mark())
    assert len(seen) == 100
    assert {len(mark) for mark in seen} == {20}


def test_a_note_of_another_process_is_on_this_ones_clock(activity: Activity) -> None:
    mark, before = activity.mark(), time.monotonic()
    code = "import sys, pathlib, device_app.system.activity as a; a.Activity(pathlib.Path(sys.argv[1])).note()"
    subprocess.run([sys.executable, "-c", code, activity.path], cwd=ROOT, check=True)
    assert activity.changed(mark)
    last = activity.last()
    assert last is not None
    assert before <= last <= time.monotonic()


def test_a_question_is_noted_at_its_start_and_at_its_end_though_it_fails(activity: Activity) -> None:
    before = activity.mark()
    with pytest.raises(RuntimeError), activity.noted():
        during = activity.mark()
        raise RuntimeError
    assert len({before, during, activity.mark()}) == 3


def test_a_wall_clock_that_jumps_changes_nothing(activity: Activity) -> None:
    activity.note()
    mark, last = activity.mark(), activity.last()
    os.utime(activity.path, (0, 4_000_000_000))
    assert not activity.changed(mark)
    assert activity.last() == last


@pytest.mark.parametrize(
    ("noted", "now", "quiet"),
    [
        (b"%020d" % 5_000_000_000, 65.0, 60.0),
        (b"%020d" % 5_000_000_000, 5.0, 0.0),
        (b"%020d" % 900_000_000_000, 65.0, 65.0),  # before the machine restarted
        (b"", 65.0, None),
        (b"nonsense\xff", 65.0, None),
    ],
)
def test_how_long_nobody_asked(activity: Activity, noted: bytes, now: float, quiet: float | None) -> None:
    activity.path.parent.mkdir()
    activity.path.write_bytes(noted)
    assert activity.quiet_s(now) == quiet


def test_a_place_that_refuses_fails_no_question(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    activity = Activity(tmp_path / "file" / "activity")
    activity.note()
    assert activity.last() is None
