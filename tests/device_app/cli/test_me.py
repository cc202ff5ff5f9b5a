"""`jackdaw me`: the user's own names are guessed, confirmed, used and deleted."""

import json
from contextlib import closing
from pathlib import Path

import pytest

from storage.database import Database
from storage.paths import Paths
from tests.device_app.cli.conftest import Jackdaw

CHATS = {
    "Ben.txt": "[12/08/2026, 10:00] Ben: The tea is ready.\n[12/08/2026, 10:01] LiHua: I bring the blue cups.\n",
    "James.txt": "[12/08/2026, 10:00] James: Who has cups?\n[12/08/2026, 10:01] Li Hua: Ben and I have blue ones.\n",
}


@pytest.fixture
def chats(without_weights: None, jackdaw: Jackdaw, tmp_path: Path) -> None:
    folder = tmp_path / "chats"
    folder.mkdir()
    for name, text in CHATS.items():
        (folder / name).write_text(text)
    (folder / "note.md").write_text("# James\n\nJames has no cups.\n")
    assert jackdaw("add", str(folder)).code == 0


def test_nothing_lets_guess_who_i_am(without_weights: None, jackdaw: Jackdaw) -> None:
    done = jackdaw("me")
    assert done.code == 3
    assert "jackdaw me set" in done.out
    assert jackdaw("me", "set").code == 3
    assert jackdaw("me", "forget").code == 3


def test_a_guess_is_confirmed_and_used(chats: None, jackdaw: Jackdaw) -> None:
    known = json.loads(jackdaw("me", "--json").out)
    assert known["confirmed"] is False
    assert set(known["names"]) == {"LiHua", "Li Hua"}
    guessed = jackdaw("search", "from:me", "--json")
    assert len(json.loads(guessed.out)["files"]["results"]) == 2
    assert "you seem to be Li Hua (jackdaw me confirms it)" in json.loads(guessed.out)["notes"]
    assert jackdaw("me", "set").code == 0
    assert "confirms" not in jackdaw("search", "from:me", "--json").out
    assert json.loads(jackdaw("me", "--json").out)["confirmed"] is True
    for search in ("from:me", "who:lihua", 'from:"Li Hua"'):
        results = json.loads(jackdaw("search", search, "--json").out)["files"]["results"]
        assert len(results) == 2, search
    assert jackdaw("me", "forget").code == 0
    assert json.loads(jackdaw("me", "--json").out)["confirmed"] is False


@pytest.mark.parametrize("name", ["me", "", " ", "x" * 300])
def test_what_is_no_name_is_refused_with_the_next_step(name: str, chats: None, jackdaw: Jackdaw) -> None:
    done = jackdaw("me", "set", name)
    assert done.code == 2
    assert "name" in done.err


@pytest.fixture
def note(without_weights: None, jackdaw: Jackdaw, tmp_path: Path) -> None:
    (tmp_path / "note.md").write_text("# Cups\n\nJames has no cups.\n")
    assert jackdaw("add", str(tmp_path / "note.md")).code == 0


def test_from_me_says_so_if_it_is_not_known_who_that_is(note: None, jackdaw: Jackdaw) -> None:
    assert "jackdaw me" in jackdaw("search", "from:me").err


def test_a_question_says_so_too(note: None, jackdaw: Jackdaw) -> None:
    assert "Who you are is not known yet (jackdaw me)." in jackdaw("ask", "from:me who has tea?").err


def test_everybody_is_listed_with_where_each_name_is_from(chats: None, jackdaw: Jackdaw) -> None:
    listed = json.loads(jackdaw("knowledge", "people", "--json").out)["people"]
    assert [person["name"] for person in listed] == ["Li Hua", "Ben", "James"]
    assert listed[0]["names"] == [
        {"written": "Li Hua", "source": "chat", "count": 1},
        {"written": "LiHua", "source": "chat", "count": 1},
    ]
    assert "LiHua · 1 document, chat" in jackdaw("knowledge", "people", "li hua").out
    assert jackdaw("knowledge", "people", "nobody").code == 3


@pytest.mark.parametrize("words", [("li", "hua"), ("Li Hua",), ("who:lihua",)])
def test_a_name_that_is_written_in_one_word_is_searched_in_two(
    words: tuple[str, ...], chats: None, jackdaw: Jackdaw
) -> None:
    done = json.loads(jackdaw("search", *words, "--json").out)
    assert len(done["files"]["results"]) == 2
    assert done["corrections"] == []


def test_who_is_in_no_file_any_more_is_forgotten(chats: None, jackdaw: Jackdaw, tmp_path: Path, paths: Paths) -> None:
    assert jackdaw("knowledge", "remove", str(tmp_path / "chats")).code == 0
    with closing(Database(paths.database)) as database:
        assert database.execute("SELECT * FROM person_names") == []
