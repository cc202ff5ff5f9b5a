"""Sentences that move, cancel or replace something, and the questions that they answer."""

import pytest

from device_app.english.changes import aspect, change, is_accepted, names_another, subject


@pytest.mark.parametrize(
    ("sentence", "kind", "has_old", "is_proposal"),
    [
        ("Your dentist appointment is moved from 10 March to Thursday 19 March at 16:15.", "moved", True, False),
        ("The opening is therefore moved to Saturday 17 October.", "moved", False, False),
        ("The launch moves from 1 December to Tuesday 8 December.", "moved", True, False),
        ("We moved the meeting to 4 pm.", "moved", False, False),
        ("The call has been rescheduled to Friday.", "moved", False, False),
        ("The trip was postponed until May 3.", "moved", False, False),
        ("Would it be possible to push our session to 10:30am instead of 10:00am?", "moved", True, True),
        ("Can we reschedule our training session to Friday instead?", "moved", False, True),
        ("Let's meet at 5 pm instead of 4 pm.", "moved", True, False),
        ("The new date for the handover is Friday 21 August.", "replaced", False, False),
        ("New dose from 11 June: 5 mg in the morning.", "replaced", False, False),
        ("Book club is cancelled.", "cancelled", False, False),
        ("The regatta had to be called off.", "cancelled", False, False),
        ("The course will not take place on Saturday.", "cancelled", False, False),
        ("Corrections: the cost was wrong: it is 420.", "corrected", False, False),
        ("The roof costs 420 euros, not 380.", "corrected", True, False),
        ("The correct amount is 420 euros.", "corrected", False, False),
        ("The cost of the roof should read 420 instead of 380.", "corrected", True, False),
    ],
)
def test_sentences_that_change_something(sentence: str, kind: str, has_old: bool, is_proposal: bool) -> None:
    changed = change(sentence)
    assert changed
    assert (changed.kind, changed.has_old, changed.is_proposal) == (kind, has_old, is_proposal)


@pytest.mark.parametrize(
    "sentence",
    [
        "This appointment will not be moved.",
        "The date cannot be changed.",
        "If the meeting is cancelled, call me.",
        "Is the book club cancelled?",
        "Yesterday we moved into the new flat.",
        "Tom moves in on 3 May.",
        "The key moves easily now.",
        "He has not moved since.",
        "Let's keep pushing forward!",
        "I would take the bus instead.",
        "The dentist is on Tuesday at nine.",
        "We got a new sofa.",
        "The cost was wrong.",
        "Was the cost of 420 wrong?",
        "Nobody can say what is wrong.",
        "",
    ],
)
def test_sentences_that_change_nothing(sentence: str) -> None:
    assert change(sentence) is None


@pytest.mark.parametrize(
    ("question", "sentence", "answers"),
    [
        ("When is the dentist?", "The dentist is moved to 19 March.", True),
        ("When is the dentist?", "The dentist moved to a new practice, it was moved to Harbour Street.", False),
        ("Where is the dentist?", "The dentist was moved to Harbour Street.", True),
        ("Where is the dentist?", "The dentist was moved to 19 March.", False),
        ("Is the book club still on?", "Book club is cancelled.", True),
        ("Where is the book club?", "Book club is cancelled.", False),
        ("What is the dose of the medicine?", "New dose from 11 June: 5 mg.", True),
        ("What is the price of the medicine?", "New dose from 11 June: 5 mg.", False),
        ("How much did the roof cost?", "Corrections: the cost of the roof was wrong: it is 420.", True),
        ("When is the dentist?", "Corrections: the cost of the dentist was wrong: it is 420.", False),
    ],
)
def test_a_change_answers_a_question_about_what_it_changes(question: str, sentence: str, answers: bool) -> None:
    changed, asked = change(sentence), aspect(question)
    assert changed
    assert asked
    assert changed.answers(asked, subject(question)) == answers


@pytest.mark.parametrize(
    ("question", "asked", "words"),
    [
        ("When is my dentist appointment?", "time", ["dentist", "appointment"]),
        ("what time is my session with Jennifer on 16 june?", "time", ["session", "jennifer"]),
        ("which day is my training with jennifer this week?", "time", ["training", "jennifer"]),
        ("Is the book club still on?", "time", ["book", "club"]),
        ("Where is the party?", "place", ["party"]),
        ("How much is the new dose?", "other", ["dose"]),
        ("Who has the drill?", None, ["drill"]),
        ("Why was the opening moved?", None, ["opening"]),
        ("What did Anna say about the meeting?", None, ["anna", "meeting"]),
    ],
)
def test_what_is_asked_of_which_subject(question: str, asked: str | None, words: list[str]) -> None:
    assert (aspect(question), subject(question)) == (asked, words)


@pytest.mark.parametrize(
    ("reply", "accepted"),
    [
        ("Sure, 10:30am works for me! See you then!", True),
        ("Petra: OK, see you on Friday.", True),
        ("Sorry, Friday works badly.", False),
        ("What about Monday?", False),
        ("Anna: not sure that works", False),
        ("Anna: ok, let me check with Petra first", False),
        ("Anna: fine, but Friday would be much better", False),
        ("Anna: ok, let me ask Petra", False),
        ("Anna: ok, maybe", False),
        ("Anna: fine, not for me though", False),
        ("Anna: sure, the butter is mine", True),
    ],
)
def test_a_proposal_counts_once_it_is_accepted(reply: str, accepted: bool) -> None:
    assert is_accepted(reply) == accepted


@pytest.mark.parametrize(
    ("proposal", "is_another"),
    [
        ("Can we do Saturday at 11?", False),
        ("Oh, how about Sunday at noon?", False),
        ("Would Saturday 14 March at 7:30 work for you, Anna?", False),
        ("Could we have it on Saturday evening at 8 pm instead?", False),
        ("How about dinner on Saturday at 8?", False),
        ("And what about the dentist on Saturday at 11?", True),
        ("Shall we meet at 11 for the swimming lesson?", True),
    ],
)
def test_a_proposal_of_a_time_may_name_something_else(proposal: str, is_another: bool) -> None:
    assert names_another(proposal, "anna dinner") == is_another
