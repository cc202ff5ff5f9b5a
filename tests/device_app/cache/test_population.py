"""The work ahead, on a real store with an engine without weights: what is done, in which order, and only once."""

import json
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from device_app.abstention import NOT_TOLD
from device_app.answer import Answer
from device_app.assistant import Assistant
from device_app.build import Device
from device_app.cache import questions
from device_app.cache.prediction import Prediction
from device_app.cache.qa_bank import scope
from device_app.knowledge import query
from device_app.knowledge.query import Query
from device_app.settings import Answer as Answering
from device_app.settings import Cache, Settings
from device_app.sources.local import LocalSource
from device_app.work import Step
from models.engine import Engine
from models.fake import FakeEngine
from shared.errors import EngineError
from shared.prompt import CHATML, NOT_FOUND
from storage.qa_entries import Entry, Origin

QUESTION = "Who has borrowed the blue drill?"


@pytest.fixture(autouse=True)
def one_question_a_passage(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a passage of the notes is asked for."""
    asked = {"Dentist": "When does the dentist see me?", "Things lent": QUESTION}
    monkeypatch.setattr(
        questions, "from_passage", lambda passage: [asked[passage.title]] if passage.title in asked else []
    )


def everything(device: Device) -> list[Step]:
    return list(device.population(lambda: False).steps())


def work(device: Device) -> list[Step]:
    """What was done for a question."""
    return [step for step in everything(device) if step.action not in ("predict", "read ahead")]


def ask(device: Device, question: str) -> Answer:
    *_, last = device.assistant.ask(question, device.options())
    assert isinstance(last, Answer)
    return last


def entries(device: Device) -> dict[str, Entry]:
    return {entry.question: entry for entry in device.qa_bank.entries.all()}


def test_a_predicted_question_is_answered_before_it_is_asked(device: Device) -> None:
    steps = work(device)
    assert {step.subject for step in steps if step.action == "answer"} == {QUESTION, "When does the dentist see me?"}
    assert all(step.tokens_decoded > 0 and "predicted from" in step.why for step in steps)
    answer = ask(device, QUESTION)
    assert (answer.origin, answer.text) == ("qa_bank", "Petra has borrowed the blue drill.")


def test_what_is_done_is_not_done_again(device: Device) -> None:
    assert everything(device)
    assert everything(device) == []


def test_a_question_never_asked_finds_its_passage_computed(device: Device) -> None:
    work(device)
    answer = ask(device, "What has Petra borrowed, the drill?")
    assert answer.trace.segments_cached == 2
    assert answer.trace.tokens_cached > answer.trace.tokens_prefilled


def test_above_the_cutoff_states_are_made_and_answers_wait_until_it_falls(
    device: Device, another: Callable[[Settings], Device]
) -> None:
    cautious = another(replace(Settings(), cache=Cache(cutoff=0.5)))
    steps = work(cautious)
    assert {step.action for step in steps} == {"prefill"}
    assert all(entry.answer is None for entry in entries(device).values())
    assert all("states alone" in step.why for step in steps)
    steps = work(device)
    assert {step.action for step in steps} == {"answer"}
    # The passages were there: only the questions themselves are computed.
    assert all(step.tokens_prefilled < 100 for step in steps)
    assert ask(device, QUESTION).origin == "qa_bank"


def test_passages_that_no_question_was_predicted_from_are_read_ahead(device: Device) -> None:
    assert [step.subject for step in everything(device) if step.action == "read ahead"] == ["The cat"]
    answer = ask(device, "What medicine does the cat take?")
    assert (answer.origin, answer.trace.segments_cached) == ("device", 2)


def test_what_is_likeliest_next_is_read_ahead_even_where_something_older_goes_for_it(device: Device) -> None:
    everything(device)
    root, one, *_ = sorted((row.bytes for row in device.qkv_tree.rows.all()), reverse=True)
    object.__setattr__(device.qkv_tree, "limit", root + 2 * one)
    everything(device)
    kept = {row.name for row in device.qkv_tree.rows.all()}
    ask(device, "What is it that the cat takes, and when does the dentist see me?")
    steps = [step for step in everything(device) if step.action == "read ahead"]
    assert [step.why for step in steps] == ["it is likely to be asked about next"]
    assert {row.name for row in device.qkv_tree.rows.all()} != kept
    assert device.qkv_tree.rows.bytes() <= device.qkv_tree.limit
    assert everything(device) == []


def test_a_passage_that_the_model_has_no_room_for_is_not_read_ahead(
    device: Device, another: Callable[[Settings], Device]
) -> None:
    small = another(Settings())
    small._loading = Future()
    small._loading.set_result(LocalSource(FakeEngine(context=64), CHATML))
    assert {step.action for step in everything(small)} <= {"skip"}


def test_nothing_is_read_ahead_that_finds_no_room(device: Device) -> None:
    work(device)
    device.qkv_tree.clear()
    full = device.qkv_tree
    object.__setattr__(full, "limit", 1)
    assert everything(device) == []
    assert full.rows.bytes() == 0


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
    device: Device, another: Callable[[Settings], Device], notes: Path
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


def test_a_question_that_the_model_fails_at_is_not_tried_again_and_is_kept_if_somebody_asked_it(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    work(device)
    recipe = device.options().recipe
    for question, origin in (("Who has the blue drill?", "asked"), ("Has Petra the blue drill?", "predicted")):
        query = Query(question)
        device.qa_bank.wait(query, device.embedder.embed([question])[0], recipe, origin)  # type: ignore[arg-type]

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


@pytest.fixture
def silent(device: Device, notes: Path) -> Device:
    """With a note, read last, that does not answer what is predicted from it."""
    (notes / "drill.md").write_text(f"# Things lent\n\nWho has borrowed the blue drill?\n\n{NOT_FOUND}\n")
    device.ingestion().run([notes])
    return device


def test_a_predicted_question_that_its_passage_does_not_answer_is_skipped_once_and_serves_nobody(
    silent: Device,
) -> None:
    steps = {step.subject: step for step in work(silent)}
    assert (steps[QUESTION].action, steps[QUESTION].why) == ("skip", "the passages found for it do not answer it")
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
    silent.qa_bank.wait(Query(question), vector, silent.options().recipe, origin)
    assert [(step.action, step.subject) for step in work(silent)] == [("skip", question)]
    assert work(silent) == []


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


@pytest.fixture
def other(another: Callable[[Settings], Device]) -> Device:
    """The same device under settings that write other answers."""
    return another(replace(Settings(), answer=Answering(max_tokens=32)))


def test_after_a_change_of_model_what_is_known_is_prepared_again_and_nothing_else(
    device: Device, other: Device
) -> None:
    ask(device, "Who has the drill?")
    work(device)
    known = list(entries(device))
    steps = work(other)
    assert [step.subject for step in steps] == ["3 questions", *known]
    assert work(other) == []
    assert ask(other, QUESTION).origin == "qa_bank"
    kept = {(entry.question, entry.origin) for entry in entries(other).values()}
    assert ("Who has the drill?", "asked") in kept


def test_who_goes_back_within_a_week_finds_the_answers_as_they_were(device: Device, other: Device) -> None:
    work(device)
    work(other)
    assert work(device) == []
    assert ask(device, QUESTION).origin == "qa_bank"


def test_answers_of_a_model_that_is_used_no_more_go_once_they_are_replaced(device: Device, other: Device) -> None:
    work(device)
    device.database.execute("UPDATE qa_entries SET used_at = '2020-01-01T00:00:00.000000+00:00'")
    work(other)
    assert [(step.action, step.subject) for step in work(other)] == [("drop", "2 answers")]
    assert {entry.recipe for entry in entries(other).values()} == {other.options().recipe}
    assert [step.action for step in work(device)] == ["renew", "answer", "answer"]


def test_who_goes_back_later_finds_the_questions_of_a_model_that_was_used_before_prepared_again(
    device: Device, other: Device
) -> None:
    for one in (device, other, device):
        work(one)
    recipe = device.options().recipe
    device.database.execute("UPDATE qa_entries SET used_at = '2020-01-01' WHERE recipe = ?", (recipe,))
    assert [(step.action, step.subject) for step in work(other)] == [("drop", "2 answers")]
    assert [step.action for step in work(device)] == ["renew", "answer", "answer"]


def test_evicted_states_are_made_again_when_the_limit_is_raised(device: Device) -> None:
    work(device)
    full = device.qkv_tree.rows.bytes()
    object.__setattr__(device.qkv_tree, "limit", full // 2)
    assert device.qkv_tree.trim()
    work(device)
    object.__setattr__(device.qkv_tree, "limit", 4 * full)
    steps = work(device)
    assert steps
    assert {(step.action, step.why) for step in steps} == {("prefill", "there is room for its attention states")}
    assert device.qkv_tree.rows.bytes() == full
    assert work(device) == []


def test_states_of_another_model_make_room_for_those_of_this_one(device: Device) -> None:
    work(device)
    full = device.qkv_tree.rows.bytes()
    device.database.execute("UPDATE kv_slices SET kv_key = 'another'")
    steps = work(device)
    assert {step.action for step in steps} == {"drop", "prefill"}
    assert device.qkv_tree.rows.bytes() == full


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
    notes: Path, device: Device, another: Callable[[Settings], Device]
) -> None:
    (notes / "key.md").write_text("# The key\n\nWhere is the key of the shed now?\n")
    device.ingestion().run([notes])
    abstracting = another(replace(Settings(), cache=Cache(predict_from="abstracts", stride=4)))
    steps = everything(abstracting)
    (predicting,) = [step for step in steps if step.action == "predict"]
    assert predicting.subject == "questions from abstracts: 1"
    assert min(predicting.tokens_prefilled, predicting.tokens_decoded) > 0
    # Its model repeats the last line it is given: the abstract and the question are that of the note.
    assert [step.subject for step in steps if step.action == "answer"] == ["Where is the key of the shed now?"]
    assert everything(abstracting) == []


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
    """What a run read ahead for the next question."""
    return [step for step in everything(device) if step.why == "it is likely to be asked about next"]


def test_predictions_that_a_lower_limit_evicted_are_made_again_under_a_higher_one(
    device: Device, another: Callable[[Settings], Device]
) -> None:
    everything(device)
    tight = another(replace(Settings(), cache=Cache(qa_mb=0.001)))
    tight.qa_bank.trim()
    everything(tight)
    assert len(entries(device)) < 2
    everything(device)
    assert set(entries(device)) == {QUESTION, "When does the dentist see me?"}
    assert everything(device) == []


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
