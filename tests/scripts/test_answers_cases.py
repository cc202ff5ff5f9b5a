"""The cases of the benchmark of answers: held-out questions, each with and without a passage that answers it."""

from itertools import pairwise
from pathlib import Path

import pytest

from models.fake import FakeEmbedder
from scripts.benchmarks import answers_cases
from scripts.benchmarks.answers_cases import Case, sets
from scripts.datasets import stores
from scripts.datasets.folders import Folder, read
from tests.scripts.datasets import made_data

SHORT = ["xquad", "nq_passages", "lihuaworld"]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_data.folders(tmp_path_factory.mktemp("data"), 40)


@pytest.fixture(scope="module")
def folders(data: Path) -> dict[str, Folder]:
    return read(data)


@pytest.fixture(scope="module")
def cases(data: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Case]]:
    return dict(sets(tmp_path_factory.mktemp("room"), data, FakeEmbedder(), 99))


def test_the_sample_life_and_every_folder_are_asked(cases: dict[str, list[Case]]) -> None:
    assert list(cases) == ["sample_life", *SHORT, "qmsum"]
    assert all(cases[name] for name in ("sample_life", *SHORT))


def test_all_that_is_held_out_is_asked_and_nothing_else(
    folders: dict[str, Folder], cases: dict[str, list[Case]]
) -> None:
    for name, folder in folders.items():
        assert [case.question for case in cases[name]] == [case.question for case in folder.asked if case.held_out]


@pytest.mark.parametrize("name", SHORT)
def test_what_tells_is_found_and_taken_away_with_all_of_its_document(
    folders: dict[str, Folder], cases: dict[str, list[Case]], name: str
) -> None:
    folder = folders[name]
    keys = {question.question: question.keys for question in folder.asked}
    assert any(case.tells(hit.passage) for case in cases[name] for hit in case.hits)
    for case in cases[name]:
        assert case.away
        assert not any(case.tells(hit.passage) for hit in case.away)
        assert not any(folder.keys[hit.passage.document_id - 1] in keys[case.question] for hit in case.away)


def test_what_asks_for_what_was_said_is_quoted_and_nothing_else_is(
    folders: dict[str, Folder], cases: dict[str, list[Case]], tmp_path: Path
) -> None:
    with stores.searched(tmp_path, "qmsum", folders["qmsum"], FakeEmbedder()) as retriever:
        asked = folders["qmsum"].asked[0]
        text, took = answers_cases._quoted(retriever, asked)
    assert text.startswith(f"The {asked.question.removeprefix('What was said about the ').rstrip('?')}:")
    assert took > 0
    assert not any(case.quoted for name in ("sample_life", *SHORT) for case in cases[name])


@pytest.mark.parametrize("most", [1, 7, 8])
def test_fewer_questions_are_of_all_parts_of_a_folder(
    data: Path, cases: dict[str, list[Case]], tmp_path: Path, most: int
) -> None:
    every = [case.question for case in cases["xquad"]]
    some = [case.question for case in dict(sets(tmp_path, data, FakeEmbedder(), most))["xquad"]]
    places = [every.index(question) for question in some]
    assert len(places) == most
    assert places[0] == 0
    stride = len(every) // most
    assert {later - place for place, later in pairwise(places)} <= {stride, stride + 1}
