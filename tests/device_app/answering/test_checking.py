"""Whether a generated text is shown as the answer: by its probabilities, and by a second generation that checks it."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date
from typing import Any, cast

import pytest

from device_app.answering import conclusion
from device_app.answering.checking import Check, Written
from device_app.cache.states.tree import QKVTree
from device_app.english import query
from device_app.inference.local import LocalSource
from device_app.inference.sureness import Sureness
from device_app.question.answer import Answer
from device_app.question.request import Request
from models.fake import FakeEmbedder
from shared.ending import Piece
from shared.errors import NothingWritten
from shared.prompt import CHATML, NOT_FOUND, Prompt
from shared.trace import Trace
from shared.types import Hit, StoredPassage
from tests.device_app.conftest import options

ROWS = """name: Anna Lindgren; birthday: 1987-05-03
name: Anne Lindgren; birthday: 1985-11-17"""
QUESTION = "When is Anne Lindgren's birthday?"


class Scripted:
    """A fake model whose answer depends on which passage is alone in its prompt."""

    template = CHATML

    class engine:
        class info:
            model = model_hash = adapter = "scripted"

    def __init__(self, **answers: tuple[str, float]) -> None:
        self.answers = answers
        self.read: list[str] = []

    def room(self, prompt: Prompt) -> int:
        return 100

    def stream(self, prompt: Prompt, sampling: Any, *, sureness: Sureness, **_: Any) -> Iterator[Piece]:
        text = prompt.text()
        self.read.append(text)
        reply = next((said for word, said in self.answers.items() if word in text), (NOT_FOUND, 0.0))
        sureness.least = reply[1]
        yield Piece(1, reply[0])


def hit(number: int, text: str) -> Hit:
    return Hit(StoredPassage(number, text, 0, 1, None, number, "notes", "note", None, (), "/notes.md"), 0.9, 0.8)


def look(text: str, hits: Sequence[Hit], **signs: float) -> Written:
    return Written([Piece(1, text)], hits, Sureness(**signs))


def check(source: Scripted, question: str, near: Sequence[Hit], lacks: str = "") -> Check:
    asked = query.parse(question, date(2026, 11, 23))
    return Check(cast(LocalSource, source), cast(QKVTree, None), Trace(), asked, near, lacks=lacks)


def test_the_row_that_was_asked_about_corrects_what_the_passage_suggested() -> None:
    near = [hit(1, ROWS)]
    source = Scripted(Anna=("1987-05-03", -0.1), Anne=("1985-11-17", -0.05))
    surest = check(source, QUESTION, near).surest(look("1987-05-03", near, least=-0.3))
    assert surest.text == "1985-11-17"
    assert len(source.read) == 1  # the second is not needed any more
    assert "Anna" not in source.read[0]


def test_a_look_that_is_less_sure_changes_nothing() -> None:
    near = [hit(1, ROWS)]
    first = look("1985-11-17", near, least=-0.6)
    assert check(Scripted(Anne=("1987-05-03", -0.7)), QUESTION, near).surest(first) is first


def test_what_is_sure_is_not_looked_at_again() -> None:
    source, near = Scripted(Anne=("1987-05-03", 0.0)), [hit(1, ROWS)]
    first = look("1985-11-17", near, least=-0.1)
    assert check(source, QUESTION, near).surest(first) is first
    assert source.read == []


def test_a_look_that_finds_nothing_changes_nothing() -> None:
    near = [hit(1, ROWS)]
    first = look("1985-11-17", near, least=-1.0)
    assert check(Scripted(), QUESTION, near).surest(first) is first


def test_yes_and_no_are_not_looked_at_again() -> None:
    source, near = Scripted(), [hit(1, "The shed is closed.")]
    first = look("No", near, least=-0.9)
    assert check(source, "Is the shed open?", near).surest(first) is first
    assert source.read == []


@pytest.mark.parametrize(
    ("question", "text", "signs", "shown"),
    [
        (QUESTION, "1985-11-17", {"least": -0.2}, True),
        (QUESTION, "1985-11-17", {"least": -1.2}, True),
        (QUESTION, "1985-11-17", {"least": -1.4}, False),
        (QUESTION, "1985-11-17", {"least": -1.2, "abstention": -1.0}, False),
        (QUESTION, "1985-11-17", {"least": -1.2, "abstention": -6.0}, True),
        (QUESTION, "1999-01-01", {"least": -0.1}, False),  # stands nowhere
        ("How tall is Anne?", "1985-11-17", {"least": -0.1}, False),  # a row that says nothing of that
        ("Is Anne born in May?", "No", {"least": -0.1, "yes_margin": -0.5}, True),
        ("Is Anne born in May?", "Yes", {"least": -0.1, "yes_margin": 1.4}, False),
        ("Is Anne born in May?", "Yes", {"least": -0.1, "yes_margin": 1.6}, True),
    ],
)
def test_what_is_shown_as_an_answer(question: str, text: str, signs: dict[str, float], shown: bool) -> None:
    near = [hit(1, ROWS)]
    assert check(Scripted(), question, near).is_sure(look(text, near, **signs)) == shown


def test_yes_and_no_decide_nothing_that_the_files_do_not_speak_of() -> None:
    near = [hit(1, "The cat was at the vet.")]
    unsure = check(Scripted(), "Is its thyroid curable?", near, lacks="your files say nothing of “curable”")
    assert not unsure.is_sure(look("No", near, yes_margin=-2.0))


def conclude(text: str, near: Sequence[Hit], *, checked: bool, question: str = QUESTION, **signs: float) -> Answer:
    source = Scripted()
    made = check(source, question, near)
    written = look(text, near[:1], **signs)
    embedder = FakeEmbedder()
    request = Request(made.asked, made.asked, lambda: embedder.embed([question])[0], options())
    info = cast(LocalSource, source).engine.info
    return conclusion.written(request, written, near, info, embedder, made if checked else None)


@pytest.mark.parametrize("checked", [True, False])
@pytest.mark.parametrize(
    ("text", "lease", "shown"),
    [
        ("No", "Pets: one cat is allowed, and no dogs.", False),
        ("Yes", "Pets: one cat is allowed, and no dogs.", True),
        ("Yes", "A cat is not allowed.", False),
        ("No", "A cat is not allowed.", True),
    ],
)
def test_yes_and_no_do_not_contradict_what_the_passage_allows(
    text: str, lease: str, shown: bool, checked: bool
) -> None:
    answer = conclude(text, [hit(1, lease)], checked=checked, question="Can I have a cat?", yes_margin=3.0)
    assert answer.abstained != shown
    assert answer.guess == ("" if shown else text)


def test_what_is_unsupported_is_a_guess_and_the_nearest_passages_stand_for_an_answer() -> None:
    near = [hit(number, f"{ROWS} {number}") for number in range(1, 5)]
    answer = conclude("1999-01-01", near, checked=True)
    assert answer.abstained
    assert answer.found
    assert answer.guess == "1999-01-01"
    assert "1999" not in answer.text
    assert list(answer.hits) == near[:3]
    assert answer.evidence is None
    facts = answer.as_json()
    assert facts["guess"] == "1999-01-01"
    assert [source["text"] for source in facts["sources"]] == [hit.passage.text for hit in near[:3]]


@pytest.mark.parametrize("checked", [True, False])
def test_an_answer_of_another_kind_than_asked_for_is_a_guess(checked: bool) -> None:
    near = [hit(1, "The cat was at the vet in May.")]
    assert conclude("the vet", near, checked=checked, question="When was the cat at the vet?").guess == "the vet"
    assert conclude("May", near, checked=checked, question="When was the cat at the vet?").text == "May"


def test_a_model_that_was_not_taught_to_abstain_is_judged_by_what_carries_its_answer() -> None:
    near = [hit(1, ROWS)]
    assert conclude("quite unrelated words", near, checked=False).guess == "quite unrelated words"
    assert conclude("1985-11-17", near, checked=False, least=-9.0).text == "1985-11-17"


def test_an_answer_that_is_proven_is_quoted_and_an_abstention_is_no_guess() -> None:
    near = [hit(1, ROWS)]
    answer = conclude("1985-11-17", near, checked=True)
    assert answer.support == "proven"
    assert answer.evidence is not None
    assert answer.evidence.sentence == ROWS.splitlines()[1]
    silent = conclude(NOT_FOUND, near, checked=True)
    assert silent.abstained
    assert silent.guess == ""
    with pytest.raises(NothingWritten):
        conclude("", near, checked=True)


class Leaning(Scripted):
    """A fake model whose preference for "Yes" over "No" (the difference of their logits) depends on the passages in the
    prompt.
    """

    def stream(self, prompt: Prompt, sampling: Any, *, sureness: Sureness, **_: Any) -> Iterator[Piece]:
        sureness.yes_margin = 1.1 if "cures" in prompt.text() else -1.15
        yield Piece(1, "No")


@pytest.mark.parametrize(
    ("fetched", "said", "shown"),
    [("Radioactive iodine cures it.", "Yes", True), ("Towers are tall.", "No", False)],
)
def test_what_a_servers_passages_change_decides_what_the_files_do_not_speak_of(
    fetched: str, said: str, shown: bool
) -> None:
    own, theirs = hit(1, "The cat has an overactive thyroid."), replace(hit(2, fetched), side="server")
    asked = query.parse("Is its thyroid curable?", date(2026, 11, 23))
    made = Check(cast(LocalSource, Leaning()), cast(QKVTree, None), Trace(), asked, [own, theirs], fetched=True)
    look_again = made.surest(look("No", [own, theirs], yes_margin=-0.6))
    assert look_again.text == said
    assert made.is_sure(look_again) == shown
