"""Questions for what is still to do."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from device_app.english import query
from device_app.english.todos import Todo, TodoQuestion, items, read
from device_app.everyday.rule import Asked, Ruled
from device_app.everyday.rules import everyday
from device_app.knowledge.ingest import Ingestion
from device_app.knowledge.known_people import known_people
from models.fake import FakeEmbedder
from storage.database import Database
from storage.knowledge import KnowledgeStore
from tests.device_app.everyday.conftest import NOW

FILES = {
    "house.md": "# House\n\n- [ ] Order the tiles\n- [x] Pay the electrician\n\nTODO: ask Anna about the bees\n",
    "2026-11-01_garden.md": "# Garden\n\n* [ ] Plant garlic\n* [X] Rake the leaves\n",
    "tax.org": "#+TITLE: Tax\n* TODO Send the form\n* DONE Buy stamps\n",
    "plain.txt": "Nothing to do here but the todo of others.\n\n[1] is a footnote.\n",
    "tasks.ics": "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\n"
    "BEGIN:VTODO\r\nUID:1\r\nSUMMARY:Call the vet\r\nDUE:20261203T090000\r\nEND:VTODO\r\n"
    "BEGIN:VTODO\r\nUID:2\r\nSUMMARY:Buy hay\r\nSTATUS:COMPLETED\r\nEND:VTODO\r\nEND:VCALENDAR\r\n",
}
CHANGED = {"house.md": 1_790_000_000, "tax.org": 1_700_000_000}
"""When the files without a date were last changed, in seconds since 1970: in September 2026 and in November 2023."""


def ask(folder: Path, question: str, before: str = "", more: Sequence[str] = ()) -> Ruled | None:
    for name, text in FILES.items():
        (folder / name).write_text(text)
        os.utime(folder / name, (CHANGED.get(name, 1_790_000_000),) * 2)
    store = KnowledgeStore(Database(folder / "jackdaw.db"))
    Ingestion(store, FakeEmbedder()).run([folder / name for name in (*FILES, *more)])
    rules = everyday(store, known_people(store.database))
    return rules.answer(Asked(query.parse(question, NOW.date()), NOW, before=before))


@pytest.mark.parametrize(
    "question", ["open todos", "what is still to do?", "What's on my to-do list?", "show me all open tasks", "todos"]
)
def test_open_items_are_listed_from_all_files_the_newest_first(tmp_path: Path, question: str) -> None:
    ruled = ask(tmp_path, question)
    assert ruled
    assert ruled.text == (
        "5 open items:\n\n"
        "3 December 2026 · Call the vet [1]\n- Call the vet (due: Thursday, 3 December 2026, 09:00)\n\n"
        "1 November 2026 · Garden [2]\n- Plant garlic\n\n"
        "House [3]\n- Order the tiles\n- ask Anna about the bees\n\nTax [4]\n- Send the form\n\n4 finished items."
    )
    assert [source.title for source in ruled.sources] == ["Call the vet", "Garden", "House", "Tax"]
    assert {item.as_json()["done"] for item in ruled.items} == {False}


def test_of_a_topic_and_of_what_is_done(tmp_path: Path) -> None:
    garden = ask(tmp_path, "what is left to do in the garden?")
    assert garden
    assert garden.text.startswith("1 open item about “garden”:\n\n1 November 2026 · Garden [1]\n- Plant garlic")
    done = ask(tmp_path, "which tasks are done?")
    assert done
    assert "- Rake the leaves" in done.text
    assert "- Buy hay" in done.text
    assert "Plant garlic" not in done.text


@pytest.mark.parametrize(
    "question",
    [
        "what do I have to do to renew my passport?",
        "tasks of the project manager",
        "list of items",
        "things to do in Bergen",
        "what is to be done about the rent?",
        "who has to do the dishes?",
        "why are there open todos?",
    ],
)
def test_other_questions_are_left(tmp_path: Path, question: str) -> None:
    assert ask(tmp_path, question) is None


def test_items_about_a_topic_are_no_event_with_this_name(tmp_path: Path) -> None:
    event = "BEGIN:VEVENT\r\nUID:3\r\nSUMMARY:Garden party\r\nDTSTART:20261205T150000\r\nEND:VEVENT\r\n"
    (tmp_path / "party.ics").write_text(f"BEGIN:VCALENDAR\r\n{event}END:VCALENDAR\r\n")
    ruled = ask(tmp_path, "open todos about the garden", more=["party.ics"])
    assert ruled
    assert ruled.text.startswith("1 open item about “garden”:")


def test_a_follow_up_is_about_what_came_before(tmp_path: Path) -> None:
    assert ask(tmp_path, "what is still to do?", before="What about the boathouse?") is None


def test_items_of_lists() -> None:
    given_up = "- [-] z\n"
    text = (
        f"[ ] a\n- [x] b\n☐ c\n✅ d\n1. [ ] e\n{given_up}To do: f\nTODO g\nDONE h\n[1] note\ntodo list\nPlan. TODO: i"
    )
    assert [*items(text)] == [
        *(Todo("a", is_done=False), Todo("b", is_done=True), Todo("c", is_done=False), Todo("d", is_done=True)),
        *(Todo("e", is_done=False), Todo("f", is_done=False), Todo("g", is_done=False), Todo("h", is_done=True)),
        Todo("i", is_done=False),
    ]


def test_questions() -> None:
    assert read("open todos for the boat") == TodoQuestion("boat")
    assert read("finished garden tasks") == TodoQuestion("garden", done=True)
    assert read("what did we finish?") is None
