from collections.abc import Callable
from datetime import datetime

import pytest

from shared.types import Block, Document

Read = Callable[..., list[Document]]
PHONE = """[14.03.26, 09:30:05] Ana: Hi
[14.03.26, 09:31:00] \u200eBo: Ho,
and more
[15.03.26, 08:00:00] Ana: Morning: all well?
"""


def test_an_export_is_a_chat_by_day(read: Read) -> None:
    first, second = read("WhatsApp Chat with Bo.txt", PHONE)
    assert first == Document(
        *("Bo 2026-03-14", "chat", "Bo, 2026-03-14", (Block("Ana: Hi", 1), Block("Bo: Ho, and more", 2))),
        *(datetime(2026, 3, 14, 9, 30), ("Ana", "Bo")),
    )
    assert second.blocks == (Block("Ana: Morning: all well?", 4),)


@pytest.mark.parametrize(
    ("lines", "dates"),
    [
        (["3/14/26, 9:30 AM - Ana: a", "3/15/26, 9:30 PM - Ana: b"], [(3, 14, 9), (3, 15, 21)]),
        (["14/03/2026, 09:30 - Ana: a", "15/03/2026, 21:30 - Ana: b"], [(3, 14, 9), (3, 15, 21)]),
        (["01/12/2026, 09:30 - Ana: a", "02/12/2026, 10:30 - Ana: b"], [(12, 1, 9), (12, 2, 10)]),
        (["1/12/26, 9:30 AM - Ana: a", "2/1/26, 9:30 AM - Ana: b"], [(1, 12, 9), (2, 1, 9)]),
        (["2/1/26, 9:30\u202fAM - Ana: a", "2/2/26, 12:30\u202fAM - Ana: b"], [(2, 1, 9), (2, 2, 0)]),
        (["2026-03-14, 09:30 - Ana: a", "2026-03-15, 10:30 - Ana: b"], [(3, 14, 9), (3, 15, 10)]),
    ],
)
def test_the_order_of_day_and_month_is_found(read: Read, lines: list[str], dates: list[tuple[int, int, int]]) -> None:
    result = [document.date for document in read("a.txt", "\n".join(lines))]
    assert [(date.month, date.day, date.hour) for date in result if date] == dates


def test_notices_without_a_sender_are_left_out(read: Read) -> None:
    text = "3/14/26, 09:29 - Messages are encrypted.\n3/14/26, 09:30 - Ana: a\n3/14/26, 09:31 - Ana: b\n"
    (chat,) = read("a.txt", text)
    assert [block.text for block in chat.blocks] == ["Ana: a", "Ana: b"]


def test_a_diary_with_dates_is_a_note(read: Read) -> None:
    assert read("a.txt", "14.03.26, a good day.\n15.03.26, a better one.\n")[0].kind == "note"


def test_an_export_from_right_to_left(read: Read) -> None:
    lines = "\u200f14/03/2026, 10:30 - \u202bדנה\u202c: שלום\n\u200f١٤/٠٣/٢٠٢٦, ١٠:٣١ - ليلى: \u2067مرحبا\u2069\n"
    (chat,) = read("a.txt", lines)
    assert (chat.kind, chat.people, chat.date) == ("chat", ("דנה", "ليلى"), datetime(2026, 3, 14, 10, 30))
    assert [block.text for block in chat.blocks] == ["דנה: שלום", "ليلى: مرحبا"]
