"""The benchmark of answers, with a fake engine that repeats the first passage's last line."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from device_app.inference.local import LocalSource
from device_app.settings import Answer
from models.fake import FakeEngine
from scripts.answerer.lessons import passage
from scripts.benchmarks import answers
from scripts.benchmarks.answers import MODES, measured
from scripts.benchmarks.answers_cases import Case
from scripts.benchmarks.answers_skills import CHATS, WINDOW, perplexity, skills
from shared.prompt import CHATML, NOT_FOUND
from shared.types import Hit

SCORE = Answer().relevance + 0.1
SAYS_NOTHING = f"The shed.\n{NOT_FOUND}"


def hit(text: str, number: int, score: float = SCORE) -> Hit:
    return Hit(passage(text, "A note", number=number), score, 0.9)


def case(*texts: str, answers: tuple[str, ...] = ("in the shed",), tells: str = "shed", summary: bool = False) -> Case:
    hits = [hit(text, number) for number, text in enumerate(texts)]
    away = [] if summary else [hit for hit in hits if tells not in hit.passage.text]
    return Case("Where is the drill?", answers, hits, away, lambda passage: tells in passage.text, summary)


def figures(*cases: Case) -> dict[str, dict[str, dict[str, object]]]:
    source = LocalSource(FakeEngine(), CHATML)
    return measured("made", cases, {"base": source, "adapter": source}, "best")


def test_every_model_has_every_mode_and_every_figure() -> None:
    figures_ = figures(case("It is in the shed.", NOT_FOUND, "Nothing here."))
    assert set(figures_) == {"base", "adapter"}
    for modes in figures_.values():
        assert set(modes) == set(MODES)
        for mode in modes.values():
            assert set(mode) == {"asked", "f1", "contains", "rouge_l", "tokens", "ms", "abstain"}


def test_an_answer_is_compared_with_the_reference() -> None:
    best = figures(case("It is in the shed."))["base"]["best"]
    assert best["contains"] == 1
    assert best["f1"] == pytest.approx(2 * 2 / (4 + 2), abs=1e-4)  # "the" counts for nothing
    assert best["tokens"] == len("It is in the shed.")  # its tokens are bytes


def test_saying_nothing_is_right_without_what_tells_and_false_with_it() -> None:
    right = figures(case("It is in the shed.", NOT_FOUND))["base"]["best"]
    wrong = figures(case("It is in the shed.", "Nothing here."))["base"]["best"]
    false = figures(case(SAYS_NOTHING, NOT_FOUND))["base"]["best"]
    assert right["abstain"] == {"right": 1, "false": 0}
    assert wrong["abstain"] == {"right": 0, "false": 0}
    assert false["abstain"] == {"right": 1, "false": 1}


def test_where_the_best_passage_does_not_tell_the_next_is_read_alone() -> None:
    figures_ = figures(case(SAYS_NOTHING, "It is in the shed.", "Or in the cellar."))["base"]["best"]
    assert (figures_["contains"], figures_["abstain"]) == (1, {"right": 0, "false": 0})
    both = figures(case(SAYS_NOTHING, NOT_FOUND, "It is in the shed."))["base"]["best"]
    assert (both["contains"], both["abstain"]) == (0, {"right": 1, "false": 1})


def test_what_nothing_tells_is_no_question_that_has_an_answer() -> None:
    figures_ = figures(case("It is in the shed."), case(NOT_FOUND, answers=(), tells="never"))["base"]["best"]
    assert figures_["f1"] == figures(case("It is in the shed."))["base"]["best"]["f1"]
    assert figures_["abstain"] == {"right": 1, "false": 0}


def test_summaries_are_never_abstained_from() -> None:
    assert figures(case("It is in the shed.", NOT_FOUND, summary=True))["base"]["best"]["abstain"] == {}


def test_where_passages_are_quoted_that_is_compared_in_a_mode_of_its_own() -> None:
    quoted = replace(case("It is in the shed."), quoted="In the cellar [1]", quoting_ms=7.0)
    figures_ = figures(case("It is in the shed."), quoted)["adapter"]
    assert (figures_["best"]["contains"], figures_["quoted"]["contains"]) == (1, 0.5)
    assert figures_["quoted"]["tokens"] == (len("It is in the shed.") + len("In the cellar [1]")) / 2
    assert "quoted" not in figures(case("It is in the shed."))["adapter"]


def test_where_no_passage_is_relevant_nothing_is_asked_of_the_model() -> None:
    weak = Case("Where?", ("shed",), [hit("It is in the shed.", 0, 0.0)], [], lambda passage: True)
    best = figures(weak)["base"]["best"]
    assert (best["contains"], best["tokens"], best["abstain"]) == (0, 0, {"false": 1})


def test_one_question_of_four_is_asked_in_the_other_modes_too(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, int, bool]] = []
    monkeypatch.setattr(
        answers,
        "_ask",
        lambda arm, source, case, count, rows: asked.append((case.question, count, rows)),
    )
    cases = [replace(case("It is in the shed."), question=str(number)) for number in range(5)]
    measured("made", cases, {"base": LocalSource(FakeEngine(), CHATML)}, "best")
    assert [question for question in asked if question[1] == 1] == [(str(number), 1, False) for number in range(5)]
    assert [question for question in asked if question[1] != 1] == [
        (question, 3, rows) for question in "04" for rows in (False, True)
    ]


def test_perplexity_is_that_of_the_engines_own_probabilities(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text(" Title\n \n" + "All the same. \n" * 40, encoding="utf-8")
    engine = FakeEngine()
    piece = engine.tokenize("Title\n" + "All the same.\n" * 40)[:WINDOW]
    losses = []
    for place in range(WINDOW // 2, WINDOW):
        engine.clear(0)
        logits = engine.prefill(0, piece[:place]).astype(np.float64)
        losses.append(np.log(np.exp(logits - logits.max()).sum()) + logits.max() - logits[piece[place]])
    engine.clear(0)
    assert perplexity(engine, text, 1) == pytest.approx(np.exp(np.mean(losses)), rel=1e-5)
    assert engine.length(0) == 0


def test_each_model_chats_and_tells_how_a_text_goes_on(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("All the same. " * 400, encoding="utf-8")
    source = LocalSource(FakeEngine(), CHATML)
    by_model = skills({"base": source}, tmp_path / "text.txt", True)["base"]
    assert [hit["asked"] for hit in by_model["chats"]] == list(CHATS)
    assert by_model["perplexity"] > 1
    assert "perplexity" not in skills({"base": source}, None, True)["base"]
