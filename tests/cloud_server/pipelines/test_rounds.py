"""Pipelines with several rounds of retrieval (Iterative, Iter-RetGen and Self-RAG), with scripted model texts."""

from dataclasses import replace

import pytest

from cloud_server.pipelines.rounds import MOST_ITERATIONS, iter_retgen, iterative
from cloud_server.pipelines.self_rag import self_rag
from cloud_server.pipelines.steps import Inquiry, LookUp
from tests.feeding import QUESTION, fed, passages, text

PUBLISHED = replace(Inquiry(QUESTION, 3), anchored=False)


def test_iterative_asks_on_until_the_model_judges_that_all_is_answered() -> None:
    said = ["What is a jackdaw?\n", "A bird.", "No", "Where do birds nest?", "In holes.", "Yes."]
    trace = fed(iterative, *said, results={"What is a jackdaw?": passages(1, 2), "Where do birds nest?": passages(2)})
    assert trace.rounds == [LookUp(("What is a jackdaw?",), True), LookUp(("Where do birds nest?",), True)]
    assert trace.ids == [2, 1]
    second = trace.writes[3].prompt.text()
    assert "Earlier question: What is a jackdaw?\nEarlier answer: A bird." in second
    assert [write.searched for write in trace.writes] == [True, False, False] * 2


@pytest.mark.parametrize(
    ("pipeline", "most_writes"), [(iterative, 3 * MOST_ITERATIONS - 2), (iter_retgen, MOST_ITERATIONS - 1)]
)
def test_a_model_that_is_never_content_gets_so_many_rounds(pipeline: object, most_writes: int) -> None:
    trace = fed(pipeline, for_ever=text("and so on", whole=False))  # type: ignore[arg-type]
    assert len(trace.rounds) == MOST_ITERATIONS
    assert len(trace.writes) == most_writes
    assert trace.ids == [1]


def test_iterative_without_a_question_looks_nothing_up() -> None:
    trace = fed(iterative)
    assert (trace.answer, trace.rounds) == (None, [])


def test_iterative_keeps_what_it_has_when_the_model_falls_silent() -> None:
    assert fed(iterative, "What?", "Nothing.", "no", "", results={"What?": passages(5)}).ids == [5]


def test_iter_retgen_looks_up_the_answer_of_the_round_before() -> None:
    results = {QUESTION: passages(1), "In trees.": passages(2), "In holes.": passages(3)}
    trace = fed(iter_retgen, "In trees.\nOr", "In holes.", results=results)
    assert trace.rounds == [LookUp((QUESTION,)), LookUp(("In trees.",), True), LookUp(("In holes.",), True)]
    assert trace.ids == [3]
    assert "Text 2." in trace.writes[1].prompt.text()
    published = fed(iter_retgen, "In trees.", "In holes.", inquiry=PUBLISHED)
    assert published.queries == [QUESTION, f"In trees. {QUESTION}", f"In holes. {QUESTION}"]


@pytest.mark.parametrize("said", ["", "The passages do not say."])
def test_iter_retgen_without_an_answer_keeps_the_question_s_passages(said: str) -> None:
    trace = fed(iter_retgen, said, results={QUESTION: passages(4)})
    assert (trace.ids, len(trace.rounds)) == ([4], 1)


def test_iter_retgen_keeps_its_passages_where_a_round_finds_none() -> None:
    assert fed(iter_retgen, "Nowhere.", results={QUESTION: passages(4), "Nowhere.": ()}).ids == [4]


def test_self_rag_keeps_the_passages_that_support_their_drafts_surest_first() -> None:
    verdicts = [text("Yes", 0.6), text("No", 0.9), text("yes", 0.8)]
    said = ("Yes", "In trees.", verdicts[0], "In the sea.", verdicts[1], "In holes.", verdicts[2])
    trace = fed(self_rag, *said, results={QUESTION: passages(1, 2, 3)})
    assert trace.ids == [3, 1]
    assert trace.queries == [QUESTION]


def test_self_rag_looks_nothing_up_where_the_model_needs_nothing() -> None:
    trace = fed(self_rag, "No.")
    assert (trace.ids, trace.rounds) == ([], [])


@pytest.mark.parametrize("for_ever", ["", "not sure", text("no no no", whole=False)])
def test_self_rag_that_supports_nothing_finds_nothing(for_ever: str) -> None:
    trace = fed(self_rag, "Nobody knows", for_ever=for_ever, results={QUESTION: passages(1, 2, 3, 4, 5)})
    assert trace.answer is None
    assert len(trace.writes) <= 7
