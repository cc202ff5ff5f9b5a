"""Pipelines with one round of retrieval (plain, HyDE and SubQuestion), with scripted model texts."""

from dataclasses import replace

import pytest

from cloud_server.pipelines.fusion import fused
from cloud_server.pipelines.rewriting import MOST_SUBQUESTIONS, hyde, plain, subquestion
from cloud_server.pipelines.steps import Inquiry, LookUp
from tests.feeding import QUESTION, fed, passage, passages, text

SILENT = ["", " \n ", "...", "The passages do not say."]


def test_plain_looks_up_the_question_and_has_nothing_written() -> None:
    trace = fed(plain, results={QUESTION: passages(4, 2)})
    assert (trace.ids, trace.steps) == ([4, 2], [LookUp((QUESTION,))])
    assert fed(plain, results={QUESTION: ()}).answer is None


@pytest.mark.parametrize("anchored", [True, False])
def test_hyde_looks_up_what_was_made_up(anchored: bool) -> None:
    made_up = "Jackdaws nest in holes of trees."
    trace = fed(
        hyde, f" {made_up}\n", results={made_up: passages(7)}, inquiry=replace(Inquiry(QUESTION, 3), anchored=anchored)
    )
    assert trace.ids == [7]
    assert trace.rounds == [LookUp((made_up,), anchored)]
    assert [write.searched for write in trace.writes] == [True]


@pytest.mark.parametrize("pipeline", [hyde, subquestion])
@pytest.mark.parametrize("said", SILENT)
def test_where_nothing_is_written_nothing_is_looked_up(pipeline: object, said: str) -> None:
    trace = fed(pipeline, said)  # type: ignore[arg-type]
    assert (trace.answer, trace.rounds) == (None, [])


@pytest.mark.parametrize(
    ("said", "whole", "questions"),
    [
        ("1. What is a jackdaw?\n2) Where do birds nest?", True, ["What is a jackdaw?", "Where do birds nest?"]),
        ("- What?\n* Where?\n• When?", True, ["What?", "Where?", "When?"]),
        ("What?\n\nWhat?\n---\nWhere?", True, ["What?", "Where?"]),
        ("What is a jackdaw?\nWhere do bir", False, ["What is a jackdaw?"]),
        ("What is a jack", False, ["What is a jack"]),
        ("1984 was a book. Who wrote it?", True, ["1984 was a book. Who wrote it?"]),
    ],
)
def test_sub_questions_are_the_lines_without_their_numbers(said: str, whole: bool, questions: list[str]) -> None:
    assert fed(subquestion, text(said, whole=whole)).queries == questions


def test_sub_questions_are_looked_up_in_one_round_and_their_rankings_fused() -> None:
    trace = fed(subquestion, "A?\nB?", results={"A?": passages(1, 2), "B?": passages(3, 2)})
    assert trace.rounds == [LookUp(("A?", "B?"), True)]
    assert trace.ids == [2, 1, 3]


@pytest.mark.parametrize("count", [MOST_SUBQUESTIONS + 1, 200])
def test_of_too_many_sub_questions_none_is_looked_up(count: int) -> None:
    trace = fed(subquestion, "\n".join(f"Question {number}?" for number in range(count)))
    assert (trace.answer, trace.rounds) == (None, [])


def test_fusion_keeps_each_passage_once_and_breaks_ties_by_nearness() -> None:
    near, far = passage(1, 0.9), passage(2, 0.2)
    assert [best.id for best in fused([(far,), (near,)], 3)] == [1, 2]
    [kept] = fused([(passage(1, 0.3),), (near,)], 3)
    assert kept.similarity == 0.9
    assert len(fused([passages(*range(9))], 4)) == 4
    assert fused([], 3) == fused([()], 3) == ()
