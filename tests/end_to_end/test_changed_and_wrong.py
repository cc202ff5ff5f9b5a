"""Files that change or go after they were read, and answers that were marked wrong: real processes, real models."""

import shutil
from pathlib import Path

import pytest

from device_app.cache.answers.wrong import MARKED
from tests.jackdaw_process import Home, home

pytestmark = pytest.mark.weights

DENTIST = "When is the dentist?"


@pytest.fixture
def person(tmp_path: Path, weights: Path) -> Home:
    """A user's data folder with two notes that were read."""
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "dentist.md").write_text("# Dentist\n\nThe dentist is on Tuesday 14 March at nine.\n")
    (notes / "wifi.md").write_text("# Wifi\n\nThe password of the wifi is tulip-42.\n")
    person = home(tmp_path / "home", weights)
    assert person.json("add", str(notes))["documents"] == 2
    return person


@pytest.mark.long
def test_a_changed_file_is_answered_from_as_it_is_now(person: Home, tmp_path: Path) -> None:
    first = person.json("ask", DENTIST)
    assert "Tuesday" in first["answer"]
    assert person.json("ask", DENTIST)["origin"] == "qa_bank"
    (tmp_path / "notes" / "dentist.md").write_text("# Dentist\n\nThe dentist is on Friday 17 April at four.\n")
    changed = person.json("ask", DENTIST)
    assert "Friday" in changed["answer"]
    assert (changed["origin"], changed["stale"]) == ("device", [])
    (tmp_path / "notes" / "dentist.md").write_text("# Dentist\n\nThe dentist is on Monday 4 May at eight.\n")
    assert "Monday" in person.json("ask", "--fresh", DENTIST)["answer"]


@pytest.mark.long
def test_a_deleted_file_is_not_answered_from_and_named(person: Home, tmp_path: Path) -> None:
    person.json("ask", DENTIST)
    file = tmp_path / "notes" / "dentist.md"
    file.unlink()
    for flags in ((), ("--fresh",)):
        done = person.run("ask", *flags, DENTIST)
        assert "Tuesday" not in done.stdout
        assert f"{file} is gone" in done.stderr
    # Nothing is forgotten by a question, though the whole folder is gone: it may come back.
    shutil.rmtree(tmp_path / "notes")
    person.run("ask", "What is the password of the wifi?")
    assert person.json("knowledge", "list")["files"]


@pytest.mark.long
def test_a_wrong_answer_is_neither_given_nor_written_ahead_again(person: Home) -> None:
    wrong = person.json("ask", DENTIST)["answer"]
    assert person.json("wrong")["dropped"] == 1
    for flags in ((), ("--fresh",), ("--temperature", "0", "--max-tokens", "30")):
        answer = person.json("ask", *flags, DENTIST, code=3)
        assert (answer["answer"], answer["marked_wrong"]) == (MARKED, True)
        assert "dentist.md" in answer["sources"][0]["path"]
    person.json("cache", "clear", "--qa")
    person.run("daemon", "run-once", "--minutes", "1")
    listed = person.run("cache", "list", "--json").stdout
    assert f'"question": "{DENTIST}", "answer": "{wrong}"' not in listed
    assert person.json("ask", DENTIST, code=3)["marked_wrong"]
    person.json("wrong", "--undo")
    assert person.json("ask", DENTIST)["answer"] == wrong


@pytest.mark.long
@pytest.mark.parametrize("after_s", [0.3, 0.6])
def test_killed_while_it_reads_again_it_reads_again_the_next_time(person: Home, tmp_path: Path, after_s: float) -> None:
    person.json("ask", DENTIST)
    (tmp_path / "notes" / "dentist.md").write_text("# Dentist\n\nThe dentist is on Friday 17 April at four.\n")
    person.kill(after_s, "ask", DENTIST)
    assert "Friday" in person.json("ask", DENTIST)["answer"]
