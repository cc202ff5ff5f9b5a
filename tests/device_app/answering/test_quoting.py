"""Answers that quote sentences of the files, without a model."""

from dataclasses import replace
from datetime import date, datetime
from pathlib import Path

import pytest

from device_app.answering.assistant import Assistant
from device_app.answering.early import needs_model
from device_app.answering.planner import NO_SERVER
from device_app.answering.quoting import CORRECTED
from device_app.answering.state import Action
from device_app.english import beyond
from device_app.english.query import parse
from device_app.inference.local import LocalSource
from device_app.knowledge.ingest import Ingestion
from device_app.knowledge.known_people import known_people
from device_app.question.answer import APART, Answer, Found, Wrote
from device_app.settings import Settings
from models.fake import FakeEmbedder
from storage.database import Database
from storage.knowledge import KnowledgeStore
from storage.paths import HOME_VARIABLE, Paths
from tests.device_app.conftest import answered, assistant, options
from tests.devices import fake_device

DAY = date(2026, 3, 1)
ASKED = "What was said about the leaking roof?"
QUOTED = options(summaries="quoted", relevance=0.05)
TEXT = """\
The leaking roof:

- Anna: The leaking roof drips into the hall. [1]
- Tom: I have a man for the leaking roof. [1]
- The leaking roof needs new tiles. [2]"""


def never() -> LocalSource:
    raise AssertionError("the model was waited for")


@pytest.fixture
def roof(database: Database, notes: Path) -> Database:
    """A store with a chat and a note about a roof."""
    (notes / "chat.md").write_text(
        "Anna: The leaking roof drips into the hall.\n\nTom: I have a man for the leaking roof.\n\nAnna: Good.\n"
    )
    (notes / "roof.md").write_text("# Tiles\n\nThe leaking roof needs new tiles. Tiles are dear.\n")
    Ingestion(KnowledgeStore(database), FakeEmbedder()).run([notes])
    return database


def added(database: Database, path: Path, text: str) -> None:
    path.write_text(text)
    Ingestion(KnowledgeStore(database), FakeEmbedder()).run([path.parent])


def quoting(database: Database) -> Assistant:
    """An assistant that must not load a model."""
    return assistant(database, never)


def test_what_was_said_is_answered_in_the_words_of_the_files_without_a_model(roof: Database) -> None:
    room = quoting(roof)
    events = list(room.ask(ASKED, QUOTED))
    answer = events[-1]
    assert isinstance(answer, Answer)
    assert [type(event) for event in events] == [Found, Wrote, Answer]
    assert [event.text for event in events if isinstance(event, Wrote)] == [TEXT]
    record = answer.as_json()
    assert (record["answer"], record["quoted"], record["found"], record["abstained"]) == (TEXT, True, True, False)
    assert (record["origin"], record["model"], record["support"]) == ("device", "", "word for word")
    assert [Path(source["path"]).name for source in record["sources"]] == ["chat.md", "roof.md"]
    assert [step["name"] for step in record["trace"]["steps"]] == ["look up", "retrieve", "quote"]
    assert room.bank.entries.all() == []  # it would be old when it is asked for again
    assert 0 < record["trace"]["ttft_ms"] <= record["trace"]["total_ms"]


@pytest.mark.parametrize(
    ("question", "chosen"),
    [
        (ASKED, options()),
        ("Is the roof leaking into the hall?", QUOTED),
    ],
)
def test_else_the_model_writes(roof: Database, question: str, chosen: object) -> None:
    answer = answered(assistant(roof), question, chosen)  # type: ignore[arg-type]
    assert (answer.quoted, answer.model) == (False, "fake")


def test_where_nothing_near_is_said_the_model_reads_what_there_is(database: Database, notes: Path) -> None:
    added(database, notes / "roof.md", "# The leaking roof\n\nMonday: no.\n")
    assert not answered(assistant(database), ASKED, QUOTED).quoted


def test_what_follows_on_the_question_before_is_written(roof: Database) -> None:
    room = assistant(roof)
    first = answered(room, ASKED, QUOTED)
    assert first.quoted
    assert not answered(room, "And what was said about it then?", QUOTED, first.conversation_id).quoted


def test_it_is_quoted_from_the_files_that_the_question_is_limited_to(roof: Database) -> None:
    answer = answered(quoting(roof), f"in:roof.md {ASKED}", QUOTED)
    assert answer.text.endswith(":\n\n- The leaking roof needs new tiles. [1]")
    assert [Path(hit.passage.path).name for hit in answer.hits] == ["roof.md"]


def test_a_passage_of_which_nothing_is_quoted_is_no_source(roof: Database, notes: Path) -> None:
    added(roof, notes / "aside.md", "The leaking roof.\n")
    room = quoting(roof)
    best, *_ = room.retriever.search(parse("the leaking roof", DAY), 3)
    assert Path(best.passage.path).name == "aside.md"
    answer = answered(room, ASKED, QUOTED)
    assert answer.text == TEXT
    assert [Path(hit.passage.path).name for hit in answer.hits] == ["chat.md", "roof.md"]


def test_what_is_said_since_is_quoted_at_once(roof: Database, notes: Path) -> None:
    room = quoting(roof)
    assert answered(room, ASKED, QUOTED).text == TEXT
    added(roof, notes / "more.md", "The leaking roof was mended on Friday.\n")
    anew = answered(room, ASKED, QUOTED)
    assert (anew.origin, anew.quoted) == ("device", True)
    assert "mended on Friday" in anew.text


def test_what_was_said_on_a_day_is_quoted_from_what_is_of_that_day(database: Database, notes: Path) -> None:
    for day, said in (("02", "The roof leaks into the hall."), ("03", "The boat is painted green now.")):
        added(database, notes / f"2026-03-{day}.md", f"{said}\n")
    answer = answered(quoting(database), "What did we talk about on 3 March 2026?", QUOTED)
    assert answer.text == "On 3 March 2026:\n\n- The boat is painted green now. [1]"


def test_what_was_said_of_something_on_a_day_is_quoted_from_that_day(database: Database, notes: Path) -> None:
    for day, said in (("02", "The old roof leaks into the hall."), ("03", "The old roof is mended now.")):
        added(database, notes / f"2026-03-{day}.md", f"{said}\n")
    answer = answered(quoting(database), "What was said about the old roof on 3 March 2026?", QUOTED)
    assert answer.text == "The old roof on 3 March 2026:\n\n- The old roof is mended now. [1]"


@pytest.mark.parametrize("decode", [True, False])
def test_nothing_is_made_ahead_for_it(roof: Database, decode: bool) -> None:
    room = quoting(roof)
    prepared = room.prepare(parse(ASKED, DAY), QUOTED, "predicted", decode=decode)
    assert prepared is not None
    assert prepared.at_once
    assert room.bank.entries.all() == []


def test_together_without_a_server_it_is_quoted_as_well(roof: Database) -> None:
    answer = answered(assistant(roof), ASKED, replace(QUOTED, together=True))
    assert (answer.quoted, answer.text, answer.decided) == (
        True,
        TEXT,
        (f"{APART}{NO_SERVER[:1].lower()}{NO_SERVER[1:]}",),
    )


def test_what_a_model_wrote_to_a_question_like_it_does_not_serve_for_it(roof: Database) -> None:
    room, alike = assistant(roof), "About the leaking roof, what was said?"
    assert not answered(room, alike, QUOTED).quoted
    assert answered(room, alike, QUOTED).origin == "qa_bank"
    assert answered(room, ASKED, QUOTED).text == TEXT


def test_where_nothing_near_is_said_what_the_model_writes_is_not_kept(database: Database, notes: Path) -> None:
    added(database, notes / "roof.md", "The leaking roof.\n")
    room = assistant(database)
    assert not answered(room, ASKED, QUOTED).quoted
    assert room.bank.entries.all() == []


def test_why_tells_what_would_be_quoted(roof: Database) -> None:
    explained = quoting(roof).explain(ASKED, QUOTED)
    assert explained.step == Action("quote")
    assert explained.state.retrieved
    assert explained.state.retrieved.quoted
    assert [Path(hit.passage.path).name for hit in explained.state.retrieved.quoted.hits] == ["chat.md", "roof.md"]
    assert quoting(roof).explain(ASKED, options()).step == Action("generate")


CHAT = """\
[12/08/2026, 10:00:00] Anna: The leaking roof drips into the hall.
[12/08/2026, 10:01:00] TomHill: I have a man for the leaking roof.
"""


def test_only_the_words_of_whom_the_question_asks_are_quoted(database: Database, notes: Path) -> None:
    added(database, notes / "chat.txt", CHAT)
    known_people(database).state_me(["Tom Hill"])
    mine = answered(quoting(database), "What did I say about the leaking roof?", QUOTED)
    assert mine.text == "You about the leaking roof:\n\n- TomHill: I have a man for the leaking roof. [1]"
    theirs = answered(quoting(database), "What did Anna text me about the leaking roof?", QUOTED)
    assert theirs.text == "Anna about the leaking roof:\n\n- Anna: The leaking roof drips into the hall. [1]"


def test_where_they_said_nothing_the_model_reads_what_there_is(database: Database, notes: Path) -> None:
    added(database, notes / "chat.txt", CHAT)
    answer = answered(assistant(database), "What did Petra text about the leaking roof?", QUOTED)
    assert (answer.quoted, answer.model) == (False, "fake")


def test_what_was_corrected_later_is_quoted_with_both_days_and_no_model(database: Database, notes: Path) -> None:
    (notes / "2026-02-01 plan.md").write_text("# Garden party\n\nThe garden party is on Monday 15 June at 10:00.\n")
    (notes / "2026-03-01 news.md").write_text(
        "# Garden party\n\nThe garden party is moved to Sunday 28 June at 4 pm.\n"
    )
    Ingestion(KnowledgeStore(database), FakeEmbedder()).run([notes])
    room = replace(assistant(database, source=never), clock=lambda: datetime(2026, 3, 8, 9).astimezone())
    answer = answered(room, "When is the garden party?", options(relevance=0.0))
    assert answer.text == (
        "Changed on 1 March 2026: “The garden party is moved to Sunday 28 June at 4 pm.” [1]\n\n"
        "Before, on 1 February 2026: “The garden party is on Monday 15 June at 10:00.” [2]"
    )
    assert (answer.quoted, answer.decided, len(answer.hits)) == (True, (CORRECTED,), 2)
    assert answered(room, "When is the garden party?", options(relevance=0.0)).origin == "device"  # not a kept answer


def test_a_figure_corrected_in_later_minutes_stands_beside_the_older_one(database: Database, notes: Path) -> None:
    (notes / "2026-02-01 roof.md").write_text("# Roof meeting\n\nWe decided that the roof may cost 380 euros.\n")
    (notes / "2026-03-01 corrections.md").write_text(
        "# Roof meeting in March\n\nCorrections: the cost of the roof was wrong: it is 420 euros.\n"
    )
    Ingestion(KnowledgeStore(database), FakeEmbedder()).run([notes])
    room = replace(assistant(database, source=never), clock=lambda: datetime(2026, 3, 8, 9).astimezone())
    newer = "“Corrections: the cost of the roof was wrong: it is 420 euros.”"
    asked = answered(room, "How much does the roof cost?", options(relevance=0.0))
    assert asked.text == (
        f"Changed on 1 March 2026: {newer} [1]\n\n"
        "Before, on 1 February 2026: “We decided that the roof may cost 380 euros.” [2]"
    )
    minutes = answered(room, "What was decided in the roof meeting on 1 February 2026?", QUOTED)
    assert minutes.text.endswith(f"380 euros. [1]\n\nCorrected on 1 March 2026: {newer} [2]")
    assert [Path(hit.passage.path).name[:10] for hit in minutes.hits] == ["2026-02-01", "2026-03-01"]
    every = answered(room, "Summarize the cost of the roof", QUOTED)
    assert every.text.count("Corrections") == 1


MEETING = """\
[12/08/2026, 10:00:00] Anna: Good morning, everybody, lovely weather we are having.
[12/08/2026, 10:01:00] Tom: The roof leaks, so we decided to repair it before the winter.
[12/08/2026, 10:02:00] Anna: I'll ask the roofer for a second quote by Friday. And my cousin says hello.
[12/08/2026, 10:03:00] Tom: We still need to find out who pays for the scaffolding.
[12/08/2026, 10:04:00] Anna: Fine, see you all next week, and bring cake.
"""
OUTCOMES = """\
**Decided**

- Tom: The roof leaks, so we decided to repair it before the winter. [1]

**To do**

- Anna: I'll ask the roofer for a second quote by Friday. [1]

**Open**

- Tom: We still need to find out who pays for the scaffolding. [1]"""


def test_the_summary_of_a_meeting_quotes_its_outcomes_alone(database: Database, notes: Path) -> None:
    added(database, notes / "House meeting.txt", MEETING)
    room = quoting(database)
    heading, _, outcomes = answered(room, "Summarize the house meeting", QUOTED).text.partition("\n\n")
    assert ("2026-08-12" in heading, outcomes) == (True, OUTCOMES)
    open_alone = answered(room, "Which questions are still open after the house meeting?", QUOTED).text
    assert open_alone.endswith(f"\n\n{OUTCOMES[OUTCOMES.index('**Open') :]}")
    assert "**Decided**" not in open_alone


WRITTEN = """\
# House meeting

Attendees: Anna, Tom

## Discussion

The roof was discussed for an hour.

## Decisions

- The roof is repaired before the winter.

## Action items

- [ ] Anna asks for a second offer
- Tom books the scaffold

## Open questions

1. Who pays for the scaffold?

## Next meeting

8 December at 19:00
"""
LISTED = """\
House meeting, 12 August 2026:

**Decided**

- The roof is repaired before the winter. [1]

**To do**

- [ ] Anna asks for a second offer [1]
- Tom books the scaffold [1]

**Open**

- Who pays for the scaffold? [1]"""


def test_the_summary_of_a_meeting_quotes_what_stands_under_the_headings_of_its_minutes(
    database: Database, notes: Path
) -> None:
    added(database, notes / "2026-08-12 house.md", WRITTEN)
    room = quoting(database)
    assert answered(room, "Summarize the house meeting", QUOTED).text == LISTED
    actions = answered(room, "What are the action items from the house meeting?", QUOTED).text
    assert actions == "\n\n".join([LISTED.split("\n\n", maxsplit=1)[0], *LISTED.split("\n\n")[3:5]])


def test_the_minutes_of_a_text_file_are_quoted_by_their_headings(database: Database, notes: Path) -> None:
    added(database, notes / "house meeting.txt", WRITTEN.replace("## ", "").replace("# ", ""))
    answer = answered(quoting(database), "Summarize the house meeting", QUOTED)
    assert answer.text == LISTED.replace("House meeting, 12 August 2026", "house meeting")


def test_of_several_meetings_the_last_is_the_newest(database: Database, notes: Path) -> None:
    added(database, notes / "2026-08-12 house.md", WRITTEN)
    added(database, notes / "2026-09-12 house.md", WRITTEN.replace("before the winter", "in spring"))
    added(database, notes / "2026-07-12 house.md", WRITTEN.replace("before the winter", "never"))
    text = answered(quoting(database), "What was decided at the last house meeting?", QUOTED).text
    assert text == "House meeting, 12 September 2026:\n\n**Decided**\n\n- The roof is repaired in spring. [1]"


def test_a_list_of_things_to_do_is_no_meeting(database: Database, notes: Path) -> None:
    added(database, notes / "house.md", "# The house\n\n## To do\n\n- Paint the house door\n")
    answer = answered(assistant(database), "Summarize the house meeting", QUOTED)
    assert "**To do**" not in answer.text


def test_a_meeting_without_outcomes_is_quoted_as_before(database: Database, notes: Path) -> None:
    added(database, notes / "House meeting.txt", CHAT)
    answer = answered(quoting(database), "Summarize the house meeting about the leaking roof", QUOTED)
    assert (answer.quoted, "**" in answer.text) == (True, False)
    assert "The leaking roof drips into the hall." in answer.text


@pytest.mark.parametrize("question", ["What was decided at the meeting with the pope?", "Summarize the pope's meeting"])
def test_a_meeting_of_which_no_file_has_a_word_is_not_quoted(roof: Database, question: str) -> None:
    assert not answered(assistant(roof), question, options(summaries="quoted", relevance=0.0)).quoted


def test_a_word_of_the_same_family_counts_as_said(database: Database, notes: Path) -> None:
    added(database, notes / "kitchen.md", "# Kitchen\n\nDelivery of the dishwasher: Monday. Installation on 3 May.\n")
    room = assistant(database)
    asked = parse("When was the dishwasher delivered and installed?", DAY)
    passages = [hit.passage for hit in room.retriever.search(asked, 3)]
    assert Path(passages[0].path).name == "kitchen.md"
    assert beyond.words(asked, passages, room.retriever.keywords) == []


def test_a_reply_that_moves_an_appointment_is_quoted_with_what_it_moves(database: Database, notes: Path) -> None:
    (notes / "chat.txt").write_text(
        "[05/03/2026, 10:00:00] Anna: Dinner Friday at 7?\n"
        "[05/03/2026, 10:01:00] Tom: Can we do Saturday at 11?\n"
        "[05/03/2026, 10:02:00] Anna: works\n"
    )
    Ingestion(KnowledgeStore(database), FakeEmbedder()).run([notes])
    room = replace(assistant(database, source=never), clock=lambda: datetime(2026, 3, 6, 9).astimezone())
    answer = answered(room, "When is dinner?", options(relevance=0.0))
    assert answer.text == (
        "Changed on 5 March 2026: “Tom: Can we do Saturday at 11? Anna: works” [1]\n\n"
        "Before, on 5 March 2026: “Anna: Dinner Friday at 7?” [1]"
    )
    assert len(answer.hits) == 1


@pytest.mark.parametrize(
    "question",
    ["Summarize the party", "What was decided at the board meeting?", "What did Anna text me about the party?"],
)
def test_a_question_that_the_files_are_quoted_for_needs_no_model(tmp_path: Path, question: str) -> None:
    settings = Settings(answer=replace(Settings().answer, summaries="quoted"))
    with fake_device(Paths.locate({HOME_VARIABLE: str(tmp_path)}), settings) as device:
        assert not needs_model(device, question, fresh=True)
        assert needs_model(device, "When is the party?", fresh=True)
