"""Questions for who has a thing that was lent."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from device_app.english import query
from device_app.english.holding import Held, HoldingQuestion, held, read
from device_app.everyday.holders import Holders
from device_app.everyday.rule import Asked, Ruled
from device_app.knowledge.ingest import Ingestion
from device_app.knowledge.known_people import known_people
from models.fake import FakeEmbedder
from storage.database import Database
from storage.knowledge import KnowledgeStore
from tests.device_app.everyday.conftest import NOW

MESSAGES = (
    ("2026-10-03T10:00:00", "Ben", "Tilly, I have your paddle. It is in the canoe."),
    ("2026-10-03T10:01:00", "Tilly", "Great!"),
    ("2026-10-04T10:00:00", "Tilly", "I lent the green tent to Omar Haddad last week"),
    ("2026-10-05T10:00:00", "Tilly", "Ben borrowed my road atlas"),
    ("2026-10-06T10:00:00", "Ben", "I don't have your helmet"),
    ("2026-10-07T10:00:00", "Ben", "Do you have my stove?"),
    ("2026-10-08T10:00:00", "Tilly", "I have your stove in the cellar"),
    ("2026-10-09T10:00:00", "Ben", "If I have the time I will get the rope"),
    ("2026-10-10T10:00:00", "Ben", "I've got your car keys"),
    ("2026-10-11T10:00:00", "Ben", "I still have the lamp"),
    ("2026-10-12T10:00:00", "Tilly", "The lamp is with Ines now"),
    ("2026-10-13T10:00:00", "Ben", "I have your pump"),
    ("2026-10-14T10:00:00", "Ben", "The pump is back in your shed"),
    ("2026-10-15T10:00:00", "Ben", "I have your skates"),
    ("2026-10-15T10:01:00", "Ben", "Sorry, I gave them to Ines"),
)

Ask = Callable[[str], Ruled | None]


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Ask:
    """Return the rule's answer from the messages above."""
    folder = tmp_path_factory.mktemp("chat")
    said = [{"date": date, "from": speaker, "text": text} for date, speaker, text in MESSAGES]
    (folder / "chat.json").write_text(json.dumps({"title": "Tilly and Ben", "messages": said}))
    database = Database(Path(tmp_path_factory.mktemp("store")) / "jackdaw.db")
    Ingestion(KnowledgeStore(database), FakeEmbedder()).run([folder])
    rule = Holders(KnowledgeStore(database), known_people(database))
    return lambda question: rule.answer(Asked(query.parse(question, NOW.date()), NOW))


@pytest.mark.parametrize(
    ("question", "start"),
    [
        ("Who has the canoe paddle?", "Ben, 3 October 2026: [1]\n> Ben: Tilly, I have your paddle."),
        ("who has got Tilly's paddle now", "Ben, 3 October 2026: [1]\n> Ben: Tilly, I have your paddle."),
        ("Who has the green tent?", "Omar Haddad, 4 October 2026: [1]\n> Tilly: I lent the green tent"),
        ("who did I lend the tent to?", "Omar Haddad, 4 October 2026: [1]\n"),
        ("who borrowed the road atlas", "Ben, 5 October 2026: [1]\n> Tilly: Ben borrowed my road atlas"),
        ("who has Ben's stove", "Tilly, 8 October 2026: [1]\n> Tilly: I have your stove"),
        ("who has the car keys?", "Ben, 10 October 2026: [1]\n> Ben: I've got your car keys"),
        (
            "who has the lamp",
            "Ines, 12 October 2026: [1]\n> Tilly: The lamp is with Ines now\n\nBefore: Ben, 11 October",
        ),
    ],
)
def test_whoever_says_so_has_it(ask: Ask, question: str, start: str) -> None:
    ruled = ask(question)
    assert ruled
    assert ruled.text.startswith(start)
    assert [item.as_json()["type"] for item in ruled.items[:1]] == ["message"]


@pytest.mark.parametrize(
    "question",
    [
        "who has Ben's paddle?",  # Tilly's
        "who has the helmet?",  # denied
        "who has the rope?",  # to come
        "who has the car?",  # the keys are no car
        "who has the pump?",  # came back
        "who has the skates?",  # passed on, told without their name
        "who has the time?",
        "who has the best tent?",
        "who has a tent?",
        "who has the tent's pegs?",
        "who has been in the tent?",
        "who has the red tent?",
    ],
)
def test_steps_aside(ask: Ask, question: str) -> None:
    assert ask(question) is None


def test_a_note_without_a_day_is_left_to_the_model(tmp_path: Path) -> None:
    (tmp_path / "lent.md").write_text("# Lent\n\nPetra has borrowed the blue drill.\n")
    database = Database(tmp_path / "jackdaw.db")
    Ingestion(KnowledgeStore(database), FakeEmbedder()).run([tmp_path / "lent.md"])
    rule = Holders(KnowledgeStore(database), known_people(database))
    assert rule.answer(Asked(query.parse("Who has borrowed the blue drill?", NOW.date()), NOW)) is None


def test_a_question_names_a_thing_and_its_owner() -> None:
    assert read("Who has my blue drill at the moment?") == HoldingQuestion("blue drill", "me")
    assert read("who still has Tilly's drill?") == HoldingQuestion("drill", "tilly")
    assert read("who has time") is None


def test_a_sentence_says_who_has_what() -> None:
    assert [*held("Hi Tom, I have your blue drill here until May.")] == []
    assert [*held("Hi Tom, I have your blue drill here.")] == [Held("blue drill", "", "your", "Tom")]
    assert [*held("Wim de Raad took the drill.")] == [Held("drill", "Wim de Raad", "the")]
