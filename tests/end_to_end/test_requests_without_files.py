"""The assistant with a server: requests that need no file, and which of their data are sent."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from device_app.answering.conclusion import TO_FILES
from device_app.companion.dispatch.cost import ServerPrice
from device_app.companion.dispatch.day import DayLimits
from device_app.companion.link.link import Link
from device_app.english.private import HOLDS_TEXT, MAY_NAME_FILES, NAMES_KNOWN, OWN_ALONE
from device_app.knowledge.ingest import Ingestion
from device_app.knowledge.names import MOST_WORDS
from models.fake import FakeEmbedder
from shared.protocol import messages as m
from storage.knowledge import KnowledgeStore
from tests.companion import Serve
from tests.faults import until
from tests.household import DEVICE_FREE, Home, home

__all__ = ["home"]

POEM = "Write a poem about the sea"
LINE = "The key of the boathouse lies under the third stone beside the door."
TEXT = f"Summarise this text:\n{LINE}\nThat is all."
SENT: dict[str, Any] = {"reach": "question"}


@pytest.fixture
def dear_device(home: Home) -> Home:
    """A home in which the device is so expensive that the server is asked first, and the device does not start while
    the server answers.
    """
    home.public.prices = replace(DEVICE_FREE, spare=0.0, per_joule=1.0, server=ServerPrice(1, 1))
    return home


def test_a_public_request_may_be_written_by_the_server(dear_device: Home) -> None:
    answer = dear_device.ask(POEM, **SENT)
    assert (answer.origin, answer.model_only, answer.hits, answer.evidence) == ("cloud", True, (), None)
    assert answer.egress.items == ("the question",)
    assert answer.egress.bytes > len(POEM)
    assert dear_device.ask(POEM, **SENT).matched is None  # not kept
    assert dear_device.public.memory.held.knowledge.ledger.count == 2


def test_what_is_the_persons_own_stays(dear_device: Home) -> None:
    home = dear_device
    home.add("mails.md", "We met Anna Berg at 12345 Harbour Road. She likes roses.")
    link = home.public.link
    assert link.wait(30).connected
    until(lambda: link.state.round_trip_s)
    before = home.proxy.sent
    for request, why in (
        (TEXT, HOLDS_TEXT),
        ("Translate 'I was fired' into German", HOLDS_TEXT),
        ("Please explain this: the tumour is malignant and has spread", HOLDS_TEXT),
        ("Write a poem for Petra", NAMES_KNOWN),
        ("write a poem for petra", NAMES_KNOWN),
        ("Write a story about harbour road", NAMES_KNOWN),
        ("Write a story about number 12345", NAMES_KNOWN),
        ("Write a mail to someone@example.example", NAMES_KNOWN),
        (f"Write a story about {' '.join(f'word{number}' for number in range(MOST_WORDS + 1))}", NAMES_KNOWN),
        ("Write a poem like “drill.md”", MAY_NAME_FILES),
    ):
        answer = home.ask(request, **SENT)
        assert (answer.origin, answer.egress.bytes, answer.decided[-1]) == ("device", 0, why), request
    first = home.ask(TEXT, **SENT)
    follow_up = home.ask("And make it shorter", first.conversation_id, model_only=True, **SENT)
    assert (follow_up.egress.bytes, follow_up.decided[-1]) == (0, OWN_ALONE)
    assert home.ask(POEM, public=False, **SENT).egress.bytes == 0
    assert home.ask(POEM, reach="asked").egress.bytes == 0
    assert home.proxy.sent == before
    assert home.ask("Write a poem about roses", **SENT).origin == "cloud"


def test_what_is_sent_on_purpose_leaves_and_is_in_the_ledger(dear_device: Home) -> None:
    answer = dear_device.ask(TEXT, model_only=True, send=True)
    assert (answer.text, answer.origin, answer.egress.items) == (LINE, "cloud", ("the question",))
    assert dear_device.assistant.conversations.egress() == (1, answer.egress.bytes)
    after = dear_device.ask("Is it short?", answer.conversation_id, model_only=True, send=True)
    assert after.egress.bytes > 0


@pytest.mark.parametrize("unsuited", ["", "The model is too small."])
def test_where_the_server_takes_no_such_requests_the_device_writes_alone(home: Home, unsuited: str) -> None:
    link = home.public.link
    link.wait(30)
    until(lambda: link.state.round_trip_s)
    assert link.state.offer
    assert link.state.offer.model_only
    link.current.state = replace(link.state, offer=structs.replace(link.state.offer, model_only=False))
    before = home.proxy.sent
    answer = home.ask(POEM, unsuited=unsuited, **SENT)
    assert (answer.origin, answer.egress.bytes, home.proxy.sent) == ("device", 0, before)
    if unsuited:
        assert not answer.found
        assert answer.text.startswith(unsuited)
        assert "writes answers from its passages only" in answer.text
        assert answer.text.endswith(TO_FILES)
    else:
        assert answer.decided[-1].startswith("this device wrote alone: the server at ")
    assert home.ask(unsuited=unsuited, **SENT).origin in ("cloud", "device", "migrated")  # a question of fact


def test_a_server_whose_answers_are_too_short_only_finds_passages(home: Home) -> None:
    link = home.public.link
    link.wait(30)
    until(lambda: link.state.round_trip_s)
    assert link.state.offer
    link.current.state = replace(link.state, offer=structs.replace(link.state.offer, max_tokens=8))
    answer = home.ask(pipeline="hyde")
    assert (answer.origin, len(answer.hits)) == ("device", 1)
    assert home.ask(POEM, **SENT).origin == "device"
    assert not home.ask(POEM, unsuited="Too small.", **SENT).found


def test_too_small_a_device_leaves_it_to_the_server(home: Home) -> None:
    answer = home.ask(POEM, unsuited="Too small.", **SENT)
    assert (answer.origin, answer.found) == ("cloud", True)
    assert "the server alone: the model of this device is too small for this question" in answer.decided
    home.public.prices = replace(DEVICE_FREE, day=DayLimits(money=1e-9))
    declined = home.ask(POEM, unsuited="Too small.", **SENT)
    assert (declined.found, declined.egress.bytes) == (False, 0)
    assert "No server wrote it: today's 1e-09 in your currency (link.day_money) is used up." in declined.text
    assert home.ask(POEM, unsuited="Too small.", model_only=True, **SENT).found


def test_a_server_that_is_away_is_said(home: Home) -> None:
    home.served.end()
    answer = home.ask(POEM, **SENT)
    assert (answer.origin, answer.found) == ("device", True)
    assert "cannot be asked" in answer.decided[-1]
    assert "cannot be asked" in home.ask(POEM, unsuited="Too small.", **SENT).text


@pytest.mark.parametrize("versions", [(1,), (2,), (1, 2)])
def test_every_version_of_the_protocol_carries_such_requests(dear_device: Home, versions: tuple[int, ...]) -> None:
    connect = dear_device.public.connect

    def older() -> Link:
        link = connect()
        credentials = link._credentials
        link.close()
        return Link(credentials, m.Hello(versions, "fake", "fake", "test"))

    dear_device.public.connect = older
    assert dear_device.ask(TEXT, model_only=True, send=True).text == LINE


def test_the_operator_can_refuse_them(serve: Serve) -> None:
    from tests.companion import Phone

    served = serve(limits={"model_only": False})
    phone = Phone(served.url, served.token()).connects()
    (welcome,) = [event for event in phone.inbox if isinstance(event, m.Welcome)]
    assert not welcome.offer.model_only
    refused = phone.until_ended(phone.asks(POEM, passages=0))
    assert isinstance(refused, m.Failed)
    assert (refused.code, refused.message) == ("no_source", "This server writes answers from passages only.")
    assert isinstance(phone.until_ended(phone.asks("Where does the Danube end?")), m.Finished)
    phone.cuts()


def test_names_in_mails_are_known_in_any_spelling(dear_device: Home, tmp_path: Path) -> None:
    mail = "From: Åse Lund <aase@lund.example>\nSubject: roses\n\nthe roses are here.\n"
    (dear_device.folder / "a.eml").write_text(mail)
    Ingestion(KnowledgeStore(dear_device.database), FakeEmbedder()).run([dear_device.folder])
    assert dear_device.ask("Write a poem for åse", **SENT).egress.bytes == 0
    assert dear_device.ask("Write a poem for ASE", **SENT).egress.bytes == 0
    assert dear_device.ask("Write a poem about roses", **SENT).egress.bytes > 0
