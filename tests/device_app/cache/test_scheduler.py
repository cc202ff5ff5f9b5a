"""What is done ahead, by threshold, cutoff and room."""

import pytest

from device_app.cache import scheduler
from storage.qa_entries import Origin


@pytest.mark.parametrize(("threshold", "decode"), [(0.7, True), (0.9, True), (0.91, False), (1.0, False)])
def test_predicted_questions_are_answered_unless_hits_are_rare(threshold: float, decode: bool) -> None:
    plan = scheduler.strategy(threshold, cutoff=0.9)
    assert plan.decode is decode
    assert f"{threshold:g}" in plan.why


@pytest.mark.parametrize(
    ("stale", "origin", "threshold", "answers"),
    [
        (True, "predicted", 0.95, False),
        (True, "predicted", 0.8, True),
        (False, "asked", 0.95, True),
        (False, "predicted", 0.95, False),
        (False, "predicted", 0.8, True),
    ],
)
def test_what_a_person_asked_is_answered_under_any_strategy(
    stale: bool, origin: Origin, threshold: float, answers: bool
) -> None:
    why = scheduler.reason(stale=stale, origin=origin)
    assert scheduler.to_answer(why, scheduler.strategy(threshold, 0.9)) is answers


@pytest.mark.parametrize(("kept", "needed", "restores"), [(0, 10, True), (90, 10, True), (91, 10, False)])
def test_states_are_made_again_only_where_they_fit(kept: int, needed: int, restores: bool) -> None:
    assert scheduler.restores(kept, 100, needed) is restores
