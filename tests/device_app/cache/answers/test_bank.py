"""The cache of answers (the QA bank): which questions get a cached answer, which do not, and what is recorded then."""

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from device_app.cache.answers.bank import CANDIDATES, asked
from device_app.device import Device
from device_app.english.query import parse
from device_app.question.answer import Answer, Found
from device_app.settings import Answer as Answering
from device_app.settings import Settings
from storage.qa_entries import Entry
from tests.device_app.cache.conftest import Another

QUESTION = "Who has borrowed the blue drill?"


def answered(device: Device, question: str, *, fresh: bool = False, conversation: int | None = None) -> Answer:
    *_, last = device.assistant.ask(question, device.options(fresh=fresh), conversation)
    assert isinstance(last, Answer)
    return last


def entries(device: Device) -> dict[str, Entry]:
    return {entry.question: entry for entry in device.qa_bank.entries.all()}


def test_the_same_question_is_answered_from_the_bank(device: Device) -> None:
    first = answered(device, QUESTION)
    again = answered(device, QUESTION)
    assert (first.origin, again.origin) == ("device", "qa_bank")
    assert (again.text, again.evidence) == (first.text, first.evidence)
    assert [hit.passage for hit in again.hits] == [hit.passage for hit in first.hits]
    qa = again.as_json()["cache"]["qa"]
    assert (qa["hit"], qa["matched"], round(qa["similarity"], 3)) == (True, QUESTION, 1.0)
    assert again.trace.tokens_prefilled == 0
    assert device.counters.all()["qa_hits"] == 1
    assert entries(device)[QUESTION].uses == 1


def test_the_same_question_under_many_settings_does_not_hide_its_answer_under_these(
    device: Device, another: Another
) -> None:
    for words in range(CANDIDATES):
        answered(another(replace(Settings(), answer=Answering(max_tokens=32 + words))), QUESTION)
    answered(device, QUESTION)
    assert answered(device, QUESTION).origin == "qa_bank"


def test_a_hit_is_part_of_the_history(device: Device) -> None:
    answered(device, QUESTION)
    again = answered(device, QUESTION)
    (turn,) = device.conversations.turns(again.conversation_id)
    assert (turn.answer, turn.complete, turn.record["origin"]) == (again.text, True, "qa_bank")


def test_fresh_answers_anew(device: Device) -> None:
    answered(device, QUESTION)
    assert answered(device, QUESTION, fresh=True).origin == "device"


def test_a_follow_up_is_never_served_an_answer_to_a_question_by_itself(device: Device) -> None:
    follow_up = "And who has the drill?"
    first = answered(device, follow_up)
    assert answered(device, follow_up, conversation=first.conversation_id).origin == "device"
    assert answered(device, follow_up).origin == "qa_bank"


@pytest.mark.parametrize("question", ["in:notes " + QUESTION, "in:drill.md " + QUESTION])
def test_other_filters_make_another_question(device: Device, question: str) -> None:
    answered(device, QUESTION)
    assert answered(device, question).origin == "device"
    assert answered(device, question).origin == "qa_bank"


def test_the_question_of_an_entry_is_read_back_whole(device: Device) -> None:
    query = parse("in:drill.md after:2020 Who has the blue drill since 14 March 2026?", date(2026, 3, 20))
    device.qa_bank.wait(query, device.embedder.embed([query.text])[0], "recipe", "asked")
    (entry,) = entries(device).values()
    assert asked(entry) == query
    assert str(query.days[0][0]) == "2026-03-14"


def test_an_answer_is_not_served_once_its_file_has_changed(device: Device, notes: Path) -> None:
    answered(device, QUESTION)
    (notes / "drill.md").write_text("# Things lent\n\nAnton has borrowed the blue drill.\n")
    device.ingestion().run([notes])
    entry = entries(device)[QUESTION]
    assert (entry.stale, entry.answer, entry.record) == (True, None, {})
    assert answered(device, QUESTION).text == "Anton has borrowed the blue drill."
    assert answered(device, QUESTION).origin == "qa_bank"


def test_an_answer_is_not_served_once_its_file_is_gone(device: Device, notes: Path) -> None:
    answered(device, QUESTION)
    (notes / "drill.md").unlink()
    device.ingestion().run([notes])
    assert answered(device, QUESTION).origin == "device"


def test_an_answer_is_not_served_once_something_newer_bears_on_it(device: Device, notes: Path) -> None:
    answered(device, QUESTION)
    (notes / "later.md").write_text("# Things lent\n\nAnton has borrowed the blue drill from Petra.\n")
    device.ingestion().run([notes])
    assert not entries(device)[QUESTION].stale
    assert answered(device, QUESTION).origin == "device"


def test_a_day_that_has_something_new_is_answered_anew(device: Device, notes: Path) -> None:
    (notes / "2026-03-19 dentist.md").write_text("# Dentist\n\nA filling.\n")
    device.ingestion().run([notes])
    question = "What is on 19 March 2026?"
    answered(device, question)
    assert answered(device, question).origin == "qa_bank"
    (notes / "2026-03-19 choir.md").write_text("# Choir\n\nWe sing.\n")
    device.ingestion().run([notes])
    assert answered(device, question).origin == "device"


def test_what_is_read_while_an_answer_is_written_is_newer_than_it(device: Device, notes: Path) -> None:
    for event in device.assistant.ask(QUESTION, device.options()):
        if isinstance(event, Found):
            (notes / "later.md").write_text("# Things lent\n\nAnton has borrowed the blue drill.\n")
            device.ingestion().run([notes])
    assert answered(device, QUESTION).origin == "device"


def test_a_threshold_of_one_serves_nothing(device: Device) -> None:
    answered(device, QUESTION)
    object.__setattr__(device.qa_bank, "threshold", 1.0)
    assert answered(device, QUESTION).origin == "device"


def test_an_answer_is_served_while_the_rest_of_the_files_changes(device: Device, notes: Path) -> None:
    for number in range(10):
        (notes / f"drill {number}.md").write_text(f"The blue drill number {number} who has borrowed.")
    device.ingestion().run([notes])
    answered(device, QUESTION)
    (notes / "later.md").write_text("Nothing but turnips and radishes.\n")
    device.ingestion().run([notes])
    assert answered(device, QUESTION).origin == "qa_bank"


def test_another_recipe_is_another_answer(device: Device) -> None:
    answered(device, QUESTION)
    (considered,) = device.assistant.similar(QUESTION, device.options())
    assert considered.serves
    other = replace(device.options(), bare="another model")
    (considered,) = device.assistant.similar(QUESTION, other)
    assert (considered.serves, considered.reason) == (False, "the answer is from another model or other settings")


def test_what_is_over_the_limit_is_evicted_the_longest_unused_first(device: Device) -> None:
    for question in (QUESTION, "When does the dentist see me?", "What medicine does the cat take?"):
        answered(device, question)
    answered(device, QUESTION)
    kept = entries(device)
    object.__setattr__(device.qa_bank, "limit", kept[QUESTION].bytes)
    assert device.qa_bank.trim() == 2
    assert list(entries(device)) == [QUESTION]
    assert answered(device, QUESTION).origin == "qa_bank"
    assert device.counters.all()["qa_evictions"] == 2


def test_clear_forgets_every_answer(device: Device) -> None:
    answered(device, QUESTION)
    assert device.qa_bank.clear() == 1
    assert answered(device, QUESTION).origin == "device"
