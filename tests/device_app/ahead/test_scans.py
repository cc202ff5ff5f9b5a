"""Scanned PDFs are read page by page while the device is idle. Scripts stand in for the programs that
recognise text.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from pypdf import PdfWriter

from device_app.ahead.scans import scans
from device_app.device import Device
from storage.paths import Paths
from tests.devices import fake_device

DRAW = '#!/bin/sh\nfor last; do :; done\necho "$2" >"$last.pgm"\n'
READ = """#!/bin/sh
if [ "$1" = --list-langs ]; then printf 'List of languages\\neng\\nosd\\n'; exit; fi
echo "$@" >>"$(dirname "$0")/calls"
echo "The roof is page $(cat "$1")."
"""


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with stand-ins for the programs that recognise text; it comes first on PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, script in (("pdftoppm", DRAW), ("tesseract", READ)):
        (folder / name).write_text(script)
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder


@pytest.fixture
def scan(tmp_path: Path) -> Path:
    """A PDF of three pages without text."""
    writer = PdfWriter()
    for _ in range(3):
        writer.add_blank_page(200, 200)
    path = tmp_path / "notes" / "scan.pdf"
    path.parent.mkdir()
    writer.write(path)
    return path


@pytest.fixture
def device(tmp_path: Path, scan: Path) -> Iterator[Device]:
    with fake_device(Paths.locate({"JACKDAW_HOME": str(tmp_path / "home")})) as device:
        assert len(device.ingestion().run([scan.parent]).skipped) == 1
        yield device


def texts(device: Device, scan: Path) -> list[tuple[str, int | None]]:
    rows = device.database.execute("SELECT text, page FROM passages ORDER BY ordinal")
    return [(text, page) for text, page in rows]


def test_a_scan_is_recognised_and_read_once(device: Device, scan: Path, programs: Path) -> None:
    (step,) = scans(device)(lambda: False)
    assert (step.action, step.subject) == ("read", "3 scanned pages")
    assert texts(device, scan) == [("The roof is page 1.\nThe roof is page 2.\nThe roof is page 3.", 1)]
    assert device.knowledge.skipped() == []
    assert not list(device.paths.scans.iterdir())
    report = device.ingestion().run([scan.parent])
    assert (report.unchanged, report.skipped) == (1, [])
    assert list(scans(device)(lambda: False)) == []
    assert len((programs / "calls").read_text().splitlines()) == 3


def test_it_gives_way_within_a_page_and_goes_on_with_that_page(device: Device, scan: Path, programs: Path) -> None:
    tesseract = programs / "tesseract"
    tesseract.write_text(READ.replace('echo "The', '[ "$(cat "$1")" = 2 ] && sleep 60\necho "The'))
    looks = iter(range(1000))
    assert list(scans(device)(lambda: next(looks) > 3)) == []
    (kept,) = device.paths.scans.iterdir()
    assert kept.read_text() == '["The roof is page 1."]'
    assert kept.stat().st_mode & 0o077 == 0
    tesseract.write_text(READ)
    assert len(list(scans(device)(lambda: False))) == 1
    assert [call.split()[0][-8:] for call in (programs / "calls").read_text().splitlines()] == ["page.pgm"] * 4


def test_without_text_it_stays_unread_and_is_not_tried_again(device: Device, programs: Path) -> None:
    (programs / "tesseract").write_text(READ.replace('echo "The roof is page $(cat "$1")."', "true"))
    for _ in range(2):
        assert list(scans(device)(lambda: False)) == []
    assert len(device.knowledge.skipped()) == 1
    assert len((programs / "calls").read_text().splitlines()) == 3


def test_a_page_that_takes_too_long_keeps_no_other_page_waiting(
    device: Device, programs: Path, scan: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (programs / "tesseract").write_text(READ.replace('echo "The', '[ "$(cat "$1")" = 2 ] && sleep 60\necho "The'))
    monkeypatch.setattr("device_app.system.recognition._READING_S", 0.5)
    assert len(list(scans(device)(lambda: False))) == 1
    assert "page 1.\nThe roof is page 3." in texts(device, scan)[0][0]


def test_without_a_language_it_is_tried_again_once_there_is_one(device: Device, programs: Path) -> None:
    (programs / "tesseract").write_text(READ.replace("eng\\n", ""))
    assert list(scans(device)(lambda: False)) == []
    (programs / "tesseract").write_text(READ)
    assert len(list(scans(device)(lambda: False))) == 1


def test_without_the_programs_nothing_happens(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert list(scans(device)(lambda: False)) == []


def test_what_was_recognised_on_a_scan_that_is_gone_is_deleted(device: Device, scan: Path, programs: Path) -> None:
    looks = iter(range(1000))
    list(scans(device)(lambda: next(looks) > 2))
    scan.unlink()
    device.ingestion().run([scan.parent])
    assert list(scans(device)(lambda: False)) == []
    assert not list(device.paths.scans.glob("*"))
