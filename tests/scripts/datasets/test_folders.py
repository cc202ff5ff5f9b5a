"""Folders of questions: their passages, what is held out of training, and the errors for a damaged folder."""

from itertools import pairwise
from pathlib import Path

import pytest

from scripts.datasets.folders import Asked, Folder, is_held_out, read
from scripts.places import CannotRun
from tests.scripts.datasets import made_data


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Folder]:
    return read(made_data.folders(tmp_path_factory.mktemp("data"), 40))


@pytest.mark.parametrize("name", ["xquad", "nq_passages", "lihuaworld", "qmsum"])
def test_every_question_is_asked_of_documents_that_are_there(folders: dict[str, Folder], name: str) -> None:
    folder = folders[name]
    assert len(set(folder.keys)) == len(folder.keys)
    assert folder.asked
    assert all({*question.keys} <= {*folder.keys} for question in folder.asked if question.answers)
    assert folder.summaries == (name == "qmsum")


def test_answers_are_as_the_folders_have_them(folders: dict[str, Folder]) -> None:
    asked = {question.question: question for folder in folders.values() for question in folder.asked}
    key = frozenset({"nq3"})
    assert asked["who directed film 3"] == Asked("who directed film 3", ("Delta Number3",), key, key)
    assert asked["What is LiHua's amber code 0?"].keys == {"20260101_1100"}
    assert asked["When was the birch tower 1 of town 1 built?"].groups == {"Town 1"}
    meeting = asked["What was said about the birch in meeting 2?"]
    assert (meeting.file, meeting.groups, len(meeting.keys)) == ("M2.json", frozenset({"M2"}), 1)


def test_what_no_document_tells_has_no_answer_and_what_is_not_there_is_not_asked(folders: dict[str, Folder]) -> None:
    asked = {question.question: question for question in folders["lihuaworld"].asked}
    assert asked["What is the name of LiHua's boat?"].answers == ()
    assert "Who left?" not in asked


def test_groups_are_held_out_whole_some_and_not_all(folders: dict[str, Folder]) -> None:
    for name in ("xquad", "nq_passages", "lihuaworld"):
        held_out = {group for question in folders[name].asked if question.held_out for group in question.groups}
        seen = {group for question in folders[name].asked if question.taught for group in question.groups}
        assert not held_out & seen
        assert 0 < len(held_out) < 0.5 * len(seen)


def test_what_is_asked_of_several_is_taught_where_none_and_measured_where_all_are_held_out() -> None:
    names = [f"session {number}" for number in range(60)]
    for groups in map(frozenset, pairwise(names)):
        question, held_out = Asked("Who?", ("I",), frozenset(), groups), {*filter(is_held_out, groups)}
        assert (question.taught, question.held_out) == (not held_out, held_out == groups)


def test_no_folder_is_said_with_what_is_looked_for(tmp_path: Path) -> None:
    with pytest.raises(CannotRun, match=r"none of these folders exists in .*: xquad, nq_passages, lihuaworld, qmsum"):
        read(tmp_path)


@pytest.mark.parametrize("content", [None, "{}", "no json", '{"data": [{"title": "A"}]}', '{"data": 5}'])
def test_a_damaged_folder_is_named(tmp_path: Path, content: str | None) -> None:
    (tmp_path / "xquad").mkdir()
    if content is not None:
        (tmp_path / "xquad" / "xquad.json").write_text(content, encoding="utf-8")
    with pytest.raises(CannotRun, match="xquad cannot be read as evaluation data"):
        read(tmp_path)
