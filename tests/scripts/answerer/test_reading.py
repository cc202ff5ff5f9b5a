"""Training examples from folders of questions: none is held out, passages contain the answers, and abstentions are
right.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from models.fake import FakeEmbedder
from scripts.answerer import reading
from scripts.answerer.lessons import Lesson
from scripts.datasets.answering import tells
from scripts.datasets.folders import Folder, read
from scripts.datasets.stores import searched
from shared.prompt import NOT_FOUND
from tests.scripts.datasets import made_data


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Folder]:
    return read(made_data.folders(tmp_path_factory.mktemp("data"), 40))


@pytest.fixture(scope="module")
def lessons(folders: dict[str, Folder], tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Lesson]]:
    room = tmp_path_factory.mktemp("room")
    return {name: list(_lessons(name, folder, room)) for name, folder in folders.items()}


def _lessons(name: str, folder: Folder, room: Path) -> Iterator[Lesson]:
    with searched(room, name, folder, FakeEmbedder()) as retriever:
        yield from reading.lessons(name, folder, retriever, lambda done, total: None)


NAMES = ["xquad", "nq_passages", "lihuaworld", "qmsum"]
SHORT = NAMES[:3]


@pytest.mark.parametrize("name", NAMES)
def test_no_question_that_is_held_out_is_taught(
    folders: dict[str, Folder], lessons: dict[str, list[Lesson]], name: str
) -> None:
    taught = {pair.question for lesson in lessons[name] for pair in lesson.pairs} | {
        q for lesson in lessons[name] for q in lesson.asked
    }
    assert taught
    assert not taught & {question.question for question in folders[name].asked if not question.taught}
    assert taught <= {question.question for question in folders[name].asked}


@pytest.mark.parametrize("name", SHORT)
def test_an_answer_stands_in_one_of_its_passages(lessons: dict[str, list[Lesson]], name: str) -> None:
    answered = [(lesson, pair) for lesson in lessons[name] for pair in lesson.pairs if not pair.abstains]
    assert answered
    assert all(any(pair.answer in passage.text for passage in lesson.passages) for lesson, pair in answered)


@pytest.mark.parametrize("name", SHORT)
def test_where_it_is_taught_to_abstain_no_passage_holds_the_answer(
    folders: dict[str, Folder], lessons: dict[str, list[Lesson]], name: str
) -> None:
    asked = {question.question: question for question in folders[name].asked}
    abstained = [(lesson, pair) for lesson in lessons[name] for pair in lesson.pairs if pair.abstains]
    assert abstained
    for lesson, pair in abstained:
        assert not any(tells(passage, asked[pair.question]) for passage in lesson.passages)


@pytest.mark.parametrize("name", NAMES)
def test_passages_come_alone_and_three_in_one_prompt(lessons: dict[str, list[Lesson]], name: str) -> None:
    assert {len(lesson.passages) for lesson in lessons[name]} == {1, 3}
    assert all(lesson.source == name for lesson in lessons[name])


def test_questions_are_asked_of_the_only_passage_which_answers_them(lessons: dict[str, list[Lesson]]) -> None:
    for name in SHORT:
        assert any(lesson.asked for lesson in lessons[name])
        for lesson in lessons[name]:
            assert len(lesson.passages) == 1 or not lesson.asked
            assert {*lesson.asked} <= {pair.question for pair in lesson.pairs if not pair.abstains}


def test_meetings_stay_in_their_file_are_always_answered_and_briefly(lessons: dict[str, list[Lesson]]) -> None:
    for lesson in lessons["qmsum"]:
        assert len({passage.path for passage in lesson.passages}) == 1
        for pair in lesson.pairs:
            assert pair.answer != NOT_FOUND
            assert pair.answer.endswith("They agreed.")
            assert f"meeting {lesson.passages[0].path[-6]}" in pair.question
        assert not lesson.asked


def test_what_nothing_tells_is_asked_only_to_abstain(lessons: dict[str, list[Lesson]]) -> None:
    pairs = [pair for lesson in lessons["lihuaworld"] for pair in lesson.pairs]
    assert {pair.answer for pair in pairs if "boat" in pair.question} <= {NOT_FOUND}
    assert not any(pair.question == "When was it said?" for pair in pairs)


def test_the_same_folder_gives_the_same_lessons_from_the_store_that_is_there(
    folders: dict[str, Folder], lessons: dict[str, list[Lesson]], tmp_path: Path
) -> None:
    for _ in range(2):
        assert list(_lessons("xquad", folders["xquad"], tmp_path)) == lessons["xquad"]
    assert len(list(tmp_path.glob("*.db"))) == 1


def test_other_documents_get_a_store_of_their_own(folders: dict[str, Folder], tmp_path: Path) -> None:
    list(_lessons("xquad", folders["xquad"], tmp_path))
    fewer = Folder({"xquad.json": folders["xquad"].files["xquad.json"][:30]}, folders["xquad"].asked[:30])
    shown = [passage.text for lesson in _lessons("xquad", fewer, tmp_path) for passage in lesson.passages]
    assert {*shown} <= {document.blocks[0].text for document in fewer.files["xquad.json"]}


def test_progress_is_told_from_none_to_all(folders: dict[str, Folder], tmp_path: Path) -> None:
    progress: list[tuple[int, int]] = []
    with searched(tmp_path, "qmsum", folders["qmsum"], FakeEmbedder()) as retriever:
        reading.lessons("qmsum", folders["qmsum"], retriever, lambda done, total: progress.append((done, total)))
    asked = sum(question.taught for question in folders["qmsum"].asked)
    assert progress == [(done, asked) for done in range(asked + 1)]
