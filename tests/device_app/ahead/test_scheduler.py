"""Which background work is done, by the similarity threshold, the cutoff and the free space."""

import pytest

from device_app.ahead import scheduler
from storage.qa_entries import Origin


@pytest.mark.parametrize(("threshold", "decode"), [(0.7, True), (0.9, True), (0.91, False), (1.0, False)])
def test_predicted_questions_are_answered_unless_hits_are_rare(threshold: float, decode: bool) -> None:
    plan = scheduler.strategy(threshold, cutoff=0.9)
    assert plan.decode is decode
    assert decode or f"{threshold:g}" in plan.why


@pytest.mark.parametrize(
    ("origin", "threshold", "answers"),
    [("asked", 0.95, True), ("asked", 0.8, True), ("predicted", 0.95, False), ("predicted", 0.8, True)],
)
def test_what_a_person_asked_is_answered_under_any_strategy(origin: Origin, threshold: float, answers: bool) -> None:
    assert scheduler.to_answer(origin, scheduler.strategy(threshold, 0.9)) is answers


def test_why_an_entry_waits_names_its_files_first() -> None:
    whys = [scheduler.why(stale=stale, origin="asked") for stale in (True, False)]
    assert ["files" in why for why in whys] == [True, False]


@pytest.mark.parametrize(("kept", "needed", "restores"), [(0, 10, True), (90, 10, True), (91, 10, False)])
def test_states_are_made_again_only_where_they_fit(kept: int, needed: int, restores: bool) -> None:
    assert scheduler.restores(kept, 100, needed) is restores
