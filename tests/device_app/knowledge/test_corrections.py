"""Later corrections: the newest change among the retrieved passages, and the statement that it replaces."""

from datetime import date

import pytest

from device_app.english.query import parse
from device_app.knowledge.corrections import correction, of_figures
from shared.types import Hit, StoredPassage

TODAY = date(2026, 3, 8)
PETRA, BO = "Petra <petra@x.org>", "Bo <bo@x.org>"
PLAN = ("2026-02-01", "Garden meeting", "The garden meeting is on Monday 16 March at 10:00 in the hall.")
MOVED = (
    "2026-03-01",
    "Garden meeting",
    "Dear all. The garden meeting is moved to Tuesday 17 March at 11:00. See you there.",
)
AGAIN = ("2026-03-05", "Re: Garden meeting", "The garden meeting has been moved to Friday 20 March at 9:00.")
OFF = ("2026-03-07", "Garden meeting", "The garden meeting is cancelled.")
OTHER = ("2026-03-06", "Board", "The board meeting is moved to Thursday 19 March at 11:00.")
ASKED = "When is the garden meeting?"


def hit(
    written: str, title: str, text: str, kind: str = "mail", people: tuple[str, ...] = (PETRA,), number: int = 1
) -> Hit:
    return Hit(StoredPassage(number, text, 0, 1, None, number, title, kind, written, people, "/a"), 1.0, 0.9)


@pytest.mark.parametrize(
    ("question", "passages", "change", "before"),
    [
        (ASKED, [PLAN, MOVED], MOVED, PLAN),
        (ASKED, [MOVED, PLAN], MOVED, PLAN),
        (ASKED, [PLAN, MOVED, AGAIN], AGAIN, PLAN),
        (ASKED, [PLAN, MOVED, AGAIN, OTHER], AGAIN, PLAN),
        (ASKED, [PLAN, MOVED, OFF], OFF, PLAN),
        ("Is the garden meeting still on?", [PLAN, OFF], OFF, PLAN),
        ("When is the garden meeting in March?", [PLAN, MOVED], MOVED, PLAN),
        (ASKED, [PLAN], None, None),
        (ASKED, [MOVED], None, None),  # without what held before
        (ASKED, [PLAN, OTHER], None, None),
        ("Who comes to the garden meeting?", [PLAN, MOVED], None, None),
        ("When is the garden meeting in May?", [PLAN, MOVED], None, None),
        ("When is the tulip garden meeting?", [PLAN, MOVED], None, None),
        ("When is it?", [PLAN, MOVED], None, None),
        ("from:petra when is the garden meeting?", [PLAN, MOVED], None, None),
    ],
)
def test_the_newest_change_answers_beside_what_it_overtakes(
    question: str,
    passages: list[tuple[str, str, str]],
    change: tuple[str, str, str] | None,
    before: tuple[str, str, str] | None,
) -> None:
    corrected = correction(parse(question, TODAY), [hit(*passage) for passage in passages], TODAY)
    if change is None:
        assert corrected is None
        return
    assert corrected
    assert corrected.change in change[2]
    assert (corrected.newer.passage.date, corrected.older and corrected.older.passage.date) == (
        change[0],
        before and before[0],
    )


@pytest.mark.parametrize(
    ("reply", "is_changed"),
    [("Li Hua: Sure, 10:30am works for me!", True), ("Li Hua: Sorry, I can't.", False), ("", False)],
)
def test_a_proposal_in_a_chat_counts_with_its_acceptance(reply: str, is_changed: bool) -> None:
    text = (
        f"JenniferMoore: Hey! Would it be possible to push our session tomorrow to 10:30am instead of 10:00am?\n{reply}"
    )
    chat = hit("2026-03-08T09:00:00", "JenniferMoore and LiHua", text, "chat", ("JenniferMoore", "LiHua"))
    asked = parse("what time is my session with Jennifer on 9 March?", TODAY)
    corrected = correction(asked, [chat], TODAY)
    assert bool(corrected) == is_changed
    if corrected:
        assert corrected.change.endswith("works for me!")
        assert "10:30am instead of" in corrected.change


def test_a_new_date_says_itself_what_it_is_of() -> None:
    mail = hit("2026-03-03", "Chimney", "I am sorry. The new date for the handover is Friday 21 August.")
    corrected = correction(parse("What day is the handover?", TODAY), [mail], TODAY)
    assert corrected
    assert corrected.older is None


@pytest.mark.parametrize(
    ("newer", "is_changed"),
    [
        (hit(*MOVED), True),
        (hit(*MOVED, people=(BO,)), False),
        (hit(*MOVED, people=()), True),
        (hit(*MOVED, kind="event"), False),  # its date is when it takes place
        (hit("2026-03-20", *MOVED[1:]), False),  # from the future
        (hit("2025-03-01", *MOVED[1:]), False),  # older than the plan, and over
        (Hit(hit(*MOVED).passage, 1.0, 0.9, side="server"), False),
    ],
)
def test_dates_people_and_kinds_decide(newer: Hit, is_changed: bool) -> None:
    assert bool(correction(parse(ASKED, TODAY), [hit(*PLAN), newer], TODAY)) == is_changed


def test_what_is_over_is_no_answer_to_when_it_is_but_to_when_it_was() -> None:
    later = date(2026, 6, 1)
    hits = [hit(*PLAN), hit(*MOVED)]
    assert correction(parse(ASKED, later), hits, later) is None
    assert correction(parse("When was the garden meeting?", later), hits, later)


TALK = ("Anna: Dinner Friday at 7?", "Tom: Friday is bad.", "Tom: Can we do Saturday at 11?")


@pytest.mark.parametrize(
    ("said", "change", "before"),
    [
        ([*TALK, "Anna: works"], "Tom: Can we do Saturday at 11? Anna: works", TALK[0]),
        ([*TALK, "Anna: sorry, no"], None, None),
        (TALK, None, None),
        (["Anna: How about dinner on Friday at 7?", "Tom: ok"], None, None),  # nothing was proposed before
        (
            ["Anna: How about dinner on Friday at 7?", *TALK[2:], "Anna: ok"],
            "Tom: Can we do Saturday at 11? Anna: ok",
            "Anna: How about dinner on Friday at 7?",
        ),
        (
            [*TALK, "Anna: works", "Tom: Oh, how about Sunday at noon?", "Anna: sure"],
            "how about Sunday at noon? Anna: sure",
            TALK[0],
        ),
        # What was agreed stays, and a proposal for something else moves nothing.
        ([TALK[0], "Tom: yes", "Tom: And what about the dentist on Saturday at 11?", "Anna: yes works"], None, None),
        ([TALK[0], "Tom: And what about the dentist on Saturday at 11?", "Anna: yes works"], None, None),
        ([TALK[0], "Tom: yes", "Tom: How about Saturday at 11?", "Anna: yes works"], None, None),
        # Who proposes does not accept.
        ([*TALK, "Tom: ok I really hope so", "Anna: sorry, no"], None, None),
        ([*TALK, "Tom: ok I really hope so"], None, None),
        ([*TALK, "Tom: I hope so", "Anna: works"], "Tom: Can we do Saturday at 11? Anna: works", TALK[0]),
    ],
)
def test_an_accepted_reply_moves_what_was_proposed_in_a_chat(
    said: list[str], change: str | None, before: str | None
) -> None:
    chat = hit("2026-03-05", "Chat with Tom", "\n".join(said), "chat", ("Anna", "Tom"))
    today = date(2026, 3, 6)
    corrected = correction(parse("When is dinner with Tom?", today), [chat], today)
    assert (corrected is not None) == (change is not None)
    if corrected and change:
        assert change in corrected.change
        assert (corrected.before, corrected.older) == (before, chat)


MINUTES = ("2026-02-01", "Roof meeting", "The cost of the roof is 380 euros. Anna brings cake.")


@pytest.mark.parametrize(
    ("title", "text", "quoted"),
    [
        ("Roof meeting", "Corrections: the cost was wrong: it is 420.", "Corrections: the cost was wrong: it is 420."),
        ("Roof", "The cost of the roof was wrong. It is 420.", "The cost of the roof was wrong. It is 420."),
        ("Roof", "The roof costs 420 euros, not 380.", "The roof costs 420 euros, not 380."),
        (
            "Roof",
            "Corrections: the cost of the roof was wrong: it is 420. The hall has 18 seats, not 14.",
            "Corrections: the cost of the roof was wrong: it is 420.",
        ),
        ("Roof", "The cost of the boat was wrong: it is 420.", ""),
        ("Roof", "The cost of the roof was wrong.", ""),
        ("Roof", "The roof cost is fine.", ""),
    ],
)
def test_a_figure_that_was_corrected_answers_beside_the_older_one(title: str, text: str, quoted: str) -> None:
    hits = [hit(*MINUTES, "note", ()), hit("2026-02-15", title, text, "note", ())]
    for today in (date(2026, 3, 8), date(2027, 3, 8)):  # a figure is not over
        corrected = correction(parse("How much does the roof cost?", today), hits, today)
        assert (corrected.change if corrected else "") == quoted
        if corrected:
            assert corrected.before == "The cost of the roof is 380 euros."


LINE = "The cost of the roof is 380 euros."


@pytest.mark.parametrize(
    ("written", "text", "is_shown"),
    [
        ("2026-02-15", "Corrections: the cost was wrong: it is 420.", True),
        ("2026-02-15", "The cost was wrong. It is 420.", True),
        ("2026-02-15", "The cost is 420 euros, not 380.", True),
        ("2026-02-15", "The cost is 420 euros, not 350.", False),  # another figure
        ("2026-02-15", "Corrections: the cost was right: it is 380.", False),
        ("2026-02-15", "Corrections: the rent was wrong: it is 420.", False),
        ("2026-02-15", "Corrections: it is 420.", False),  # of what?
        ("2026-02-15", "The cost is 420 euros.", False),
        ("2026-01-15", "Corrections: the cost was wrong: it is 420.", False),  # older
    ],
)
def test_later_sentences_that_correct_a_quoted_figure(written: str, text: str, *, is_shown: bool) -> None:
    later = hit(written, "Minutes", text, "note", ()).passage
    source = hit(*MINUTES, "note", ()).passage
    assert [each.sentence for each in of_figures([(LINE, source)], [later])] == ([text] if is_shown else [])
    assert not of_figures([("Anna brings cake.", source)], [later])
