"""A phone's output converted to documents: chats, calls and contacts; all fields are validated."""

from datetime import datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from device_app.knowledge.directory import Directory
from device_app.knowledge.people import Sighting, resolve
from device_app.knowledge.phone import entries
from device_app.knowledge.phone.documents import Book, of_calls, of_contacts, of_messages
from tests.termux import CALLS, CONTACTS, MESSAGES


def book(*written: str) -> Book:
    return Book.of(Directory(resolve([Sighting(each, "phone:contacts") for each in written])))


def test_messages_are_a_chat_of_a_day_without_one_time_codes() -> None:
    documents, codes = of_messages(list(entries.messages(MESSAGES)), Book())
    (chat,) = documents
    assert chat.kind == "chat"
    assert chat.title == "Messages with Anna Lindqvist, 2026-08-12"
    assert [block.text for block in chat.blocks] == [
        "Anna Lindqvist: Friday works: I bring the blue drill at seven.",
        "Me: Great, see you on Friday then.",
    ]
    assert chat.people == ("Anna Lindqvist <+46 70 123 45 67>", "Me")
    assert chat.date == datetime(2026, 8, 12, 18, 4, 31)
    assert codes == 1


def test_a_number_is_named_by_the_contacts() -> None:
    sent = [{**MESSAGES[1], "threadid": 8}]
    (chat,), _ = of_messages(list(entries.messages(sent)), book("Anna Lindqvist <+46 70-123 45 67>"))
    assert chat.title == "Messages with Anna Lindqvist, 2026-08-12"


@pytest.mark.parametrize("sender", ["MYBANK", "mybank", "+46 70 999 99 99"])
def test_a_sender_that_is_the_number_itself_is_no_contact(sender: str) -> None:
    number = "0709999999" if sender.startswith("+") else "MYBANK"
    listed = [{**MESSAGES[0], "sender": sender, "number": number, "body": "Your code is 482913"}]
    (entry,) = entries.messages(listed)
    assert entry.name == ""
    assert of_messages([entry], Book()) == ([], 1)
    (call,) = entries.calls([{**CALLS[0], "name": sender, "phone_number": number}])
    assert call.name == ""


def test_two_people_of_one_name_have_their_numbers_in_the_title() -> None:
    known = book("Anna Berg <0701234567>", "Anna Berg <0709999999>")
    (chat,), _ = of_messages(list(entries.messages([MESSAGES[1]])), known)
    assert chat.title == "Messages with Anna Berg (0701234567), 2026-08-12"


def test_a_call_is_a_record_in_words() -> None:
    listed = [
        *CALLS,
        {
            "name": "",
            "phone_number": "0707654321",
            "type": "OUTGOING",
            "date": "2026-08-11 13:00:05",
            "duration": "03:20",
        },
        {"name": "UNKNOWN_CALLER", "type": "INCOMING", "date": "2026-08-11 14:00:00", "duration": "1:00:01"},
    ]
    petra, unknown = of_calls(list(entries.calls(listed)), book("Petra Novak <070 765 43 21>"))
    assert petra.title == "Calls with Petra Novak, 2026-08-11"
    assert [block.text for block in petra.blocks] == [
        "12:30 I missed a call from Petra Novak.",
        "13:00 I called Petra Novak, 3 min 20 s.",
    ]
    assert [block.text for block in unknown.blocks] == ["14:00 an unknown number called me, 1 h 1 s."]


def test_a_contact_has_all_numbers_of_its_name() -> None:
    listed = [*CONTACTS, {"name": "Petra Novak", "number": "08 123 456"}]
    petra = of_contacts(entries.contacts(listed))[1]
    assert petra.people == ("Petra Novak <070 765 43 21>", "Petra Novak <08 123 456>")
    assert petra.blocks[1].text == "The number of Petra Novak is 08 123 456."


JUNK: list[Any] = [
    None,
    [],
    "text",
    {},
    {"type": "inbox"},
    {**MESSAGES[0], "received": "yesterday"},
    {**MESSAGES[0], "received": "9999-99-99 00:00:00"},
    {**MESSAGES[0], "body": {"a": 1}},
    {**MESSAGES[0], "body": "  "},
    {**MESSAGES[0], "type": "draft"},
]


@pytest.mark.parametrize("item", JUNK, ids=range(len(JUNK)))
def test_what_is_no_message_is_left_out(item: object) -> None:
    assert list(entries.messages([item])) == []


def test_names_with_braces_and_brackets_are_text() -> None:
    call = {**CALLS[0], "name": "{x.__class__} <a>"}
    (record,) = of_calls(list(entries.calls([call])), Book())
    assert record.blocks[0].text == "12:30 I missed a call from {x.__class__} a."
    number = {**CALLS[0], "name": "", "phone_number": "{0}"}
    assert of_calls(list(entries.calls([number])), Book())[0].blocks[0].text == "12:30 I missed a call from {0}."


ANY: st.SearchStrategy[Any] = (
    st.none() | st.booleans() | st.integers() | st.text(max_size=9) | st.just([]) | st.just({"a": [1]})
)
KEYS = st.sampled_from(sorted({*MESSAGES[0], *CALLS[0], *CONTACTS[0]}))


GOOD = st.sampled_from(["2026-08-11 12:30:00", "inbox", "MISSED", "1:2", "٣:٤"])


@settings(max_examples=30)
@given(st.lists(ANY | st.dictionaries(KEYS, ANY | GOOD, max_size=8), max_size=3))
def test_anything_may_be_printed(listed: list[Any]) -> None:
    of_messages(list(entries.messages(listed)), Book())
    of_calls(list(entries.calls(listed)), Book())
    of_contacts(entries.contacts(listed))
