"""Splits a log that is listed in pages, the newest entries first, into days. Pure, apart from the listing function.

A day is complete once an entry of an earlier day, or the end of the log, was listed. So only a day or two are in
memory, however long the log, and an interrupted reading continues at a day. Pages overlap, because entries may be
deleted or added meanwhile.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from device_app.knowledge.phone.entries import Entry

PAGE: Final = 100
"""The number of entries on a page: they take less than a megabyte in any output format."""

_OVERLAP: Final = 5

List = Callable[[int, int], tuple[Sequence[Entry], int]]
"""Lists a page, given the number of entries to skip and the most to list; returns the valid entries, and how many it
listed.
"""


@dataclass(frozen=True, slots=True)
class Day:
    """All entries of a day, the oldest first. `reached` counts the log entries listed until the day was complete."""

    day: date
    entries: Sequence[Entry]
    reached: int


def days(listed: List, skip: int, most: int) -> Iterator[Day]:
    """Yield the days of a log with their entries, the newest day first.

    Entries are counted from the newest: the first `skip` are left out, and so are those after number `most`.

    The first day lacks its entries that were skipped. If the command returns the same page twice, the log has ended.
    """
    waiting: dict[str, Entry] = {}
    before: date | None = None  # the day yielded last
    last_page: list[str] = []
    while skip < most:
        page, count = listed(skip, PAGE)
        fresh = [entry for entry in page if entry.identity not in waiting and (before is None or entry.day < before)]
        waiting.update((entry.identity, entry) for entry in fresh)
        reached = skip + count
        identities = [entry.identity for entry in page]
        is_last = count < PAGE or (bool(page) and identities == last_page)
        last_page = identities
        oldest = min((entry.day for entry in page), default=None)
        for day in sorted({entry.day for entry in waiting.values()}, reverse=True):
            if is_last or (oldest is not None and day > oldest):
                yield Day(day, _of(waiting, day), reached)
                before = day
        waiting = {identity: entry for identity, entry in waiting.items() if before is None or entry.day < before}
        if is_last:
            return
        skip = reached - _OVERLAP
    for day in sorted({entry.day for entry in waiting.values()}, reverse=True):
        yield Day(day, _of(waiting, day), skip)


def _of(waiting: dict[str, Entry], day: date) -> list[Entry]:
    entries = (entry for entry in waiting.values() if entry.day == day)
    return sorted(entries, key=lambda entry: (entry.at, entry.identity))
