"""Background work after files have changed: which answers are redone, which dropped, which unanswered questions tried
again.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from device_app.device import Device
from device_app.english.query import Query
from device_app.question.abstention import NOT_TOLD
from device_app.settings import Cache, Settings
from shared.prompt import NOT_FOUND
from storage.qa_entries import Origin
from tests.device_app.cache.conftest import QUESTION, Another, ask, entries, everything, work

pytestmark = pytest.mark.usefixtures("one_question_a_passage")


def test_an_answer_whose_file_changed_is_redone(device: Device, notes: Path) -> None:
    ask(device, QUESTION)
    work(device)
    (notes / "drill.md").write_text("# Things lent\n\nAnton has borrowed the blue drill.\n")
    device.ingestion().run([notes])
    steps = work(device)
    assert [step.subject for step in steps if "changed" in step.why] == [QUESTION]
    answer = ask(device, QUESTION)
    assert (answer.origin, answer.text) == ("qa_bank", "Anton has borrowed the blue drill.")


def test_an_answer_to_what_was_asked_is_redone_also_where_predicted_questions_get_none(
    device: Device, another: Another, notes: Path
) -> None:
    ask(device, QUESTION)
    (notes / "drill.md").write_text("# Things lent\n\nAnton has borrowed the blue drill.\n")
    device.ingestion().run([notes])
    steps = work(another(replace(Settings(), cache=Cache(cutoff=0.5))))
    assert [step.subject for step in steps if step.action == "answer"] == [QUESTION]


def test_what_was_predicted_from_a_file_goes_with_it(device: Device, notes: Path) -> None:
    work(device)
    (notes / "drill.md").unlink()
    device.ingestion().run([notes])
    assert list(entries(device)) == ["When does the dentist see me?"]


def test_an_answer_that_something_newer_bears_on_is_redone(device: Device, notes: Path) -> None:
    ask(device, QUESTION)
    (notes / "later.md").write_text("# Later\n\nWho has borrowed the blue drill now: Anton has it.\n")
    device.ingestion().run([notes])
    assert "refresh" in {step.action for step in work(device)}
    assert ask(device, QUESTION).origin == "qa_bank"
    assert ask(device, QUESTION).hits[0].passage.path.endswith("later.md")


def test_a_question_whose_files_are_gone_is_dropped(device: Device, notes: Path) -> None:
    ask(device, QUESTION)
    for path in notes.iterdir():
        path.unlink()
    device.ingestion().run([notes])
    assert {"skip", "drop"} == {step.action for step in work(device)}
    assert entries(device) == {}
    assert device.qkv_tree.rows.bytes() <= 4096  # the root


@pytest.fixture
def silent(device: Device, notes: Path) -> Device:
    """A device whose newest note does not contain the answer to the question that is predicted from it."""
    (notes / "drill.md").write_text(f"# Things lent\n\nWho has borrowed the blue drill?\n\n{NOT_FOUND}\n")
    device.ingestion().run([notes])
    return device


def test_a_predicted_question_that_its_passage_does_not_answer_is_skipped_once_and_serves_nobody(
    silent: Device,
) -> None:
    steps = {step.subject: step for step in work(silent)}
    assert (steps[QUESTION].action, steps[QUESTION].why) == ("skip", "the passages found do not answer the question")
    assert steps[QUESTION].tokens_decoded > 0
    assert (entries(silent)[QUESTION].answer, entries(silent)[QUESTION].failed) == (None, NOT_TOLD)
    assert everything(silent) == []
    ask(silent, "When does the dentist see me, and who has the drill?")  # what is near it is predicted from again
    assert QUESTION not in {step.subject for step in work(silent)}
    answer = ask(silent, QUESTION)
    assert (answer.origin, answer.abstained) == ("device", True)


@pytest.mark.parametrize("origin", ["asked", "predicted"])
def test_what_waits_and_is_not_answered_by_its_passages_waits_no_longer(silent: Device, origin: Origin) -> None:
    work(silent)
    question = "The blue drill, who has borrowed it?"
    vector = silent.embedder.embed([question])[0]
    silent.qa_bank.wait(Query(question), vector, silent.options().fingerprint, origin)
    assert [(step.action, step.subject) for step in work(silent)] == [("skip", question)]
    assert work(silent) == []


@pytest.mark.parametrize("origin", ["asked", "predicted"])
def test_what_waits_and_will_be_quoted_waits_no_longer(device: Device, origin: Origin) -> None:
    work(device)
    question = "What was said about the blue drill?"
    vector = device.embedder.embed([question])[0]
    device.qa_bank.wait(Query(question), vector, device.options().fingerprint, origin)
    (step,) = work(device)
    assert (step.action, step.subject, step.tokens_prefilled, step.tokens_decoded) == ("skip", question, 0, 0)
    assert work(device) == []
    assert ask(device, question).quoted


def test_once_its_passages_change_a_question_without_an_answer_is_tried_again(silent: Device, notes: Path) -> None:
    ask(silent, QUESTION)
    assert QUESTION not in {step.subject for step in work(silent)}
    (notes / "drill.md").write_text("# Things lent\n\nPetra has borrowed the blue drill.\n")
    silent.ingestion().run([notes])
    assert ("answer", QUESTION) in {(step.action, step.subject) for step in work(silent)}
    assert ask(silent, QUESTION).origin == "qa_bank"


@pytest.mark.parametrize(
    ("text", "done"),
    [
        (
            "# The drill\n\nWho has borrowed the blue drill, the blue drill? Petra has borrowed the blue drill.\n",
            ["answer"],
        ),
        (f"# Lent\n\nThe blue drill has been borrowed.\n\n{NOT_FOUND}\n", ["skip"]),
        ("# The boat\n\nIt was painted green.\n", []),
    ],
)
def test_once_a_new_file_bears_on_it_a_question_without_an_answer_is_tried_again(
    silent: Device, notes: Path, text: str, done: list[str]
) -> None:
    ask(silent, QUESTION)
    work(silent)
    (notes / "new.md").write_text(text)
    silent.ingestion().run([notes])
    assert [step.action for step in work(silent) if step.subject == QUESTION] == done
    assert work(silent) == []
    assert ask(silent, QUESTION).origin == ("qa_bank" if done == ["answer"] else "device")
