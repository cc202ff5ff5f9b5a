"""Background work on a real store with the fake engine: which questions are predicted, answered and prefilled ahead."""

import json
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import replace
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from typing import cast

import pytest

from device_app.ahead import usefulness
from device_app.ahead.prediction import Prediction, predict_again
from device_app.ahead.predictor import knowledge_prompt
from device_app.ahead.usefulness import Tally
from device_app.ahead.work import Step
from device_app.answering.assistant import Assistant
from device_app.cache.answers.bank import scope
from device_app.commands.caches import clear
from device_app.device import Device
from device_app.english import query, questions
from device_app.english.query import Query
from device_app.knowledge.known_people import KnownPeople
from device_app.settings import Cache, Settings
from models.engine import Engine
from models.exact_loading import finish
from models.exactness import CHECKS
from models.facts import FactsFile
from models.fake import FakeEngine
from models.llama_cpp import LlamaCppEngine
from models.speculative.costs import FILE, KnownCosts
from models.verdict import Verdict
from shared.errors import EngineError
from storage.abstracts import Abstracts
from storage.cache_records import CacheRecords
from tests.device_app.cache.conftest import QUESTION, Another, ask, entries, everything, work
from tests.inexact import OrderOff

pytestmark = pytest.mark.usefixtures("one_question_a_passage")


def test_a_predicted_question_is_answered_before_it_is_asked(device: Device) -> None:
    steps = work(device)
    assert {step.subject for step in steps if step.action == "answer"} == {QUESTION, "When does the dentist see me?"}
    assert all(step.tokens_decoded > 0 and "predicted from" in step.why for step in steps)
    answer = ask(device, QUESTION)
    assert (answer.origin, answer.text) == ("qa_bank", "Petra has borrowed the blue drill.")


def test_what_is_done_is_not_done_again(device: Device) -> None:
    assert everything(device)
    assert everything(device) == []


def test_what_drafting_would_gain_is_measured_once(
    device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("models.speculative.costs._SPREAD", 1e9)  # the fake takes microseconds
    source = device.begin_loading().result()
    source.drafting.mode, source.drafting.known = "auto", KnownCosts(FactsFile(tmp_path, FILE), "fake")
    measured = [step for step in work(device) if step.action == "measure"]
    assert [step.subject for step in measured] == ["fake"]
    assert measured[0].tokens_prefilled > 0
    assert source.drafting.costs == source.drafting.known.load()
    assert not [step for step in work(device) if step.action == "measure"]


def test_checks_that_are_left_run_once_before_anything_is_kept(device: Device, tmp_path: Path) -> None:
    source, engine = device.begin_loading().result(), OrderOff()
    engine.restrict(Verdict(untested=frozenset(CHECKS)))
    left = replace(source, engine=engine, finish_checks=partial(finish, cast(LlamaCppEngine, engine), tmp_path))
    device._loading = Future()
    device._loading.set_result(left)
    steps = work(device)
    assert [step.action for step in steps].index("test") == 0
    assert next(step for step in steps if step.action == "test").tokens_prefilled > 0
    assert engine.info.verdict == Verdict(frozenset({"reordered"}))
    assert "test" not in [step.action for step in work(device)]
    assert not device.qkv_tree.rows.all()


def test_a_measurement_that_gives_way_is_made_the_next_time(device: Device, tmp_path: Path) -> None:
    source = device.begin_loading().result()
    source.drafting.mode, source.drafting.known = "auto", KnownCosts(FactsFile(tmp_path, FILE), "fake")
    looks = iter([False] * 9 + [True] * 100)
    assert "measure" not in [step.action for step in device.population(lambda: next(looks)).steps()]
    assert source.drafting.is_unmeasured(source.engine.info)
    assert "measure" in [step.action for step in work(device)]


def test_a_question_never_asked_finds_its_passage_computed(device: Device) -> None:
    work(device)
    answer = ask(device, "What has Petra borrowed, the drill?")
    assert answer.trace.segments_cached == 2
    assert answer.trace.tokens_cached > answer.trace.tokens_prefilled


def test_work_gives_way_and_goes_on_where_it_was(device: Device) -> None:
    looks = iter([False] * 12 + [True] * 100)
    before = list(device.population(lambda: next(looks)).steps())
    assert len(before) < 2
    after = work(device)
    answered = {step.subject for step in [*before, *after] if step.action == "answer"}
    assert answered == {QUESTION, "When does the dentist see me?"}
    engine: Engine = device.begin_loading().result().engine
    assert ask(device, QUESTION).origin == "qa_bank"
    assert engine.length(0) >= 0


def test_questions_like_those_asked_are_predicted_once(device: Device) -> None:
    ask(device, QUESTION)
    work(device)
    assert device.counters.all()["predicted_turn"] == 1
    assert work(device) == []


def test_what_the_model_reads_and_writes_to_predict_is_told_and_counted(device: Device) -> None:
    ask(device, QUESTION)
    steps = everything(device)
    (predicting,) = [step for step in steps if step.action == "predict"]
    assert predicting.subject.startswith("questions like yours")
    assert min(predicting.tokens_prefilled, predicting.tokens_decoded) > 0
    counted = device.counters.all()
    assert counted["population_prefilled"] == sum(step.tokens_prefilled for step in steps)
    assert counted["population_decoded"] == sum(step.tokens_decoded for step in steps)


def test_questions_that_are_too_long_to_predict_from_end_no_work(device: Device) -> None:
    for _ in range(3):
        turn = device.conversations.begin("I wonder " * 400)
        device.conversations.write(turn.id, "Do you?", {})
    assert everything(device)
    assert everything(device) == []


def test_the_last_question_is_asked_of_others(device: Device, notes: Path) -> None:
    said = [{"sender": name, "text": f"{name} thinks this of the ladder: good."} for name in ("Petra", "Anton")]
    (notes / "chat.json").write_text(json.dumps(said))
    device.ingestion().run([notes])
    ask(device, "What does Petra think of the ladder?")
    assert "What does Anton think of the ladder?" in {step.subject for step in work(device)}


def test_questions_are_predicted_from_abstracts_where_that_is_set(
    notes: Path, device: Device, another: Another
) -> None:
    (notes / "key.md").write_text("# The key\n\nWhere is the key of the shed now?\n")
    device.ingestion().run([notes])
    abstracting = another(replace(Settings(), cache=Cache(predict_from="abstracts")))
    steps = everything(abstracting)
    (predicting,) = [step for step in steps if step.action == "predict"]
    assert predicting.subject == "questions from abstracts: 1"
    assert min(predicting.tokens_prefilled, predicting.tokens_decoded) > 0
    # Its model repeats the last line it is given: the abstract and the question are that of the note.
    assert [step.subject for step in steps if step.action == "answer"] == ["Where is the key of the shed now?"]
    assert everything(abstracting) == []


@pytest.mark.usefixtures("device")
def test_the_abstract_of_the_files_is_kept_and_grows_with_them(notes: Path, another: Another) -> None:
    abstracting = another(replace(Settings(), cache=Cache(predict_from="abstracts")))
    everything(abstracting)
    kept = Abstracts(abstracting.knowledge.database)
    (first,) = kept.all()
    (notes / "key.md").write_text("# The key\n\nWhere is the key of the shed now?\n")
    abstracting.ingestion().run([notes])
    everything(abstracting)
    assert kept.all() == [first, "Where is the key of the shed now?"]
    (notes / "key.md").unlink()
    abstracting.ingestion().run([notes])
    assert "Where is the key of the shed now?" not in kept.all()
    clear(abstracting, answers=True, states=False)
    assert kept.all() == []


@pytest.mark.usefixtures("device")
def test_questions_are_predicted_again_from_every_kept_sentence(
    notes: Path, another: Another, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(24):
        (notes / f"key{number}.md").write_text(f"# Key {number}\n\nWhere is the key of shed {number} now?\n")
    abstracting = another(replace(Settings(), cache=Cache(predict_from="abstracts")))
    abstracting.ingestion().run([notes])
    everything(abstracting)
    kept = Abstracts(abstracting.knowledge.database).all()
    read: list[str] = []

    def prompt(abstracts: Sequence[str], stride: int) -> str:
        read.append(abstracts[-1])
        return knowledge_prompt(abstracts, stride)

    monkeypatch.setattr("device_app.ahead.prediction._KEPT_ABSTRACTS", 2)
    monkeypatch.setattr("device_app.ahead.predictor.knowledge_prompt", prompt)
    predict_again(abstracting.counters)
    everything(abstracting)
    assert read == [*kept[1::2], *kept[-1:]][: (len(kept) + 1) // 2]
    assert len(read) > 1
    assert Abstracts(abstracting.knowledge.database).all() == kept


def test_a_predicted_question_that_names_a_day_is_kept_as_it_will_be_asked(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    predicted = ["What is lent after:nonsense, the drill?", "Who had borrowed the blue drill in 2025?"]
    monkeypatch.setattr(Prediction, "about", lambda _, passage: predicted if passage.title == "Things lent" else [])
    work(device)
    asked_so = query.parse(predicted[1], date.today())
    assert asked_so.days
    assert [(entry.question, entry.scope) for entry in device.qa_bank.entries.all()] == [
        (asked_so.text, scope(asked_so))
    ]
    assert ask(device, predicted[1]).origin == "qa_bank"


def test_a_question_that_the_model_fails_at_is_not_tried_again_and_is_kept_if_somebody_asked_it(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    work(device)
    fingerprint = device.options().fingerprint
    for question, origin in (("Who has the blue drill?", "asked"), ("Has Petra the blue drill?", "predicted")):
        query = Query(question)
        device.qa_bank.wait(query, device.embedder.embed([question])[0], fingerprint, origin)  # type: ignore[arg-type]

    def prepare(*_: object, **__: object) -> None:
        raise EngineError("The model wrote nothing.")

    with monkeypatch.context() as failing:
        failing.setattr(Assistant, "prepare", prepare)
        steps = work(device)
    assert [(step.action, step.subject, step.why) for step in steps] == [
        ("skip", "Who has the blue drill?", "The model wrote nothing."),
        ("skip", "Has Petra the blue drill?", "The model wrote nothing."),
    ]
    assert work(device) == []
    kept = entries(device)["Who has the blue drill?"]
    assert (kept.answer, kept.failed) == (None, "The model wrote nothing.")
    assert "Has Petra the blue drill?" not in entries(device)
    list(device.assistant.ask("Who has the blue drill?", device.options(fresh=True)))
    assert entries(device)["Who has the blue drill?"].failed is None


def test_passages_that_no_question_was_predicted_from_are_read_ahead(device: Device) -> None:
    assert [step.subject for step in everything(device) if step.action == "read ahead"] == ["The cat"]
    answer = ask(device, "What medicine does the cat take?")
    assert (answer.origin, answer.trace.segments_cached) == ("device", 2)


def test_what_is_likeliest_next_is_read_ahead_even_where_something_older_goes_for_it(device: Device) -> None:
    everything(device)
    root, leaf, *_ = sorted((row.bytes for row in device.qkv_tree.rows.all()), reverse=True)
    object.__setattr__(device.qkv_tree, "limit", root + 2 * leaf)
    everything(device)
    kept = {row.name for row in device.qkv_tree.rows.all()}
    ask(device, "What is it that the cat takes, and when does the dentist see me?")
    steps = [step for step in everything(device) if step.action == "read ahead"]
    assert [step.why for step in steps] == ["the passage is likely to be asked about next"]
    assert {row.name for row in device.qkv_tree.rows.all()} != kept
    assert device.qkv_tree.rows.bytes() <= device.qkv_tree.limit
    assert everything(device) == []


def test_what_is_likeliest_next_is_read_ahead_once_however_small_the_room(device: Device, notes: Path) -> None:
    for number in range(8):
        (notes / f"ferry{number}.md").write_text(f"# The ferry\n\nThe ferry number {number} leaves the quay at noon.\n")
    device.ingestion().run([notes])
    read = next(step for step in everything(device) if step.subject == "The ferry")
    taken = read.tokens_prefilled * device.begin_loading().result().engine.info.kv_bytes_per_token
    object.__setattr__(device.qkv_tree, "limit", 4 * taken)
    ask(device, "When does the ferry leave the quay?")
    assert [step.subject for step in likeliest_read(device)] == ["The ferry", "The ferry"]
    assert likeliest_read(device) == []


def likeliest_read(device: Device) -> list[Step]:
    """Return the passages whose states a run computed ahead for the likely next question."""
    return [step for step in everything(device) if step.why == "the passage is likely to be asked about next"]


def test_a_passage_that_the_model_has_no_room_for_is_not_read_ahead(device: Device, another: Another) -> None:
    small = another(Settings(), FakeEngine(context=64))
    assert {step.action for step in everything(small)} <= {"skip"}


def test_nothing_is_read_ahead_that_finds_no_room(device: Device) -> None:
    work(device)
    device.qkv_tree.clear()
    full = device.qkv_tree
    object.__setattr__(full, "limit", 1)
    assert everything(device) == []
    assert full.rows.bytes() == 0


def test_what_a_rule_or_a_quote_answers_is_not_predicted(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    made = ["What is 2+2?", "What was said about the drill?", QUESTION]
    monkeypatch.setattr(questions, "from_passage", lambda *_: made)
    everything(device)
    assert {entry.question for entry in device.qa_bank.entries.all()} == {QUESTION}


def test_what_is_predicted_names_nobody_who_is_the_person(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KnownPeople, "mine", frozenset({"Petra"}))
    monkeypatch.setattr(questions, "from_passage", lambda *_: ["Which drill has Petra borrowed?"])
    monkeypatch.setattr("device_app.ahead.prediction.Prediction._finding", lambda _, __, candidates: candidates)
    everything(device)
    assert "Which drill have I borrowed?" in entries(device)


def test_forms_that_are_never_asked_are_predicted_less(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(questions, "from_passage", lambda *_: [f"{QUESTION[:-1]} number {n}?" for n in range(40)])
    monkeypatch.setattr("device_app.ahead.prediction.PER_PASSAGE", 40)
    monkeypatch.setattr("device_app.ahead.predictor.ALIKE", 2.0)
    monkeypatch.setattr("device_app.ahead.usefulness.tallies", lambda *_: {"who": Tally(10_000, 0)})
    everything(device)
    assert len(entries(device)) <= 12


def test_a_prediction_that_was_asked_is_remembered(device: Device) -> None:
    everything(device)
    records, now = CacheRecords(device.database), datetime.now(UTC)
    assert usefulness.tallies(records, now) == {}
    ask(device, QUESTION)
    tally = usefulness.tallies(records, now)["who"]
    assert (round(tally.predicted, 3), round(tally.asked, 3)) == (1, 1)
