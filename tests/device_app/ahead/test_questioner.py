"""Questions written by a model that was trained to write them: kept like other predicted questions, never twice from
the same passage.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from device_app.ahead.prediction import KNOWLEDGE_MARK
from device_app.ahead.work import Step
from device_app.device import Device
from device_app.english import questions
from device_app.settings import Cache, Settings
from models.fake import FakeEngine
from tests.device_app.cache.conftest import Another, everything

KEY = "Where is the key of the shed now?"
BY_FORM = "What is written about the key of the shed?"


@pytest.fixture
def asking(device: Device, notes: Path, another: Another) -> Device:
    """A device whose fake model writes questions: it repeats a passage's last line, which in one note is a question."""
    (notes / "key.md").write_text(f"# The key\n\n{KEY}\n")
    device.ingestion().run([notes])
    return with_engine(another, FakeEngine(asks=True))


def with_engine(another: Another, engine: FakeEngine) -> Device:
    return another(replace(Settings(), cache=Cache(predict_from="questioner")), engine)


@pytest.fixture(autouse=True)
def by_form(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the rules that predict questions make one question only, about the key."""
    monkeypatch.setattr(
        questions, "from_passage", lambda passage, _=(): [BY_FORM] if passage.title == "The key" else []
    )


def predicted(device: Device) -> set[str]:
    return {entry.question for entry in device.qa_bank.entries.all() if entry.origin == "predicted"}


def test_what_the_model_asks_of_a_passage_is_answered_before_it_is_asked(asking: Device) -> None:
    steps = everything(asking)
    assert KEY in {step.subject for step in steps if step.action == "answer"}
    writing = [step for step in steps if step.action == "predict"]
    assert {step.subject.partition(":")[0] for step in writing} == {
        f"questions about {title}" for title in ("Dentist", "Things lent", "The cat", "The key")
    }
    assert all(step.tokens_decoded > 0 for step in writing)
    assert asking.counters.all()["population_decoded"] == sum(step.tokens_decoded for step in steps)


def test_of_what_it_asked_once_it_asks_no_more(asking: Device) -> None:
    everything(asking)
    before = asking.begin_loading().result().engine.computed
    assert everything(asking) == []
    assert asking.begin_loading().result().engine.computed == before


def test_the_states_that_it_reads_serve_the_answers(asking: Device) -> None:
    first, *later = [step for step in everything(asking) if "The key" in step.subject + step.why]
    assert first.action == "predict"
    assert all(step.tokens_prefilled < first.tokens_prefilled for step in later)


def test_a_model_that_was_not_taught_to_ask_leaves_it_to_the_form(asking: Device, another: Another) -> None:
    bare = with_engine(another, FakeEngine())
    assert "predict" not in {step.action for step in everything(bare)}
    assert predicted(bare) == {BY_FORM}


def test_by_the_form_alone_nothing_is_written(asking: Device) -> None:
    asking.settings = replace(asking.settings, cache=Cache(predict_from="passages"))
    assert "predict" not in {step.action for step in everything(asking)}
    assert predicted(asking) == {BY_FORM}


@pytest.mark.parametrize("looks", [1, 60, 150, 300, 450])
def test_wherever_it_gives_way_the_passage_is_asked_of_again(asking: Device, looks: int) -> None:
    left = iter([False] * looks)
    stopped = list(asking.population(lambda: next(left, True)).steps())
    passages = {passage.title: passage.id for passage in asking.knowledge.passages_after(0, 10)}
    mark = asking.counters.all().get(KNOWLEDGE_MARK, 0)
    subjects = {step.subject.removeprefix("questions about ").partition(":")[0] for step in stopped}
    assert all(title in subjects for title, number in passages.items() if number <= mark)
    everything(asking)
    assert KEY in predicted(asking)
    assert everything(asking) == []


def test_of_what_is_near_to_a_question_more_is_asked(asking: Device) -> None:
    everything(asking)
    *_, _ = asking.assistant.ask("Who has borrowed the blue drill?", asking.options())
    writing = [step for step in everything(asking) if step.subject.startswith("questions about")]
    assert writing
    assert {step.why for step in writing} == {"the passage is near your last questions"}
    assert not [step for step in everything(asking) if step.action == "predict"]


def test_however_often_it_gives_way_nothing_near_to_a_question_is_asked_of_twice(asking: Device) -> None:
    everything(asking)
    *_, _ = asking.assistant.ask("Who has borrowed the blue drill?", asking.options())
    written: list[str] = []
    while steps := next_step(asking):
        written += [step.subject.partition(":")[0] for step in steps if step.subject.startswith("questions about")]
    assert written
    assert len(set(written)) == len(written)


def next_step(device: Device) -> list[Step]:
    """Return the first step of a run that is stopped when its second step begins."""
    steps = device.population(lambda: False).steps()
    done = [step for step in (next(steps, None), next(steps, None)) if step]
    return done[:1]


def test_a_passage_without_room_in_the_model_is_left_to_the_form(asking: Device, another: Another) -> None:
    assert not [step for step in everything(with_engine(another, FakeEngine(context=64, asks=True))) if step.tokens]
