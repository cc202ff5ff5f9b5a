"""Questions about what was done, said or written on a day."""

import pytest

from tests.device_app.everyday.conftest import Ask

ANSWERS: dict[str, tuple[str, list[str]]] = {
    "What did I do on Saturday?": (
        "what was done · Saturday 14 November 2026",
        ["Bought chestnuts with Anna", "On Saturday the mayor promised a bench."],
    ),
    "what happend on 19 october": ("what was done · Monday 19 October 2026", ["The roof needs forty tiles."]),
    "what did Petra say on 3 October": ("what was said · Saturday 3 October 2026 · from Petra", ["I lent your drill"]),
    "what was said on 9 october": ("what was said · Friday 9 October 2026", ["two tablets", "Orange in the morning"]),
    "what was I up to on 10 November": (
        "what was done · Tuesday 10 November 2026",
        ["I found nothing dated Tuesday 10 November 2026", "The next note is from 14 November 2026."],
    ),
}


@pytest.mark.parametrize("question", ANSWERS)
def test_answers(ask: Ask, question: str) -> None:
    understood, parts = ANSWERS[question]
    ruled = ask(question)
    assert ruled
    assert ruled.understood == understood
    assert [part for part in parts if part not in ruled.text] == []


@pytest.mark.parametrize(
    "question",
    [
        "What is on tomorrow?",
        "What happened in 2025?",
        "Remind me what 12 October holds.",
        "What did Zorblax say on 3 October?",
        "What happened to the bench?",
        "What did Anna say on 14 November?",
        "What did I do between 14 November and my birthday?",
    ],
)
def test_what_it_leaves_to_others(ask: Ask, question: str) -> None:
    assert ask(question) is None


def test_only_the_words_of_who_is_asked_about_are_quoted(ask: Ask) -> None:
    ruled = ask("what did Petra say on 9 October?")
    assert ruled
    assert "two tablets" not in ruled.text
