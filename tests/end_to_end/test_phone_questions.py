"""Questions about a phone's messages stay on the device, whatever a connected server could answer."""

from collections.abc import Sequence

import pytest

from device_app.ahead.phone import read
from device_app.english.private import ON_PHONE
from device_app.knowledge.ingest import Ingestion
from device_app.knowledge.known_people import known_people
from device_app.knowledge.phone.reading import PhoneReading
from device_app.knowledge.phone.sources import MESSAGES, Source
from device_app.settings import Settings
from models.fake import FakeEmbedder
from storage.knowledge import KnowledgeStore
from storage.phone_sources import PhoneSources
from tests import termux
from tests.companion import serve
from tests.devices import device_over
from tests.faults import until
from tests.household import Home, home

__all__ = ["home", "serve"]


@pytest.fixture
def connected(home: Home) -> Home:
    """A device that has read its messages, and whose link is open with no message under way."""

    def fetch(_source: Source, skip: int, _most: int) -> Sequence[object]:
        return termux.MESSAGES[skip:]

    store = KnowledgeStore(home.database)
    sources = PhoneSources(home.database)
    sources.allow(MESSAGES.name)
    reading = PhoneReading(Ingestion(store, FakeEmbedder()), sources, known_people(home.database), fetch)
    read(device_over(home.database, Settings()), reading, MESSAGES.name)
    assert home.public.link.wait(30).connected
    until(lambda: home.public.link.state.round_trip_s)
    return home


@pytest.mark.parametrize(
    "question",
    [
        "What did Anna text about Friday?",
        "what did anna text about the river danube?",
        "Where does Lindqvist say that the Danube ends?",
        "Who texted me about the Danube?",
        "Great, see you on Friday then: where does that leave the blue drill at seven?",
        "Did I miss a call? Any missed calls about the Danube?",
        "Did anyone ring me about the Danube?",
        "Who messaged me where the key is?",
        "Whose number is 0170 7654321?",
        "Have I missed a call from the office?",
        "Who left me a voice mail?",
        "Did the river office call?",
        "Where does lindqvists message say to meet?",
    ],
)
@pytest.mark.parametrize("together", [False, True])
def test_nothing_of_it_is_on_the_wire(question: str, together: bool, connected: Home) -> None:
    before = connected.proxy.sent
    answer = connected.ask(question, together=together)
    assert answer.egress.bytes == 0
    assert connected.proxy.sent == before
    assert connected.searches == 0


def test_the_reason_is_said(connected: Home) -> None:
    answer = connected.ask("Who texted me where the Danube ends?", together=True)
    assert any("phone" in reason for reason in answer.decided) or ON_PHONE.capitalize() in answer.text


def test_a_public_question_still_leaves(connected: Home) -> None:
    assert connected.ask("Where does the Danube end?").egress.bytes


def test_before_messages_are_read_such_words_mean_nothing(home: Home) -> None:
    assert home.public.link.wait(30).connected
    assert home.ask("Who texted that the Danube ends in the Black Sea?").egress.bytes
