"""Questions for what a dish or a trip needs."""

from pathlib import Path

import pytest

from device_app.english import query
from device_app.english.needed import lists, read
from device_app.everyday.needs import Needs
from device_app.everyday.rule import Asked, Ruled
from device_app.knowledge.ingest import Ingestion
from device_app.knowledge.known_people import known_people
from models.fake import FakeEmbedder
from storage.database import Database
from storage.knowledge import KnowledgeStore
from tests.device_app.everyday.conftest import NOW

LENTILS = [f"{count} g of sort {count}" for count in range(100, 130)]
FILES = {
    "lentil_soup.md": "# Lentil soup\n\nFor four, 45 minutes.\n\n## Ingredients\n\n"
    + "".join(f"- {line}\n" for line in LENTILS)
    + "- salt\n\n## Method\n\n1. Fry the onion in the oil.\n",
    "cookbook.txt": "Cookbook\n\nPancakes\n\nIngredients:\n2 eggs\n300 ml milk\n\n"
    "Mix everything and rest it for an hour.\n\n"
    "Flatbread\n\nYou need:\n500 g flour\nwater\n",
    "cakes.md": "# Cakes\n\nApple cake\nYou need: apples, eggs\n\nApple cake without eggs\nYou need: apples, oil\n",
    "soca.md": "# Soča in May\n\nTo pack: poles, the small stove, rain jackets.\n\nWe leave on Friday.\n",
    "roof.md": "# The roof\n\nNothing is needed for the roof, said the roofer.\n",
}


def ask(folder: Path, question: str) -> Ruled | None:
    for name, text in FILES.items():
        (folder / name).write_text(text)
    store = KnowledgeStore(Database(folder / "jackdaw.db"))
    Ingestion(store, FakeEmbedder()).run([folder / name for name in FILES])
    return Needs(store, known_people(store.database)).answer(Asked(query.parse(question, NOW.date()), NOW))


@pytest.mark.parametrize(
    ("question", "text"),
    [
        (
            "What do I need for the lentil soup?",
            "\n".join(["Lentil soup [1]", *(f"- {line}" for line in LENTILS), "- salt"]),
        ),
        ("what are the ingredients of the pancakes", "cookbook [1]\n- 2 eggs\n- 300 ml milk"),
        ("what goes into the flatbread?", "cookbook [1]\n- 500 g flour\n- water"),
        (
            "what do I need for apple cake?",
            "Cakes · Apple cake [1]\n- apples, eggs\n\nCakes · Apple cake without eggs [2]\n- apples, oil",
        ),
        ("what do we need to pack for Soča?", "Soča in May [1]\n- poles, the small stove, rain jackets."),
    ],
)
def test_the_whole_list_is_shown(tmp_path: Path, question: str, text: str) -> None:
    ruled = ask(tmp_path, question)
    assert ruled
    assert ruled.text == text
    assert [item.as_json()["type"] for item in ruled.items[:1]] == ["needed"]


@pytest.mark.parametrize(
    "question",
    [
        "what do I need for the cookbook?",
        "what do I need for the roof?",
        "what do I need for the waffles?",
        "what do I need?",
    ],
)
def test_without_such_a_list_it_steps_aside(tmp_path: Path, question: str) -> None:
    assert ask(tmp_path, question) is None


def test_lists_end_where_sentences_begin() -> None:
    (needed,) = lists(["Cake", "Ingredients", "2 eggs", "flour", "Whip the eggs until they are stiff.", "sugar"])
    assert (needed.before, needed.lines) == ("Cake", ("2 eggs", "flour"))
    first, second = lists(["Trip", "To bring:", "tent", "tools", "- To buy: bread"])
    assert (first.lines, second.lines) == (("tent", "tools"), ("bread",))
    assert list(lists(["Tools are in the shed", "hammer", "nails"])) == []
    assert list(lists(["Ingredients", "eggs"])) == []


def test_questions() -> None:
    assert read("ingredients for Mormor's almond cake") == "mormor's almond cake"
    assert read("what do I need to do for the tax?") == ""
    assert read("what do I need to know for the exam?") == ""
