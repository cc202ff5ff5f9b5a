"""Questions with a filter, a path or a reference to an earlier question, in any spelling: no byte of them is sent."""

import random
from contextlib import closing
from datetime import date
from itertools import product

import pytest

from device_app.companion.link import heartbeat
from device_app.english.private import reason
from device_app.english.query import FILTERS, parse
from shared.errors import UsageError
from tests.companion import serve
from tests.faults import until
from tests.household import OPTIONS, Home, home

__all__ = ["home", "serve"]

TODAY = date(2026, 11, 23)
SPELLINGS = 100_000
ON_THE_WIRE = 1_000

PUBLIC = ("who founded amazon", "Where does the Danube end?", "when was qutub minar built")
VALUES = ("petra", "Petra", '"Petra Nowak"', "“Petra Nowak”", "2026-03", "2026-03-14", "taxes", "é", "x.y", "petra?")
SPACES = ("", " ", "  ", "\t", "\u00a0", "\u2009", "\n")
BRACKETS = (("", ""), ("(", ")"), ("[", "]"), ("{", "}"), ("", ","), ("", "."), ("", ";"), (" (", ") "))
OWN_NAMES = ("folder", "path", "file", "sender", "form", "frmo", "knd", "befor", "since", "von", "de", "tag", "x")
PATHS = ("~/notes", "/home/anna/notes", "C:\\Users\\anna", "notes/2026/plan", "letter.docx", "tax_2025", "“drill”")
FOLLOWING = ("And who is the surgeon", "And what did it cost", "Why", "What about her", "When is it", "Who paid")
CLAUSES = (", and when was qutub minar built?", "? When was qutub minar built?", " and where does the Danube end?")


def spelt(draw: random.Random) -> str:
    """Return a question that names something private, in one of very many spellings."""
    question = draw.choice(PUBLIC)
    kind = draw.random()
    if kind < 0.6:
        name = "".join(letter.upper() if draw.random() < 0.4 else letter for letter in draw.choice(FILTERS))
        joint = draw.choice(SPACES) + draw.choice((":", "：")) + draw.choice(SPACES)
        written = name + joint + draw.choice(VALUES)
    elif kind < 0.8:
        written = draw.choice(OWN_NAMES) + ":" + draw.choice(VALUES)
    else:
        written = draw.choice(PATHS)
    opening, closing = draw.choice(BRACKETS)
    written = f"{opening}{written}{closing}"
    return f"{written} {question}" if draw.random() < 0.5 else f"{question} {written}"


@pytest.fixture
def connected(home: Home, monkeypatch: pytest.MonkeyPatch) -> Home:
    """A device whose link is open, and on which no message is under way, nor a ping, however long a test takes."""
    monkeypatch.setattr(heartbeat, "IDLE_PING_S", 3600.0)
    monkeypatch.setattr(heartbeat, "IDLE_SILENT_S", 7200.0)
    assert home.public.link.wait(30).connected
    until(lambda: home.public.link.state.round_trip_s)
    return home


@pytest.mark.long
def test_no_spelling_is_for_anybody_else(connected: Home) -> None:
    draw, held = random.Random(22), connected.assistant.retriever.store.has_path
    leaving = []
    for question in (spelt(draw) for _ in range(SPELLINGS)):
        try:
            if not reason(parse(question, TODAY), False, held):
                leaving.append(question)
        except UsageError:
            pass  # a day that is none: the question is asked of nobody
    assert leaving == []


def test_no_byte_of_them_is_on_the_wire(connected: Home) -> None:
    draw, before = random.Random(1), connected.proxy.sent
    for question in (spelt(draw) for _ in range(ON_THE_WIRE)):
        try:
            answer = connected.ask(question, together=draw.random() < 0.3)
        except UsageError:
            continue
        assert answer.egress.bytes == 0, question
    assert connected.proxy.sent == before
    assert connected.searches == 0


@pytest.mark.parametrize("interrupted", [False, True])
def test_no_follow_up_is_on_the_wire(connected: Home, interrupted: bool) -> None:
    """A follow-up stays on the device even after an interrupted answer, or with a second question in it."""
    with closing(connected.assistant.ask("Who has borrowed the blue drill?", OPTIONS)) as events:  # type: ignore[type-var]  # it is a generator
        for _ in events:
            if interrupted:
                break
    conversation = connected.assistant.conversations.latest()
    before = connected.proxy.sent
    for opening, clause in product(FOLLOWING, ("", *CLAUSES)):
        assert connected.ask(f"{opening}{clause}", conversation).egress.bytes == 0, (opening, clause)
    assert connected.proxy.sent == before


def test_a_public_question_still_leaves(connected: Home) -> None:
    assert connected.ask("Where does the Danube end?").egress.bytes
