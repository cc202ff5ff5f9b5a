from collections.abc import Callable
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_app.knowledge.readers.dialogues import is_dialogue
from shared.types import Document

Read = Callable[..., list[Document]]

SAID = ["Ana: Hi", "Bo: Ho, and more", "Ana: The key is under the pot.", "Bo: Thanks: bye"]
CHATS = {
    "names": "Ana: Hi\nBo: Ho,\nand more\n\nAna: The key is under the pot.\nBo: Thanks: bye\n",
    "bold names": "**Ana:** Hi\n\n**Bo:** Ho, and more\n\n**Ana**: The key is under the pot.\n\n**Bo**: Thanks: bye\n",
    "items": "- Ana: Hi\n- Bo: Ho, and more\n- Ana: The key is under the pot.\n- Bo: Thanks: bye\n",
    "times": "[10:30] Ana: Hi\n[10:31] Bo: Ho,\nand more\n[10:32] Ana: The key is under the pot.\n"
    "[10:33] Bo: Thanks: bye",
    "times behind": "Ana (10:30): Hi\nBo (10:31): Ho, and more\n"
    "Ana (10:32): The key is under the pot.\nBo (1:33 PM): Thanks: bye",
    "clock": "10:30 Ana: Hi\n10:31 Bo: Ho, and more\n10:32 - Ana: The key is under the pot.\n10:33 Bo: Thanks: bye",
    "signal-export": "[2026-03-14 10:30] Ana: Hi\n[2026-03-14 10:31] Bo: Ho, and more\n"
    "[2026-03-14, 10:32] Ana: The key is under the pot.\n[2026-03-14 10:33] Bo: Thanks: bye",
    "irc": "[10:30] <Ana> Hi\n[10:31] <Bo> Ho, and more\n"
    "[10:32] <Ana> The key is under the pot.\n[10:33] <Bo> Thanks: bye",
    "telegram": "Ana, [14.03.2026 10:30]\nHi\n\nBo, [14.03.2026 10:31]:\nHo, and more\n\n"
    "Ana, [14.03.2026 10:32]\nThe key is under the pot.\n\nBo, [14.03.2026 10:33]\nThanks: bye\n",
    "whatsapp": "[14.03.26, 10:30:05] Ana: Hi\n[14.03.26, 10:31:05] Bo: Ho, and more\n"
    "[14.03.26, 10:32:00] Ana: The key is under the pot.\n[14.03.26, 10:33:00] Bo: Thanks: bye\n",
    "whatsapp saved as markdown": "\\[14.03.26, 10:30:05\\] Ana: Hi\n\n\\[14.03.26, 10:31:05\\] Bo: Ho, and more\n\n"
    "\\[14.03.26, 10:32:00\\] Ana: The key is under the pot.\n\n\\[14.03.26, 10:33:00\\] Bo: Thanks: bye\n",
    "whatsapp as items": "- 14/03/2026, 10:30 - Ana: Hi\n- 14/03/2026, 10:31 - Bo: Ho, and more\n"
    "- 14/03/2026, 10:32 - Ana: The key is under the pot.\n- 14/03/2026, 10:33 - Bo: Thanks: bye\n",
}

MARKDOWN_ALONE = ("whatsapp saved as markdown", "whatsapp as items")


@pytest.mark.parametrize(
    ("form", "suffix"),
    [(form, suffix) for form in CHATS for suffix in ("txt", "md") if suffix == "md" or form not in MARKDOWN_ALONE],
)
def test_a_chat_is_known_by_its_form(read: Read, form: str, suffix: str) -> None:
    (chat,) = read(f"With Bo 2026-03-14.{suffix}", CHATS[form])
    assert (chat.kind, chat.people) == ("chat", ("Ana", "Bo"))
    assert [block.text for block in chat.blocks] == SAID
    assert chat.date is not None
    assert chat.date.replace(hour=0, minute=0) == datetime(2026, 3, 14)
    assert ("10:30" in CHATS[form]) == (chat.date.hour == 10)


def test_dates_between_the_messages_begin_days(read: Read) -> None:
    lines = "# Rowers\n\n## Saturday, 14 March 2026\n\nAna: a\nBo: b\n\n--- 15.3.2026 ---\nAna: c\n\n**Bo**: d\n"
    first, second = read("a.md", lines)
    assert [(day.title, day.date) for day in (first, second)] == [
        ("Rowers, 2026-03-14", datetime(2026, 3, 14)),
        ("Rowers, 2026-03-15", datetime(2026, 3, 15)),
    ]
    assert [(block.line, block.text) for block in second.blocks] == [(9, "Ana: c"), (11, "Bo: d")]


@pytest.mark.parametrize("day", ["15.3.2026", "Sunday, 15 March 2026", "Sun 15 Mar 2026", "--- Sonntag, 15.3.2026 ---"])
def test_a_line_with_nothing_but_a_date_begins_a_day(read: Read, day: str) -> None:
    lines = f"Ana: a\nBo: b\n{day}\nAna: See you\non 16 March 2026\nBo: Or on\n17 March 2026 at noon?\n"
    _, second = read("2026-03-14.txt", lines)
    assert second.date == datetime(2026, 3, 15)
    assert [block.text for block in second.blocks] == [
        "Ana: See you on 16 March 2026",
        "Bo: Or on 17 March 2026 at noon?",
    ]


def test_lines_are_counted_from_the_start_of_the_file(read: Read) -> None:
    (chat,) = read("a.md", f"---\ntitle: Keys\ndate: 2026-03-14\n---\n\n{CHATS['names']}")
    assert (chat.title, chat.blocks[0].line) == ("Keys", 6)


def test_a_chat_from_right_to_left(read: Read) -> None:
    (chat,) = read("a.txt", "דנה: שלום\n\u200fאבי: מה שלומך?\nדנה: המפתח מתחת לעציץ\n\u202bאבי: תודה\u202c\n")
    assert (chat.kind, chat.people) == ("chat", ("דנה", "אבי"))
    assert chat.blocks[2].text == "דנה: המפתח מתחת לעציץ"


NOTES = {
    "a form": "Breed: Maine Coon\nColour: red\nWeight: 6 kg\n\nBreed: Siam\nColour: white\nWeight: 4 kg\n",
    "contacts": "Name: Ana\nPhone: 1\nName: Bo\nPhone: 2\nName: Cy\nPhone: 3\n",
    "two fields": "Item: a\nPrice: 2\nItem: b\nPrice: 3\nItem: c\nPrice: 4\n",
    "minutes": "Decision: The roof.\nAction: Tom calls.\nDecision: The gate.\nAction: Ana waits.\n",
    "flash cards": "Q: Who?\nA: Ana.\nQ: When?\nA: Now.\n",
    "steps": "Monday: run\nTuesday: swim\nWednesday: rest\nThursday: run\n",
    "tasks": "[x] Ana: paint\n[ ] Bo: plaster\n[x] Ana: sweep\n[ ] Bo: rest\n",
    "a monologue": "Ana: a\nAna: b\nAna: c\nAna: d\n",
    "prose with names": "Ana: Hi.\nThen we left.\nIt rained.\nBo: Ho.\nAna: So?\nBo: No.\nAnd on.\nAnd on.\nAnd on.\n",
    "times of a day": "10:30 Dentist\n11:30 Bakery: bread\n12:00 Lunch\n13:00 Walk\n",
    "links": "http://a.org\nhttp://b.org\nhttp://a.org\nhttp://b.org\n",
}


@pytest.mark.parametrize("suffix", ["txt", "md"])
@pytest.mark.parametrize("text", NOTES.values(), ids=NOTES)
def test_a_note_is_no_chat(read: Read, text: str, suffix: str) -> None:
    assert read(f"a.{suffix}", text)[0].kind == "note"


@given(st.lists(st.text(alphabet="aB :[]()*<>1/.,\n#-", max_size=60), max_size=30))
def test_any_lines_are_judged(lines: list[str]) -> None:
    assert is_dialogue(lines) in (True, False)


def test_lines_without_end_take_linear_time() -> None:
    for line in ("Ana " * 50_000, "[" * 200_000, "** " * 50_000, "a: " * 50_000, "<" * 200_000):
        is_dialogue([line] * 5)
