"""Questions with known answers: reading them from a file, measuring the recall of passages, and confidence
intervals.
"""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloud_server.pipelines.measuring import LEVEL, Retrieval, compared
from cloud_server.pipelines.recall import KnownQuestion, interval, read_questions
from shared.errors import NothingFound, UsageError
from shared.protocol import messages as m


def passage(number: int, text: str = "") -> m.PublicPassage:
    return m.PublicPassage(number, f"Title {number}", f"facts.jsonl#{number}", text, 0.5, 0.5)


def test_lines_name_relevant_passages_or_answers(tmp_path: Path) -> None:
    path = tmp_path / "questions.jsonl"
    path.write_text(
        '{"question": "A?", "ids": [7, "x"]}\n\n'
        '{"question": "B?", "answer": "Bergen", "type": "bridge"}\n'
        '{"question": "C?", "answer": ["two", " "], "answers": ["2"]}\n'
    )
    assert read_questions(path) == [
        KnownQuestion("A?", frozenset({"7", "x"})),
        KnownQuestion("B?", answers=("Bergen",)),
        KnownQuestion("C?", answers=("two", "2")),
    ]


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[]",
        '"A?"',
        "{}",
        '{"question": "A?"}',
        '{"question": " ", "answer": "x"}',
        '{"question": "A?", "answer": "?!"}',
        '{"question": "A?", "ids": [1.5]}',
        '{"question": "' + "x" * 9000 + '", "answer": "x"}',
        '{"question": "\xff", "answer": "x"}',
    ],
)
def test_a_line_that_is_no_question_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "questions.jsonl"
    path.write_bytes(b'{"question": "A?", "answer": "x"}\n' + line.encode("latin-1"))
    with pytest.raises(UsageError, match=r"Line 2 of .* A line is"):
        read_questions(path)


def test_a_file_without_questions_is_nothing(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("\n \n")
    with pytest.raises(NothingFound):
        read_questions(tmp_path / "empty.jsonl")
    with pytest.raises(UsageError, match="cannot be read"):
        read_questions(tmp_path / "none.jsonl")


@pytest.mark.parametrize(
    ("known", "numbers", "recall"),
    [
        (KnownQuestion("?", frozenset({"1", "2"})), [1, 3], 0.5),
        (KnownQuestion("?", frozenset({"1", "2"})), [2, 1], 1.0),
        (KnownQuestion("?", frozenset({"facts.jsonl#3"})), [3], 1.0),
        (KnownQuestion("?", frozenset({"1"})), [11], 0.0),
        (KnownQuestion("?", answers=("black sea",)), [1, 2], 1.0),
        (KnownQuestion("?", answers=("sea", "lack")), [2], 0.0),
        (KnownQuestion("?", answers=("title 2",)), [2], 1.0),
        (KnownQuestion("?", answers=("x",)), [], 0.0),
    ],
)
def test_recall_is_the_share_of_what_is_relevant(known: KnownQuestion, numbers: list[int], recall: float) -> None:
    texts = {1: "It ends in the Black Sea.", 2: "Blacker seas."}
    assert known.recall([passage(number, texts.get(number, "")) for number in numbers]) == recall


def test_the_interval_is_that_of_resampled_questions() -> None:
    differences = [1.0] * 12 + [0.0] * 80 + [-1.0] * 4 + [0.5] * 4
    low, high = interval(differences, 0.95)
    drawn = np.random.default_rng(1).choice(differences, (20_000, 100)).mean(axis=1)
    assert (low, high) == pytest.approx(tuple(np.quantile(drawn, [0.025, 0.975])), abs=0.01)


@given(st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0]), min_size=1, max_size=60))
def test_an_interval_holds_the_mean(differences: list[float]) -> None:
    low, high = interval(differences, LEVEL)
    assert low - 1e-9 <= sum(differences) / len(differences) <= high + 1e-9


def test_pipelines_are_compared_with_plain_question_by_question() -> None:
    questions = [KnownQuestion("?", frozenset({str(number)})) for number in range(40)]
    right = [Retrieval((passage(number),), 10) for number in range(40)]
    half = [Retrieval((passage(number if number % 2 else 99),), 0) for number in range(40)]
    plain, hyde, flare = compared(questions, {"plain": half, "hyde": right, "flare": half})
    assert (plain.recall, plain.low, plain.high, plain.enabled) == (0.5, 0.0, 0.0, False)
    assert (hyde.recall, hyde.first, hyde.tokens, hyde.enabled) == (1.0, 1.0, 10.0, True)
    assert 0.2 < hyde.low < 0.5 < hyde.high < 0.8
    assert not flare.enabled
