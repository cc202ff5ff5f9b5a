"""Small talk and questions about Jackdaw itself, which rules answer."""

from pathlib import Path

import pytest

from device_app.english.query import Query
from device_app.everyday.rule import Asked
from device_app.everyday.rules import everyday
from device_app.knowledge.known_people import known_people
from storage.database import Database
from storage.knowledge import KnowledgeStore
from tests.device_app.everyday.conftest import NOW, Ask

TOPICS = {
    "Hi": "greeting",
    "hello jackdaw!": "greeting",
    "hi, how are you?": "how are you",
    "thanks!": "thanks",
    "You are really helpful, thank you so much!!": "thanks",
    "sorry, that was meant for someone else": "apology",
    "good night": "good night",
    "👍": "greeting",
    "?": "help",
    "help": "help",
    "does anything leave my computer": "private",
    "that was wrong": "wrong",
    "Must one be connected to the internet for you to work?": "offline",
    "you are useless": "insult",
    "What can you do?": "what can you do",
    "Who are you, if I may ask?": "who are you",
    "how do i add another folder of notes": "how to add",
    "how many of my files do you know about": "how many files",
    "can you delete or change my files?": "files safe",
    "do you send my files to the cloud": "private",
    "which model do you use": "which model",
    "do you speak german": "languages",
    "Remind me to ring the plumber tomorrow": "cannot",
    "please remind me on Friday at 9 that the boat is due": "cannot",
    "Could you wake me up at six?": "cannot",
    "set a timer for ten minutes": "cannot",
    "Add a meeting with Anna on Monday at 10": "cannot",
    "create a new event called regatta": "cannot",
    "Cancel my appointment with the dentist": "cannot",
    "reschedule the meeting with Tom to Friday": "cannot",
}


@pytest.mark.parametrize("text", TOPICS)
def test_topics(ask: Ask, text: str) -> None:
    ruled = ask(text)
    assert ruled
    assert ruled.understood == f"talk · {TOPICS[text]}"
    assert ruled.sources == ()


@pytest.mark.parametrize(
    "text",
    [
        "Hi, when is the dentist?",
        "Thanks. And who fixed the drill?",
        "do you know my wifi password",
        "can you help me find my keys",
        "can you tell me who fixed the drill",
        "what is this",
        "It is so.",
        "it was",
        "…",
        "help me write a letter to my landlord",
        "remind me what Anna said about the boat",
        "Remind me: who fixed the drill?",
        "remind me about the plumber",
        "Remind me again what the Wi-Fi password is",
        "Remind me on which day the dentist is",
        "Remind me at what time the train leaves",
        "Remind me by when I have to pay the tax",
        "Call me by my name",
        "Add the meeting costs of March together",
        "did Anna cancel the meeting?",
        "add up the meetings of May",
        "create a summary of the meeting",
    ],
)
def test_what_is_no_talk(ask: Ask, text: str) -> None:
    assert ask(text) is None


def test_what_it_suggests_it_can_answer(ask: Ask) -> None:
    ruled = ask("What can you do?")
    assert ruled
    suggested = [line.removeprefix("- ") for line in ruled.text.splitlines() if line.startswith("- ")]
    assert "Which mails did I get from Rick Moen?" in suggested
    assert all(map(ask, suggested))


def test_without_files_it_says_how_to_add_some(tmp_path: Path) -> None:
    database = Database(tmp_path / "jackdaw.db")
    rules = everyday(KnowledgeStore(database), known_people(database))
    ruled = rules.answer(Asked(Query("What can you do?"), NOW))
    assert ruled
    assert "jackdaw add FOLDER" in ruled.text


def test_what_may_leave_is_said_with_the_drafts_of_answers(ask: Ask) -> None:
    ruled = ask("do you send my files to the cloud")
    assert ruled
    assert "drafts" in ruled.text
