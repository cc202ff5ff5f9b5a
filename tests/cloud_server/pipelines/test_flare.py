"""FLARE with scripted model texts: it retrieves for uncertain sentences, and yields its answer sentence by sentence."""

from dataclasses import replace

import pytest

from cloud_server.pipelines.flare import MOST_SENTENCES, flare
from cloud_server.pipelines.steps import Inquiry, LookUp, Say
from tests.feeding import QUESTION, fed, passages, text

FIRST = "They nest in holes."


def test_a_sure_answer_looks_nothing_more_up() -> None:
    trace = fed(flare, f"{FIRST} It", "It is so.", results={QUESTION: passages(1)})
    assert trace.queries == [QUESTION]
    assert trace.said == f"{FIRST}It is so."
    assert trace.answer
    assert (trace.answer.whole, trace.ids) == (True, [1])
    assert [write.accepted for write in trace.writes] == [(), (0, 1, 2, 3)]
    assert all(write.answers and write.probabilities for write in trace.writes)


def test_what_stands_behind_a_tab_is_not_lost() -> None:
    trace = fed(flare, f"{FIRST}\tTrees too.", "Trees too.", results={QUESTION: passages(1)})
    assert "Trees too." in trace.said


@pytest.mark.parametrize(
    ("likely", "query"),
    [
        ({"holes.": 0.7}, FIRST),
        ({"holes.": 0.3}, "They nest in"),
        ({"They": 0.1, "nest": 0.5, "holes.": 0.2}, "nest in"),
        (dict.fromkeys(["They", "nest", "in", "holes."], 0.1), None),
        ({"Trees": 0.01}, None),
    ],
)
def test_an_unsure_sentence_is_looked_up_without_its_unsure_words(likely: dict[str, float], query: str | None) -> None:
    trace = fed(flare, text(f"{FIRST} Trees", likely), "In towers.", results={QUESTION: passages(1)})
    assert trace.queries == [QUESTION, *([query] if query else [])]


def test_a_sentence_is_written_again_from_what_was_found_for_it() -> None:
    results = {QUESTION: passages(1), FIRST: passages(2)}
    trace = fed(flare, text(FIRST, 0.5), "They nest in towers.", results=results)
    assert trace.said == "They nest in towers."
    assert "Text 2." in trace.writes[1].prompt.text()
    assert trace.rounds == [LookUp((QUESTION,)), LookUp((FIRST,), True)]
    assert [[passage.id for passage in step.passages] for step in trace.steps if isinstance(step, Say)] == [[2]]
    assert trace.ids
    assert sorted(trace.ids) == [1, 2]


def test_the_same_passages_again_change_no_sentence() -> None:
    trace = fed(flare, text(FIRST, 0.5), results={QUESTION: passages(1), FIRST: passages(1)})
    assert (trace.said, len(trace.writes)) == (FIRST, 1)


def test_a_model_that_writes_for_ever_is_gone_on_with_as_it_is() -> None:
    trace = fed(flare, for_ever=text("More and more. And", 0.5, whole=True))
    assert len(trace.rounds) == 1 + MOST_SENTENCES
    assert trace.answer
    assert not trace.answer.whole
    assert len(trace.answer.accepted) == MOST_SENTENCES * 3


def test_a_model_that_writes_nothing_says_nothing() -> None:
    trace = fed(flare, results={QUESTION: passages(3)})
    assert (trace.said, trace.ids, len(trace.writes)) == ("", [3], 1)
    assert fed(flare, results={QUESTION: ()}).answer is None


def test_an_answer_is_no_longer_than_the_device_wants() -> None:
    trace = fed(flare, for_ever=text("More and more. And"), inquiry=replace(Inquiry(QUESTION, 3), max_tokens=5))
    assert [write.most for write in trace.writes] == [5, 2]
    assert trace.answer
    assert trace.answer.whole
