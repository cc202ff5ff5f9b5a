from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_app.knowledge.readers.dates import date_in, parse_date

DAY = datetime(2026, 3, 14)
MOMENT = datetime(2026, 3, 14, 9, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("2026-03-14", DAY),
        ("diary_2026_03_14_evening", DAY),
        ("20260314", DAY),
        ("IMG 2026.03.14", DAY),
        ("2026-03-14 09:30 call", datetime(2026, 3, 14, 9, 30)),
        ("20260314_0930", datetime(2026, 3, 14, 9, 30)),
        ("2026-03-14 99:99", DAY),
        ("Protokoll vom 14.3.2026", DAY),
        ("Meeting, 14 March 2026", DAY),
        ("March 14, 2026: dentist", DAY),
        ("2026-13-45 and then 2026-03-14", DAY),
        ("invoice 120260314", None),
        ("version 1.2.3", None),
        ("May I?", None),
        ("", None),
    ],
)
def test_a_date_is_found_in_a_name(text: str, date: datetime | None) -> None:
    assert date_in(text) == date


@pytest.mark.parametrize(
    ("value", "date"),
    [
        ("2026-03-14T09:30:00Z", MOMENT),
        ("2026-03-14T10:30:00+01:00", MOMENT),
        ("2026-03-14", DAY),
        ("14 Mar 2026", DAY),
        (MOMENT.timestamp(), MOMENT),
        (int(MOMENT.timestamp()), MOMENT),
        (int(MOMENT.timestamp()) * 1000, MOMENT),
        (int(MOMENT.timestamp()) * 10**9, MOMENT),
        (str(int(MOMENT.timestamp())), MOMENT),
        (f"{MOMENT.timestamp():.6f}", MOMENT),
        (12, None),
        (True, None),
        (None, None),
        (float("nan"), None),
        (float("inf"), None),
        (10**400, None),
        ("10", None),
        ("noon", None),
        ("9999-12-31T23:59:59", None),
        ("0001-01-01", None),
        (["2026-03-14"], None),
    ],
)
def test_a_field_is_read_as_a_date(value: object, date: datetime | None) -> None:
    assert parse_date(value) == date


def test_a_zone_is_kept() -> None:
    parsed = parse_date("Sat, 14 Mar 2026 10:30:00 +0100")
    assert parsed is not None
    assert parsed.tzinfo is not None
    assert parsed.astimezone(timezone(timedelta(hours=1))).hour == 10


@given(st.text(max_size=80) | st.floats() | st.integers())
def test_any_value_is_a_date_that_may_be_moved_between_zones_or_none(value: object) -> None:
    date = parse_date(value)
    assert date is None or date.astimezone(UTC)


@given(st.text(st.sampled_from("0123456789-./ :TMarchJune"), max_size=40))
def test_any_text_has_a_date_or_none(text: str) -> None:
    assert date_in(text) is None or date_in(f"x {text}") is not None
