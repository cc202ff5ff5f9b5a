"""Logs read in pages, day by day: every entry once, whatever changes between two pages."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from device_app.knowledge.phone.days import PAGE, days
from device_app.knowledge.phone.entries import Entry

BEGAN = datetime(2026, 8, 1, 12)


def entry(number: int, hours: float) -> Entry:
    return Entry(str(number), "1", "0701234567", "", BEGAN + timedelta(hours=hours), False, f"text {number}")


def lister(log: Callable[[], Sequence[Entry]]) -> Callable[[int, int], tuple[Sequence[Entry], int]]:
    """A log that is listed as on phones: `skip` counts from the newest entry, and a page begins with its
    oldest entry.
    """

    def listed(skip: int, most: int) -> tuple[Sequence[Entry], int]:
        page = log()[::-1][skip : skip + most][::-1]
        return page, len(page)

    return listed


@given(st.lists(st.integers(1, 40), max_size=12), st.integers(0, 5))
def test_every_entry_is_in_exactly_its_day(sizes: list[int], gap: int) -> None:
    log = [
        entry(place * 100 + number, place * 24 * (gap + 1) + number / 100)
        for place, size in enumerate(sizes)
        for number in range(size)
    ]
    read = list(days(lister(lambda: log), 0, 10_000))
    assert [each for day in reversed(read) for each in day.entries] == log
    assert [day.day for day in read] == sorted({each.day for each in log}, reverse=True)
    assert all(each.day == day.day for day in read for each in day.entries)


def test_entries_that_come_and_go_meanwhile_change_nothing_else() -> None:
    log = [entry(number, number / 10) for number in range(4 * PAGE)]
    calls = 0

    def changing() -> Sequence[Entry]:
        nonlocal calls
        calls += 1
        if calls == 2:
            log.append(entry(10_000, 1_000))
        if calls == 3:
            del log[-2:]
        return log

    read = {each.identity for day in days(lister(changing), 0, 10_000) for each in day.entries}
    assert read >= {str(number) for number in range(4 * PAGE - 1)}


def test_a_command_that_lists_the_same_for_ever_ends() -> None:
    page = [entry(number, number) for number in range(PAGE)]
    read = [each for day in days(lambda *_: (page, PAGE), 0, 10**9) for each in day.entries]
    assert len(read) == PAGE


def test_a_page_of_drafts_alone_is_passed_over() -> None:
    pages: list[tuple[Sequence[Entry], int]] = [([], PAGE), ([entry(1, 0)], 1)]
    assert [day.entries for day in days(lambda *_: pages.pop(0), 0, 10_000)] == [[entry(1, 0)]]


def test_no_more_are_read_than_are_wanted() -> None:
    log = [entry(number, number) for number in range(20 * PAGE)]
    read = [each for day in days(lister(lambda: log), 0, 3 * PAGE) for each in day.entries]
    assert len(read) < 4 * PAGE
    assert read[0].day == log[-1].day
