"""Reads a log that is listed in pages, the newest entries first, day by day. Pure but for the function that lists.

A day is complete once an entry of an earlier day, or the end of the log, was seen: so only a day or two are in memory,
however long the log, and a reading goes on at a day. Pages overlap, as entries are deleted and come in meanwhile.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from device_app.knowledge.phone.entries import Entry

PAGE: Final = 100
"""The entries of a page: fewer than a megabyte, however they are printed."""

_OVERLAP: Final = 5

List = Callable[[int, int], tuple[Sequence[Entry], int]]
"""Lists a page: entries to skip and the most entries; returns the valid entries, and how many were listed."""


@dataclass(frozen=True, slots=True)
class Day:
    """All entries of a day, the oldest first; `reached`: how many entries of the log were listed by then."""

    day: date
    entries: Sequence[Entry]
    reached: int


def days(listed: List, skip: int, most: int) -> Iterator[Day]:
    """Yield the days of a log, the newest first, from the entry after the first `skip` to the entry number `most`.

    The newest day lacks entries where some of it are skipped. A command that lists the same page for ever ends the log.
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
