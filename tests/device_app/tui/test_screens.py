"""Pictures of every screen and state of the app, on a phone's, a small and a large terminal."""

from pathlib import Path
from typing import Any

import pytest
from textual.widgets import Input

from device_app.cli import run
from device_app.question.abstention import NOT_TOLD
from device_app.tui import messages
from device_app.tui.edge.answers import Answers
from device_app.tui.edge.following import Following
from device_app.tui.link import Phase, Standing
from models.catalog import Weights
from storage.conversations import ConversationStore
from tests.device_app.tui.conftest import DRILL, PHONE, SIZES
from tests.devices import PulledDevice, fake_device

LONG = """\
The renovation has **three** open points:

1. the tiles from *Zolla*, which come on Thursday;
2. the `cistern`, as the city wants a drawing;
3. the deposit.

```sh
jackdaw ask "what is left?"
```

| point | who |
|---|---|
| tiles | Petra |
| cistern | Runa |
"""


@pytest.fixture
def talk(store: ConversationStore, record: Any) -> ConversationStore:
    """Conversations of every kind."""
    for title in ("When is the dentist?", "What did Anna order in March, and what did it cost with the shipping?"):
        store.write(store.begin(title).id, "On Tuesday 14 March.", record(title, "On Tuesday 14 March."))
    before = {"qa": {"hit": True, "similarity": 0.93, "matched": DRILL, "answered_at": "2026-11-18T09:00:00+00:00"}}
    kv = {"kv": {"segments_cached": 0, "tokens_cached": 0, "tokens_prefilled": 0}}
    quick = {"ttft_ms": 11.0, "total_ms": 12.0, "steps": [{"name": "look up", "ms": 11.0}], "tokens": 0}
    nothing = "I found nothing about that in your files."
    turns: list[tuple[str, str, dict[str, Any]]] = [
        ("Who has a xylophone?", nothing, {"found": False, "sources": [], "evidence": None}),
        (DRILL, "Petra has it.", {"origin": "qa_bank", "cache": before | kv, "trace": quick}),
        ("What is left to do for the house?", LONG, {"evidence": None}),
    ]
    conversation = None
    for question, answer, different in turns:
        turn = store.begin(question, conversation)
        conversation = turn.conversation_id
        store.write(turn.id, answer, record(question, answer, **different))
    store.write(store.begin("And who pays for it?", conversation).id, "That was agreed in the")
    return store


async def opened(person: Any) -> None:
    """Open the last conversation and wait until it is shown."""
    await person.chat.open_conversation(3)
    await person.until(lambda: len(person.chat.transcript.views) == 4)


@SIZES
def test_nothing_read_yet(looks: Any, size: Any) -> None:
    assert looks(size)


@PHONE
def test_something_to_ask_about(looks: Any, notes: Path, size: Any) -> None:
    assert looks(size)


def an_agenda(folder: Path) -> Path:
    """A calendar with two events today and one tomorrow, by the app's clock."""
    events = (("Rowing", "20261121T061500"), ("Call with Petra", "20261121T150000"), ("Dentist", "20261122T093000"))
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0"]
    for number, (title, start) in enumerate(events):
        facts = (f"UID:{number}", f"SUMMARY:{title}", f"DTSTART:{start}", "DURATION:PT1H")
        lines += ["BEGIN:VEVENT", *facts, "END:VEVENT"]
    calendar = folder / "mine.ics"
    calendar.write_text("\r\n".join([*lines, "END:VCALENDAR", ""]))
    return calendar


@PHONE
def test_what_is_on_today_and_what_is_new(
    looks: Any, notes: Path, tmp_path: Path, store: ConversationStore, size: Any
) -> None:
    store.database.execute("UPDATE files SET ingested_at = '2026-11-01T09:00:00+00:00'")
    assert run(["add", str(an_agenda(tmp_path))], fake_device) == 0

    async def shown(person: Any) -> None:
        await person.until(lambda: "New since" in person.sees())

    assert looks(size, shown)


@PHONE
def test_models_missing(looks: Any, person: Any, monkeypatch: pytest.MonkeyPatch, size: Any) -> None:
    person.make = PulledDevice
    monkeypatch.setattr(Weights, "state", lambda *_: "missing")
    assert looks(size)


@PHONE
def test_models_being_fetched(looks: Any, person: Any, monkeypatch: pytest.MonkeyPatch, size: Any) -> None:
    person.make = PulledDevice
    monkeypatch.setattr(Weights, "state", lambda *_: "missing")
    monkeypatch.setattr(Answers, "fetch", lambda _: None)

    async def fetching(person: Any) -> None:
        await person.presses("enter")
        person.chat.post_message(messages.Fetching("smollm2-135m: Downloading", 30_000_000, 92_000_000))

    assert looks(size, fetching)


@SIZES
def test_a_conversation(looks: Any, talk: ConversationStore, size: Any) -> None:
    assert looks(size, opened)


@PHONE
def test_what_the_files_do_not_say(looks: Any, store: ConversationStore, record: Any, size: Any) -> None:
    question = "What did my zither cost?"
    facts = record(question, NOT_TOLD, abstained=True, evidence=None, support=None)
    store.write(store.begin(question).id, NOT_TOLD, facts)

    async def shown(person: Any) -> None:
        await person.chat.open_conversation(1)
        await person.until(lambda: person.chat.transcript.views)

    assert looks(size, shown)


@PHONE
def test_the_words_of_the_files(looks: Any, store: ConversationStore, record: Any, size: Any) -> None:
    question = "What was said about the drill?"
    text = (
        "What was said about the drill:\n\n- Runa: Petra, is the blue drill still with you? [1]\n"
        "- The drill lies on the top shelf, behind the ladder. [2]"
    )
    trace = {"ttft_ms": 61.0, "total_ms": 64.0, "steps": [{"name": "quote", "ms": 40.0}], "tokens": 0}
    quoted = {"quoted": True, "model": "", "evidence": None, "support": "word for word", "trace": trace}
    store.write(store.begin(question).id, text, record(question, text, **quoted))

    async def shown(person: Any) -> None:
        await person.chat.open_conversation(1)
        await person.until(lambda: person.chat.transcript.views)

    assert looks(size, shown)


@pytest.mark.long
@PHONE
def test_reading_an_answer_from_before(looks: Any, talk: ConversationStore, size: Any) -> None:
    async def read(person: Any) -> None:
        await opened(person)
        await person.presses("escape", "up", "up")

    assert looks(size, read)


@PHONE
def test_an_answer_being_written(looks: Any, notes: Path, monkeypatch: pytest.MonkeyPatch, size: Any) -> None:
    monkeypatch.setattr(Answers, "ask", lambda *_: None)

    async def writing(person: Any) -> None:
        await person.sends(DRILL)
        await person.until(lambda: person.chat.transcript.views)
        own = {"number": 1, "title": "Tools", "path": "notes/drill.md", "date": "2026-03-14", "side": "device"}
        theirs = {"number": 2, "title": "Drills", "path": "facts/Drills.txt", "date": None, "side": "server"}
        person.chat.post_message(messages.FoundSources(1, [own, theirs]))
        person.chat.post_message(messages.Wrote(1, "**Petra** has borrowed the blue"))
        await person.presses(*"next")

    assert looks(size, writing)


@PHONE
def test_a_server_that_looks_things_up(looks: Any, monkeypatch: pytest.MonkeyPatch, size: Any) -> None:
    monkeypatch.setattr(Answers, "ask", lambda *_: None)

    async def looking(person: Any) -> None:
        await person.sends(DRILL)
        await person.until(lambda: person.chat.transcript.views)
        queries = ["Petra, a neighbour, has borrowed the blue drill and will bring it back on Sunday, with the bits."]
        person.chat.post_message(messages.LookedUp(1, {"pipeline": "hyde", "queries": queries, "passages": [1, 2, 3]}))

    assert looks(size, looking)


@PHONE
def test_a_question_that_failed(looks: Any, monkeypatch: pytest.MonkeyPatch, size: Any) -> None:
    monkeypatch.setattr(Answers, "ask", lambda *_: None)

    async def fails(person: Any) -> None:
        await person.sends(DRILL)
        await person.until(lambda: person.chat.transcript.views)
        reason = "Another process is writing to the store. Try again when it has finished."
        person.chat.post_message(messages.Failed(1, reason, None))

    assert looks(size, fails)


@PHONE
def test_commands_offered(looks: Any, notes: Path, size: Any) -> None:
    async def types(person: Any) -> None:
        await person.presses("slash")

    assert looks(size, types)


@PHONE
def test_a_question_being_edited(looks: Any, talk: ConversationStore, size: Any) -> None:
    async def edits(person: Any) -> None:
        await opened(person)
        await person.presses("escape", "up", "e")

    assert looks(size, edits)


@pytest.mark.long
@SIZES
def test_conversations_searched(looks: Any, talk: ConversationStore, size: Any) -> None:
    async def searches(person: Any) -> None:
        await person.sends("/conversations march")
        await person.until(lambda: "On Tues" in person.sees())

    assert looks(size, searches)


@pytest.mark.long
@SIZES
def test_a_source(looks: Any, notes: Path, talk: ConversationStore, size: Any) -> None:
    async def opens(person: Any) -> None:
        await opened(person)
        await person.presses("escape", "up", "1")
        await person.until(lambda: "Source 1 of 2" in person.sees())

    assert looks(size, opens)


@SIZES
def test_why_an_answer(looks: Any, notes: Path, talk: ConversationStore, size: Any) -> None:
    async def opens(person: Any) -> None:
        await opened(person)
        await person.presses("escape", "up", "w")
        await person.until(lambda: "no saved answer" in person.sees() or size[1] < 24)

    assert looks(size, opens)


@SIZES
def test_help(looks: Any, size: Any) -> None:
    async def opens(person: Any) -> None:
        await person.sends("/help")

    assert looks(size, opens)


@PHONE
def test_the_palette(looks: Any, size: Any) -> None:
    async def opens(person: Any) -> None:
        await person.presses("ctrl+p")
        person.app.screen.query_one(Input).cursor_blink = False
        await person.until(lambda: "New conversation" in person.sees())

    assert looks(size, opens)


@pytest.mark.long
@pytest.mark.parametrize("theme", ["light", "contrast"])
def test_a_conversation_in_other_colours(looks: Any, talk: ConversationStore, theme: str) -> None:
    async def coloured(person: Any) -> None:
        await opened(person)
        person.app.action_theme(theme)

    assert looks((80, 40), coloured)


@pytest.mark.long
@pytest.mark.parametrize("size", [(50, 20), (80, 24)], ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("phase", ["connected", "waiting", "refused"])
def test_a_companion_server(
    looks: Any, talk: ConversationStore, monkeypatch: pytest.MonkeyPatch, phase: Phase, size: Any
) -> None:
    monkeypatch.setattr("device_app.tui.status.monotonic", lambda: 0.0)
    monkeypatch.setattr(Following, "follow", lambda *_: None)

    async def stands(person: Any) -> None:
        await opened(person)
        why = "the server does not know this token; ask for a new one and run: jackdaw connect"
        person.chat.post_message(messages.Linked(Standing(phase, why, 12.0 if phase == "waiting" else None)))

    assert looks(size, stands)


def test_the_smallest_terminal(looks: Any, talk: ConversationStore) -> None:
    assert looks((20, 8), opened)
