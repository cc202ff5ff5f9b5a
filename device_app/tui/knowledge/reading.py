"""The progress of reading files, and its text for the screen. Pure; imports nothing heavy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from textual.content import Content

from device_app.presentation import KINDS_READ
from device_app.tui.wording import counted, safe_line

_BAR = 30


class Phase(StrEnum):
    """The phases of reading files."""

    IDLE = "idle"
    WAITING = "waiting"  # for models, or for another process that reads
    READING = "reading"
    GIVING_WAY = "giving way"  # reading waits while a question is answered
    PAUSING = "pausing"  # asked to pause; the current file has to be finished first
    PAUSED = "paused"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Reading:
    """The progress of reading files. `why` is the reason for waiting or failing, `path` the file being read.

    `questions` are suggestions about the read files. Bytes and files are those of this run; `total_bytes` is 0 while
    files are still being searched for. `seconds_left` is None while it cannot be estimated. `skipped` counts the
    unreadable files, `unread` those of unsupported kinds.
    """

    phase: Phase = Phase.IDLE
    path: str = ""
    done_bytes: int = 0
    total_bytes: int = 0
    files: int = 0
    total_files: int = 0
    passages: int = 0
    skipped: int = 0
    seconds_left: float | None = None
    why: str = ""
    questions: Sequence[str] = ()
    unread: int = 0

    @property
    def goes_on(self) -> bool:
        """Whether files are being read, or will be without any action of the person."""
        return self.phase in (Phase.READING, Phase.GIVING_WAY, Phase.WAITING)

    @property
    def stands_still(self) -> bool:
        """Whether reading is about to pause, is paused or has failed, so that the person can resume it."""
        return self.phase in (Phase.PAUSING, Phase.PAUSED, Phase.FAILED)


def summary(reading: Reading, width: int) -> Content:
    """Return the progress in up to three lines for this width; empty if nothing was read."""
    return Content("\n").join(_LINES[reading.phase](reading, width))


def in_short(reading: Reading) -> str:
    """Return the progress in up to three words; "" if nothing is in progress."""
    match reading.phase:
        case Phase.READING | Phase.GIVING_WAY if reading.total_bytes:
            return f"reading {_share(reading):.0%}"
        case Phase.READING | Phase.GIVING_WAY:
            return "looking for files"
        case Phase.WAITING:
            return "reading waits"
        case Phase.PAUSED:
            return "reading paused"
        case Phase.FAILED:
            return "reading failed"
        case _:
            return ""


def left(seconds: float) -> str:
    """Return an estimated remaining duration as a phrase."""
    if seconds < 60:
        return "under a minute left"
    if seconds < 5400:
        return f"about {round(seconds / 60)} min left"
    return f"about {round(seconds / 3600)} h left"


def _idle(_: Reading, __: int) -> list[Content]:
    return []


def _waiting(reading: Reading, _: int) -> list[Content]:
    return [Content.assemble(("… ", "$warning"), f"Reading waits: {safe_line(reading.why)}.")]


def _reading(reading: Reading, width: int) -> list[Content]:
    if not reading.total_bytes:
        return [Content.styled(f"… looking for files, {reading.total_files:,} so far", "$quiet")]
    return [_bar(reading, width, "$primary"), *_at_hand(reading, width)]


def _giving_way(reading: Reading, width: int) -> list[Content]:
    waits = Content.styled("reading waits while a question is answered", "$quiet")
    return [_bar(reading, width, "$border-blurred"), waits]


def _pausing(reading: Reading, width: int) -> list[Content]:
    return [_bar(reading, width, "$warning"), Content.styled("Reading pauses after this file.", "$warning")]


def _paused(reading: Reading, width: int) -> list[Content]:
    return [
        _bar(reading, width, "$warning"),
        Content.assemble(("Reading paused. ", "$warning"), ("Continue: ", "$quiet"), ("/resume", "$primary")),
    ]


def _done(reading: Reading, _: int) -> list[Content]:
    if not reading.total_files:
        none = Content.assemble(("✓ ", "$success"), "The folder has no files of a readable kind.", _unread(reading))
        return [none, Content.styled(f"Read are {', '.join(KINDS_READ)}.", "$quiet")]
    if not reading.passages and not reading.skipped:
        return [Content.assemble(("✓ ", "$success"), "No changes: all files were up to date.", _unread(reading))]
    said = f"{counted(reading.total_files, 'file')} checked, {counted(reading.passages, 'new passage')}"
    return [Content.assemble(("✓ ", "$success"), said, _skipped(reading), _unread(reading))]


def _failed(reading: Reading, _: int) -> list[Content]:
    return [Content.assemble(("✗ ", "$error"), (safe_line(reading.why), "$error"))]


_LINES = {
    Phase.IDLE: _idle,
    Phase.WAITING: _waiting,
    Phase.READING: _reading,
    Phase.GIVING_WAY: _giving_way,
    Phase.PAUSING: _pausing,
    Phase.PAUSED: _paused,
    Phase.DONE: _done,
    Phase.FAILED: _failed,
}


def _bar(reading: Reading, width: int, style: str) -> Content:
    share = _share(reading)
    time_left = "" if reading.seconds_left is None else f" · {left(reading.seconds_left)}"
    columns = min(_BAR, max(width - 30, 8))
    done = round(share * columns)
    return Content.assemble(
        ("━" * done, style), ("─" * (columns - done), "$border-blurred"), f" {share:4.0%}", (time_left, "$quiet")
    )


def _share(reading: Reading) -> float:
    return min(1.0, reading.done_bytes / reading.total_bytes) if reading.total_bytes else 0.0


def _at_hand(reading: Reading, width: int) -> list[Content]:
    said = f"{reading.files:,} of {counted(reading.total_files, 'file')} · {counted(reading.passages, 'passage')}"
    lines = [Content.assemble((said, "$quiet"), _skipped(reading))]
    if reading.path:
        name = safe_line(reading.path).rpartition("/")[2]
        lines.append(Content.styled(name, "$quiet").truncate(width, ellipsis=True))
    return lines


def _unread(reading: Reading) -> Content:
    return Content.styled(f" · {reading.unread:,} of other kinds" if reading.unread else "", "$quiet")


def _skipped(reading: Reading) -> Content:
    return Content.styled(f" · {reading.skipped:,} unreadable" if reading.skipped else "", "$warning")
