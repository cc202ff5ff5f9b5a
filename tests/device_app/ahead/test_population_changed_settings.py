"""Background work after the model, a threshold or a limit was changed: what is computed again, and what is deleted for
it.
"""

from dataclasses import replace

import pytest

from device_app.device import Device
from device_app.settings import Answer as Answering
from device_app.settings import Cache, Settings
from tests.device_app.cache.conftest import QUESTION, Another, ask, entries, everything, work

pytestmark = pytest.mark.usefixtures("one_question_a_passage")


@pytest.fixture
def other(another: Another) -> Device:
    """Return the same device with a changed setting, under which its kept answers no longer count."""
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
    assert {entry.fingerprint for entry in entries(other).values()} == {other.options().fingerprint}
    assert [step.action for step in work(device)] == ["renew", "answer", "answer"]


def test_who_goes_back_later_finds_the_questions_of_a_model_that_was_used_before_prepared_again(
    device: Device, other: Device
) -> None:
    for home in (device, other, device):
        work(home)
    fingerprint = device.options().fingerprint
    device.database.execute("UPDATE qa_entries SET used_at = '2020-01-01' WHERE recipe = ?", (fingerprint,))
    assert [(step.action, step.subject) for step in work(other)] == [("drop", "2 answers")]
    assert [step.action for step in work(device)] == ["renew", "answer", "answer"]


def test_states_of_another_model_make_room_for_those_of_this_one(device: Device) -> None:
    work(device)
    full = device.qkv_tree.rows.bytes()
    device.database.execute("UPDATE kv_slices SET kv_key = 'another'")
    steps = work(device)
    assert {step.action for step in steps} == {"drop", "prefill"}
    assert device.qkv_tree.rows.bytes() == full


def test_above_the_cutoff_states_are_made_and_answers_wait_until_it_falls(device: Device, another: Another) -> None:
    cautious = another(replace(Settings(), cache=Cache(cutoff=0.5)))
    steps = work(cautious)
    assert {step.action for step in steps} == {"prefill"}
    assert all(entry.answer is None for entry in entries(device).values())
    assert all("attention states only" in step.why for step in steps)
    steps = work(device)
    assert {step.action for step in steps} == {"answer"}
    # The passages were there: only the questions themselves are computed.
    assert all(step.tokens_prefilled < 100 for step in steps)
    assert ask(device, QUESTION).origin == "qa_bank"


def test_evicted_states_are_made_again_when_the_limit_is_raised(device: Device) -> None:
    work(device)
    full = device.qkv_tree.rows.bytes()
    object.__setattr__(device.qkv_tree, "limit", full // 2)
    assert device.qkv_tree.trim()
    work(device)
    object.__setattr__(device.qkv_tree, "limit", 4 * full)
    steps = work(device)
    assert steps
    assert {(step.action, step.why) for step in steps} == {
        ("prefill", "there is room for the question's attention states")
    }
    assert device.qkv_tree.rows.bytes() == full
    assert work(device) == []


def test_predictions_that_a_lower_limit_evicted_are_made_again_under_a_higher_one(
    device: Device, another: Another
) -> None:
    everything(device)
    tight = another(replace(Settings(), cache=Cache(qa_mb=0.001)))
    tight.qa_bank.trim()
    everything(tight)
    assert len(entries(device)) < 2
    everything(device)
    assert set(entries(device)) == {QUESTION, "When does the dentist see me?"}
    assert everything(device) == []
