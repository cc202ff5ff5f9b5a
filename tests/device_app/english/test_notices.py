"""Sentences that move or cancel an event, and those that only look like it."""

import pytest

from device_app.english.notices import denies, notice


@pytest.mark.parametrize(
    ("sentence", "kind", "words"),
    [
        ("The choir rehearsal on Friday is cancelled.", "cancelled", ("choir", "rehearsal")),
        ("The new time is Thursday 15:00.", "moved", ()),
        ("Your boiler service has been moved to Thursday, 26 November, at 15:00.", "moved", ("boil", "servic")),
        ("On Friday we start at 4 instead of 3.", "moved", ()),
        ("Choir rehearsal moved to Friday", "moved", ("choir", "rehearsal")),
        ("We have to move the appointment.", "moved", ()),
        ("Sorry, I have to cancel tomorrow.", "cancelled", ()),
        ("Unfortunately, we need to postpone the boiler service until next week.", "moved", ("boil", "servic")),
        ("There is no rehearsal tonight.", "cancelled", ("rehearsal",)),
        ("The rehearsal won't take place this week.", "cancelled", ("rehearsal",)),
        ("The dentist is not on Thursday but on Friday.", "moved", ("dentist",)),
        ("Book club is now on Tuesday.", "moved", ("book", "club")),
        ("Petra moved the book club to Tuesday.", "moved", ("book", "club")),
        ("The meeting will start an hour later on Friday.", "moved", ()),
        ("Correction: the rehearsal is on Friday, not Thursday.", "moved", ("rehearsal",)),
        ("The trains are cancelled, so I come late to the choir rehearsal.", "cancelled", ("train",)),
        ("The rehearsal is cancelled, please tell the others.", "cancelled", ("rehearsal",)),
        ("Please note that the rehearsal is moved to Friday.", "moved", ("rehearsal",)),
        ("We have brought the rehearsal forward to Tuesday.", "moved", ("rehearsal",)),
        ("The boiler service is moved; the new time is Thursday at 15:00.", "moved", ("boil", "servic")),
        ("The rehearsal has been postponed by a week.", "moved", ("rehearsal",)),
        ("Dinner is off, we are ill.", "cancelled", ("din",)),
        ("The venue for the rehearsal has changed to the town hall.", "moved", ("rehearsal",)),
    ],
)
def test_notices_and_what_they_name(sentence: str, kind: str, words: tuple[str, ...]) -> None:
    given = notice(sentence)
    assert given
    assert (given.kind, given.words) == (kind, words)
    assert not denies(sentence)


@pytest.mark.parametrize(
    ("sentence", "held", "new"),
    [
        ("It was moved from 4 December to 11 December.", "4 december", "11 december"),
        ("We meet on Friday instead of Thursday.", "thursday", "we meet on friday"),
        ("The dentist is not on Thursday but on Friday.", "on thursday", "on friday"),
        ("Thursday's rehearsal is moved to Friday.", "thursday's rehearsal is", "friday"),
        ("On Friday we start at 4 instead of 3.", "on friday we start at at 3", "on friday we start at 4"),
        ("The choir rehearsal on Friday is cancelled, see you in May.", "the choir rehearsal on friday", ""),
    ],
)
def test_what_held_before_and_what_is_new(sentence: str, held: str, new: str) -> None:
    given = notice(sentence)
    assert given
    assert " ".join(given.held.split()) == held
    assert given.kind == "cancelled" or " ".join(given.new.split()) == new


@pytest.mark.parametrize(
    ("sentence", "owner"),
    [("My lunch is cancelled.", "mine"), ("Her lunch is cancelled.", "others"), ("Our lunch is cancelled.", "")],
)
def test_whose_event_it_is(sentence: str, owner: str) -> None:
    given = notice(sentence)
    assert given
    assert given.owner == owner


@pytest.mark.parametrize(
    "sentence",
    [
        "We moved to a new flat.",
        "I will take the 10:00 bus instead.",
        "If the rehearsal is cancelled, call me.",
        "Rumour has it that the rehearsal is cancelled.",
        "The rehearsal might be moved to Friday.",
        "Can we move lunch to Friday?",
        "We would like to move lunch to Friday.",
        "Please move the meeting to Friday.",
        "You wrote: the rehearsal is moved to Friday.",
        "> The rehearsal is moved to Friday.",
        "He said “the rehearsal is cancelled”.",
        "We changed the oil on Friday.",
        "I have put the boiler service in the calendar for Friday.",
        "I will bring the choir rehearsal sheets on Friday.",
        "We have a new appointment booking system: see the website.",
        "I hope the dentist is not cancelled.",
        "The rehearsal is on Friday at 19:00.",
        "",
        "?",
    ],
)
def test_sentences_that_are_no_notice(sentence: str) -> None:
    assert notice(sentence) is None


@pytest.mark.parametrize(
    ("sentence", "is_denial"),
    [
        ("The rehearsal is not cancelled.", True),
        ("That is wrong.", True),
        ("It isn't moved after all.", True),
        ("The rehearsal takes place as planned.", True),
        ("Choir is still on.", True),
        ("It stays on Thursday.", True),
        ("Is the rehearsal not cancelled?", False),
        ("The rehearsal is cancelled.", False),
        ("The appointment is pushed back to 10 December.", False),
        ("See you on Thursday.", False),
    ],
)
def test_what_says_that_nothing_is_moved(sentence: str, is_denial: bool) -> None:
    assert denies(sentence) == is_denial
