"""Messages and notes that move or cancel events of the calendar are quoted beside them, and no others."""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.message import EmailMessage
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from device_app.commands.today import today
from device_app.english.query import parse
from device_app.everyday.agenda import Agenda
from device_app.everyday.rule import Asked, Ruled
from device_app.knowledge.ingest import Ingestion
from device_app.knowledge.known_people import KnownPeople, known_people
from models.fake import FakeEmbedder
from storage.database import Database
from storage.knowledge import KnowledgeStore

if TYPE_CHECKING:
    from device_app.device import Device

NOW = datetime(2026, 11, 25, 9)  # a Wednesday
ME = "Runa Fjelde <runa@fjelde.example>"
PETRA = "Petra Novak <petra@novak.example>"
MARTINA = "Martina Bell <martina@bell.example>"
THERMO = "Thermo Service <office@thermo.example>"
CHOIR = "Lucia Conti <lucia@conti.example>"

EVENTS = (
    ("Boiler service", "20261126T100000", "PT1H"),
    ("Choir rehearsal", "20261106T190000", "PT2H", "LOCATION:Parish hall", "RRULE:FREQ=WEEKLY"),
    ("Theatre rehearsal", "20261128T150000", "PT2H"),
    ("Dentist, Dr Stocchi", "20261126T163000", "PT45M"),
    ("Dentist, Dr Stocchi", "20261210T090000", "PT45M"),
    ("Lunch with Martina", "20261127T123000", "PT1H", "ATTENDEE;CN=Martina Bell:mailto:martina@bell.example"),
    ("Call with Petra", "20261126T150000", "PT30M"),
    ("Book club", "20261202T200000", "PT2H"),
    ("Swimming course Mia", "20261006T160000", "PT45M", "RRULE:FREQ=WEEKLY"),
    ("Flat viewing, Elm Street 4", "20261130T170000", "PT30M"),
    ("Parents' evening", "20261201T180000", "PT2H"),
)
"""Title, start in Rome, length, and more lines of each event."""


@dataclass(frozen=True)
class Said:
    """A message or a note: who wrote it (a path for a note), when, its subject, and its text."""

    writer: str
    written: str
    subject: str
    text: str
    kind: str = "mail"


@dataclass
class House:
    """Stands in for the device: a store with the calendar and some messages, and the people in it."""

    knowledge: KnowledgeStore
    people: KnownPeople

    def __call__(self, question: str) -> Ruled | None:
        """Ask about the agenda."""
        now = NOW.astimezone()
        return Agenda(self.knowledge, self.people).answer(Asked(parse(question, now.date()), now))


Home = Callable[[Sequence[Said]], House]


@pytest.fixture(autouse=True)
def in_the_middle_of_europe(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Set the device's time zone to Central Europe."""
    with monkeypatch.context() as changed:
        changed.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
        time.tzset()
        yield
    time.tzset()


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """Read the calendar and some messages."""

    def read(messages: Sequence[Said]) -> House:
        folder = tmp_path / "files"
        folder.mkdir(exist_ok=True)
        lines = ["BEGIN:VCALENDAR"]
        for number, (title, start, length, *more) in enumerate(EVENTS):
            lines += ["BEGIN:VEVENT", f"UID:{number}", "DTSTAMP:20261110T080000Z", f"SUMMARY:{title}"]
            lines += [f"DTSTART;TZID=Europe/Rome:{start}", f"DURATION:{length}", *more, "END:VEVENT"]
        (folder / "a.ics").write_text("\r\n".join([*lines, "END:VCALENDAR", ""]))
        for number, said in enumerate(messages):
            _write(folder, number, said)
        store = KnowledgeStore(Database(tmp_path / "jackdaw.db"))
        Ingestion(store, FakeEmbedder()).run([folder])
        people = known_people(store.database)
        people.state_me([ME])
        return House(store, people)

    return read


def _write(folder: Path, number: int, said: Said) -> None:
    if said.kind == "note":
        (folder / said.writer).write_text(f"# {said.subject}\n\n{said.text}\n")
    elif said.kind == "chat":
        each = [line.partition(": ") for line in said.text.splitlines()]
        messages = [{"date": said.written, "from": speaker, "text": text} for speaker, _, text in each]
        (folder / f"{number}.json").write_text(json.dumps({"title": said.subject, "messages": messages}))
    else:
        mail = EmailMessage()
        mail["From"], mail["To"], mail["Subject"] = said.writer, ME, said.subject
        mail["Date"] = datetime.fromisoformat(said.written)
        mail.set_content(said.text)
        (folder / f"{number}.eml").write_bytes(bytes(mail))


MONDAY = "2026-11-23T11:00:00+01:00"
BOILER = Said(
    THERMO, MONDAY, "Boiler service", "Dear customer,\n\nWe have to move the appointment. The new time is Friday 15:00."
)
CHOIR_OFF = Said(CHOIR, MONDAY, "Friday", "Hello all, the choir rehearsal on Friday is cancelled, I am ill.")
ON_THURSDAY = "What is on tomorrow?"
ON_FRIDAY = "What is on on Friday?"
WHEN_BOILER = "When is the boiler service?"


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        (
            ON_THURSDAY,
            "Tomorrow, Thursday, 26 November:\n\n- 10:00–11:00 Boiler service [1]\n"
            "  (mail of 23 November from Thermo Service: “We have to move the appointment. "
            "The new time is Friday 15:00.” [2])\n"
            "- 15:00–15:30 Call with Petra [3]\n- 16:30–17:15 Dentist, Dr Stocchi [4]",
        ),
        (
            WHEN_BOILER,
            "Tomorrow, Thursday, 26 November, 10:00–11:00: Boiler service [1].\n\n"
            "(mail of 23 November from Thermo Service: “We have to move the appointment. "
            "The new time is Friday 15:00.” [2])",
        ),
        (
            "Am I free on Friday afternoon?",
            "Your calendar says no:\n\n- 12:30–13:30 Lunch with Martina [1]\n\n"
            "Moved: tomorrow, Thursday, 26 November, 10:00–11:00: Boiler service [2]\n"
            "(mail of 23 November from Thermo Service: “We have to move the appointment. "
            "The new time is Friday 15:00.” [3])",
        ),
        (
            "Is the boiler service on Friday?",
            "Your calendar says no, “boiler service” is not planned on Friday, 27 November.\n\n"
            "Nearest: tomorrow, Thursday, 26 November, 10:00–11:00: Boiler service [1].\n\n"
            "(mail of 23 November from Thermo Service: “We have to move the appointment. "
            "The new time is Friday 15:00.” [2])",
        ),
        (
            "Is the boiler service still on Thursday?",
            "Your calendar says yes, tomorrow, Thursday, 26 November:\n\n- 10:00–11:00 Boiler service [1]\n"
            "  (mail of 23 November from Thermo Service: “We have to move the appointment. "
            "The new time is Friday 15:00.” [2])",
        ),
    ],
)
def test_a_newer_mail_stands_beside_the_event_that_it_moves(home: Home, question: str, expected: str) -> None:
    answer = home([BOILER])(question)
    assert answer
    assert answer.text == expected


def test_the_first_screen_shows_the_mail_beside_the_next_event(home: Home) -> None:
    shown = today(cast("Device", home([BOILER])), NOW.astimezone())
    assert shown.next == (
        "tomorrow, Thursday, 26 November: 10:00–11:00 Boiler service (mail of 23 November from Thermo Service: "
        "“We have to move the appointment. The new time is Friday 15:00.”)"
    )
    shown = today(cast("Device", home([BOILER])), (NOW + timedelta(days=1)).astimezone())
    assert len(shown.events) == 3


def mail(text: str, subject: str = "Hello", writer: str = THERMO, written: str = MONDAY) -> Said:
    return Said(writer, written, subject, text)


def chat(text: str, title: str = "Petra", written: str = "2026-11-25T08:00:00+01:00") -> Said:
    return Said("", written, title, text, "chat")


def note(text: str, name: str = "2026-11-24_phone.md", title: str = "Calls") -> Said:
    return Said(name, "", title, text, "note")


@pytest.mark.parametrize(
    ("question", "said", "quoted"),
    [
        (ON_FRIDAY, CHOIR_OFF, "the choir rehearsal on Friday is cancelled"),
        ("Is the choir rehearsal happening on Friday?", CHOIR_OFF, "is cancelled"),
        ("Is choir on on Friday?", CHOIR_OFF, "is cancelled"),
        ("When is the next choir rehearsal?", CHOIR_OFF, "is cancelled"),
        ("What is on this week?", CHOIR_OFF, "is cancelled"),
        (ON_FRIDAY, mail("Rehearsal is cancelled this week.", "Choir", CHOIR), "cancelled this week"),
        (ON_FRIDAY, mail("There is no choir rehearsal on Friday!", "News", CHOIR), "no choir rehearsal"),
        (ON_FRIDAY, mail("On Friday we start at 8 instead of 7.", "Choir rehearsal", CHOIR), "8 instead of 7"),
        (ON_FRIDAY, mail("Friday's choir rehearsal is moved to the town hall.", "News", CHOIR), "town hall"),
        (ON_FRIDAY, mail("I have to cancel our lunch on Friday, sorry!", "Sorry", MARTINA), "cancel our lunch"),
        (ON_FRIDAY, mail("Our lunch has to be at 13:30 instead of 12:30.", "Friday", MARTINA), "13:30 instead"),
        (ON_FRIDAY, mail("The choir rehearsal starts half an hour earlier on Friday.", "News"), "half an hour earlier"),
        (WHEN_BOILER, mail("Your boiler service has been moved to Friday, 27 November, 9:00."), "moved to Friday"),
        (WHEN_BOILER, mail("New date for the boiler service: Tue 1 Dec, 10am"), "New date"),
        (WHEN_BOILER, mail("See you then.", "Boiler service moved to Friday"), "Boiler service moved to Friday"),
        (WHEN_BOILER, note("The boiler service is moved from Thursday to 2 December at 8:00."), "moved from Thursday"),
        (WHEN_BOILER, chat("Tom: Thermo rang\nTom: The boiler service is postponed to Monday", "Tom"), "postponed"),
        (ON_THURSDAY, chat("Petra Novak: Can't talk. I have to cancel our call tomorrow"), "cancel our call"),
        (ON_THURSDAY, chat("Petra Novak: Our call moves from Thursday to Friday at 15:00"), "moves from Thursday"),
        (
            "Is the dentist still on Thursday?",
            mail("Your dentist appointment on Thursday cannot take place.", "Appointment"),
            "cannot take place",
        ),
        (
            ON_THURSDAY,
            mail("Unfortunately your appointment on 26 November has to be cancelled.", "Dentist Dr Stocchi"),
            "has to be cancelled",
        ),
        (ON_THURSDAY, note("Dentist rang: appointment on Thursday moved to 17:00."), "Dentist rang"),
        ("What is on on 10 December?", mail("The dentist is moved from 10 December to 14 December."), "10 December"),
        (
            "What is on on 10 December?",
            mail("We have to postpone your dentist appointment on 10 December."),
            "postpone",
        ),
        (
            "When is the flat viewing?",
            mail("The viewing has been rescheduled: Tuesday 17:30.", "Elm Street 4"),
            "17:30",
        ),
        (ON_FRIDAY, mail("Because of the storm the choir rehearsal on Friday is cancelled."), "Because of the storm"),
        (ON_FRIDAY, mail("We rehearse on Thursday instead of Friday.", "Choir rehearsal", CHOIR), "instead of Friday"),
        (
            WHEN_BOILER,
            mail("Our engineer will arrive two hours later on Thursday.", "Boiler service"),
            "two hours later",
        ),
        ("When is the book club?", mail("The book club is postponed until January.", "Hello", PETRA), "until January"),
        ("When is the book club?", mail("The book club will not meet on 2 December.", "Hello", PETRA), "not meet"),
        ("What is on next Tuesday?", chat("Tom: Swimming is cancelled on Tuesday, the pool is closed", "Tom"), "pool"),
        (
            "What is on next Tuesday?",
            mail("All courses on 1 December are cancelled.", writer="Swim Club <s@s.example>"),
            "All",
        ),
        ("When is lunch with Martina?", mail("I must cancel our lunch on Friday.", writer=MARTINA), "cancel our lunch"),
        ("What is on next Tuesday?", mail("The parents' evening on 1 December was cancelled."), "was cancelled"),
    ],
)
def test_messages_that_move_or_cancel_an_event(home: Home, question: str, said: Said, quoted: str) -> None:
    answer = home([said])(question)
    assert answer
    assert quoted in answer.text
    assert [each.as_json()["type"] for each in answer.items].count("notice") == 1


@pytest.mark.parametrize(
    ("question", "said"),
    [
        # another event of the same word
        (ON_FRIDAY, mail("The theatre rehearsal on Saturday is cancelled.", "News")),
        (ON_FRIDAY, mail("The youth choir rehearsal on Friday is cancelled.", "News")),
        (ON_FRIDAY, mail("The choir concert on Friday is cancelled.", "Choir")),
        (ON_FRIDAY, mail("My lunch on Friday is cancelled.", "Work", PETRA)),
        (ON_FRIDAY, mail("Lunch on Friday is cancelled, the canteen is closed.", "Canteen", PETRA)),
        (ON_THURSDAY, mail("My dentist appointment got moved to Monday.", "Teeth", PETRA)),
        (ON_THURSDAY, mail("Tom's dentist appointment on Thursday is cancelled.", "Teeth", PETRA)),
        (WHEN_BOILER, mail("The car service on Thursday is moved to Friday.", "Car service")),
        (ON_THURSDAY, mail("The rehearsal is cancelled.", "News")),
        # another thing than an event
        (ON_FRIDAY, mail("The trains are cancelled, so I come late to the choir rehearsal on Friday.", "Trains")),
        (ON_FRIDAY, mail("I will take the 18:00 bus to the choir rehearsal on Friday instead.", "Bus")),
        (ON_FRIDAY, mail("I have to cancel my subscription.", "Choir rehearsal", CHOIR)),
        (ON_THURSDAY, mail("Petra is off on Thursday.", "Holidays", PETRA)),
        ("When is the book club?", mail("The book for the book club was changed to Emma.", "Books", PETRA)),
        (WHEN_BOILER, mail("The price of the boiler service has been changed to 120 euros.")),
        (WHEN_BOILER, mail("The boiler service now costs 120 euros instead of 100.")),
        (WHEN_BOILER, mail("I moved the boiler manual to the cellar.", "Boiler service")),
        # an older message, and one about a day that is over
        (WHEN_BOILER, mail(BOILER.text, BOILER.subject, written="2026-11-05T11:00:00+01:00")),
        (ON_FRIDAY, mail("The choir rehearsal on Friday is cancelled.", written="2026-11-16T09:00:00+01:00")),
        (ON_FRIDAY, mail("Last Friday's choir rehearsal was cancelled.")),
        # not yet written
        (ON_FRIDAY, mail(CHOIR_OFF.text, written="2026-11-26T09:00:00+01:00")),
        # another week
        (ON_FRIDAY, mail("The choir rehearsal on 4 December is cancelled.", "Choir", CHOIR)),
        (ON_FRIDAY, mail("The choir rehearsal next week is cancelled.", "Choir", CHOIR)),
        (ON_FRIDAY, mail("The choir rehearsal is moved from 4 December to 5 December.", "Choir", CHOIR)),
        (ON_THURSDAY, mail("The dentist is moved from 10 December to 14 December.")),
        # another time
        (ON_FRIDAY, mail("On Friday we start at 4 instead of 3.", "Choir rehearsal", CHOIR)),
        (ON_FRIDAY, mail("The choir rehearsal at 16:00 on Friday is cancelled.", "Choir", CHOIR)),
        # a mention, a question, a wish, a condition
        (ON_FRIDAY, mail("Is the choir rehearsal on Friday cancelled?")),
        (ON_FRIDAY, mail("If the choir rehearsal on Friday is cancelled, ring me.")),
        (ON_FRIDAY, mail("I hope the choir rehearsal on Friday is not cancelled.")),
        (ON_FRIDAY, mail("Could we move the choir rehearsal to Thursday?")),
        (ON_FRIDAY, mail("The choir rehearsal on Friday might be cancelled.")),
        (ON_FRIDAY, mail("Bring the new scores to the choir rehearsal on Friday.")),
        (WHEN_BOILER, note("I have put the boiler service in the calendar for Thursday.")),
        # not moved, and already in the calendar
        (ON_FRIDAY, mail("The choir rehearsal on Friday is not cancelled!")),
        (WHEN_BOILER, mail("The boiler service has been moved to Thursday, 26 November, at 10:00.")),
        (WHEN_BOILER, mail("The boiler service has been moved to Thursday, 10 am.")),
        (ON_FRIDAY, mail("The choir rehearsal is moved to the parish hall.", "News", CHOIR)),
        # quoted from somebody else
        (ON_FRIDAY, mail("Thank you, see you there.\n\n> The choir rehearsal on Friday is cancelled.")),
        (ON_FRIDAY, mail("You wrote: the choir rehearsal on Friday is cancelled. That was another choir.")),
        (ON_FRIDAY, mail("Lucia wrote “The choir rehearsal on Friday is cancelled.” in spring.")),
    ],
)
def test_no_message_is_linked_to_an_event_that_it_does_not_change(home: Home, question: str, said: Said) -> None:
    ask = home([said])
    answer = ask(question)
    assert answer
    assert "mail of" not in answer.text
    assert "note of" not in answer.text
    assert "notice" not in {each.as_json()["type"] for each in answer.items}
