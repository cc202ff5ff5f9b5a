"""What written minutes list under their headings and behind their labels."""

import pytest

from device_app.english.headings import Listed, heading, listed
from device_app.english.outcomes import Outcome

MINUTES = """\
# House meeting
Attendees: Anna, Tom
## Discussion
The roof leaks.
## Decisions
- The roof is repaired before the winter.
- The offer of Tom's friend is accepted
at 4,000 euros
## Action items
### By Friday
- [ ] Anna asks for a second offer
1. Tom books the scaffold
## Open questions
Who pays for the scaffold?
## Next meeting
8 December at 19:00"""
LISTED = [
    ("decision", "The roof is repaired before the winter."),
    ("decision", "The offer of Tom's friend is accepted at 4,000 euros"),
    ("action", "[ ] Anna asks for a second offer"),
    ("action", "Tom books the scaffold"),
    ("question", "Who pays for the scaffold?"),
]


def stated(text: str) -> list[tuple[Outcome, str]]:
    return [(each.outcome, each.text) for each in listed(text.splitlines())]


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("## Decisions", "decision"),
        ("Agreed:", "decision"),
        ("**Decisions taken**", "decision"),
        ("3. Actions", "action"),
        ("TO DO", "action"),
        ("# Next steps #", "action"),
        ("Action points:", "action"),
        ("__Open questions:__", "question"),
        ("- Still open:", "question"),
        ("We decided to leave", None),
        ("- actions", None),
        ("Next meeting", None),
        ("", None),
    ],
)
def test_a_heading_is_recognised_in_any_form(line: str, kind: Outcome | None) -> None:
    assert heading(line) == kind


def test_a_line_of_spaces_is_no_heading_and_takes_no_time() -> None:
    assert heading(" " * 100_000) is None
    assert heading("Decisions" + " " * 100_000 + "of the board") is None


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("Decision: buy paint - the green one", "buy paint - the green one"),
        ("- Decision: we meet on 12. May", "we meet on 12. May"),
        ("Action: Tom buys 3) nails", "Tom buys 3) nails"),
    ],
)
def test_a_line_behind_a_label_is_quoted_as_it_stands(line: str, text: str) -> None:
    assert [each.text for each in listed(["Minutes of the meeting", line])] == [text]


def test_the_lines_under_the_headings_are_listed_until_the_next_heading() -> None:
    assert stated(MINUTES) == LISTED
    assert listed(MINUTES.splitlines())[0] == Listed("decision", 5, LISTED[0][1])


@pytest.mark.parametrize(
    "ending", ["NEXT MEETING", "Next meeting: 8 December", "Catering:", "**Catering**", "Any other business"]
)
def test_a_section_ends_at_a_heading_without_marks(ending: str) -> None:
    text = f"Meeting of the board\nDecisions:\nThe roof first.\nThe garden later.\n{ending}\nBring cake."
    assert stated(text) == [("decision", "The roof first."), ("decision", "The garden later.")]


def test_a_list_ends_where_prose_begins() -> None:
    text = "Meeting\nAgreed\n- The roof first.\n- The garden later.\nWe went home at ten."
    assert [line for _, line in stated(text)] == ["The roof first.", "The garden later."]


def test_labels_within_the_text_are_read() -> None:
    text = (
        "Minutes\nThe roof leaks.\nDecision: we repair it.\n- **Action 2:** Tom calls the roofer\nOpen: who pays?\nBye."
    )
    assert stated(text) == [
        ("decision", "we repair it."),
        ("action", "Tom calls the roofer"),
        ("question", "who pays?"),
    ]


def test_the_head_of_a_table_is_no_action() -> None:
    text = "Meeting\nActions\nwho | what\n--- | ---\nTom | the scaffold\nAnna | the offer"
    assert [line for _, line in stated(text)] == ["Tom | the scaffold", "Anna | the offer"]


@pytest.mark.parametrize(
    "text", ["", "Saturday\nTo do\n- milk", "Decided to stay at home.", "Meeting with Tom\nIt rained."]
)
def test_other_notes_are_no_minutes(text: str) -> None:
    assert stated(text) == []
