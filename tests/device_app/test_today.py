"""What somebody sees first: what is on today, and what is new since yesterday."""

from datetime import datetime
from pathlib import Path

import pytest

from device_app.commands.today import Today, today
from device_app.device import Device
from tests.device_app.cache.conftest import made

NOW = datetime(2026, 11, 25, 9).astimezone()


@pytest.fixture
def device(tmp_path: Path) -> Device:
    """A device over an empty home."""
    return made(tmp_path / "home")


def calendar(folder: Path, *starts: str) -> None:
    lines = ["BEGIN:VCALENDAR"]
    for number, start in enumerate(starts):
        lines += [
            "BEGIN:VEVENT",
            f"UID:{number}",
            f"SUMMARY:Tea {number}",
            f"DTSTART{start}",
            "DURATION:PT1H",
            "END:VEVENT",
        ]
    (folder / "a.ics").write_text("\r\n".join([*lines, "END:VCALENDAR", ""]))


def test_without_calendars_and_news_nothing_is_said(device: Device, notes: Path) -> None:
    device.ingestion().run([notes])
    assert today(device, NOW) == Today()


def test_a_few_events_and_the_number_of_the_others(device: Device, notes: Path) -> None:
    day = ";VALUE=DATE:20261125"
    calendar(notes, day, ":20261125T100000", ":20261125T150000", ":20261125T170000", ":20261126T100000")
    (notes / "2026-11-24 walk.md").write_text("A walk along the harbour.")
    (notes / "2026-11-25 cold.md").write_text("It is cold.")
    (notes / "2026-11-20 rain.md").write_text("It rained.")
    device.ingestion().run([notes])
    assert today(device, NOW) == Today("all day Tea 0 · 10:00–11:00 Tea 1 · 15:00–16:00 Tea 2 · 1 more", "2 notes")


def test_an_empty_day(device: Device, notes: Path) -> None:
    calendar(notes, ":20261126T100000")
    device.ingestion().run([notes])
    assert today(device, NOW) == Today("nothing is planned")
