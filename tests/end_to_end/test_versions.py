"""Devices and servers with old and new protocol versions: every pair works, and a new pair exchanges the additional
messages.
"""

from collections.abc import Iterable
from contextlib import closing

import msgspec
import pytest

from cloud_server.pipelines.turn import Round
from device_app.companion.dispatch.memory import Memory
from device_app.companion.dispatch.public import PublicQuestions
from device_app.companion.dispatch.weighed import Weighed
from device_app.companion.link.credentials import Credentials
from device_app.companion.link.link import Link
from device_app.question.answer import Answer, Found, LookedUp, Wrote, looked_up_line
from shared.errors import UsageError
from shared.protocol import messages as m
from shared.protocol.device import DeviceSession
from tests.companion import FACTS, Phone, Serve
from tests.faults import DANUBE
from tests.household import DEVICE_FREE, OPTIONS, SERVER_FREE, Home, home
from tests.lying import Said, lying
from tests.racing import SERVER, TEXT
from tests.rounds import BEFORE, BEHIND, RIVERS, looks_up

__all__ = ["home"]

ROUNDS = (
    LookedUp("hyde", ("The Danube[31m flows through ten countries.",), (0, 1)),
    LookedUp("hyde", ("Who pairs for life?", "Where?"), (0, 2)),
)


def by_server(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the server alone generate all answers."""
    home.public.prices = SERVER_FREE
    monkeypatch.setattr(Weighed, "decide", lambda *_: SERVER)


def as_version_1(said: Said) -> Iterable[Said | str]:
    """Return a server's message as a server of version 1 sends it."""
    if not isinstance(said, m.Welcome):
        return (said,)
    welcome = msgspec.to_builtins(said)
    del welcome["offer"]["pipelines"]
    return (msgspec.json.encode(welcome).decode(),)


def test_a_device_of_version_1_is_answered_by_a_new_server(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    looks_up(monkeypatch)
    served = serve()
    phone = Phone(served.url, served.token())
    phone.session = DeviceSession(m.Hello((1,), "fake", "fake", "test"))
    phone.connects()
    assert phone.session.version == 1
    request = phone.asks(DANUBE)
    assert isinstance(phone.until_ended(request), m.Finished)
    assert phone.text(request) == TEXT
    assert not any(isinstance(event, m.Round) for event in phone.inbox)


def test_a_new_device_hears_what_a_new_server_looks_up(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    looks_up(monkeypatch)
    served = serve()
    phone = Phone(served.url, served.token()).connects()
    assert (phone.session.version, phone.session.offer and phone.session.offer.pipelines) == (2, ("plain", "hyde"))
    request = phone.asks(DANUBE, pipeline="hyde")
    assert isinstance(phone.until_ended(request), m.Finished)
    first, sources, second, *rest = [event for event in phone.inbox if not isinstance(event, m.Welcome | m.Queued)]
    assert first == m.Round(request, 1, "hyde", tuple(BEFORE.queries), tuple(BEFORE.passages))
    assert isinstance(sources, m.Sources)
    assert second == m.Round(request, 2, "hyde", tuple(BEHIND.queries), tuple(BEHIND.passages))
    assert phone.text(request) == TEXT
    assert isinstance(rest[-1], m.Finished)


def test_nothing_is_said_of_lookups_in_an_answer_of_both_sides(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    looks_up(monkeypatch)
    home.add("trip.md", "Which countries does the Danube flow through? We saw four of them.")
    answer = home.ask(together=True)
    assert (answer.origin, answer.rounds) == ("aggregated", ())


def test_what_the_server_looks_up_is_in_the_answer(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    looks_up(monkeypatch)
    by_server(home, monkeypatch)
    events = list(home.assistant.ask(DANUBE, OPTIONS))
    answer = events[-1]
    assert isinstance(answer, Answer)
    assert (answer.text, answer.rounds) == (TEXT, ROUNDS)
    assert [event for event in events if isinstance(event, LookedUp)] == list(ROUNDS)
    assert events.index(ROUNDS[0]) < next(at for at, event in enumerate(events) if isinstance(event, Found))
    assert events.index(ROUNDS[1]) < next(at for at, event in enumerate(events) if isinstance(event, Wrote))
    record = answer.as_json()
    assert record["trace"]["rounds"] == [looked_up.as_json() for looked_up in ROUNDS]
    assert [source["title"] for source in record["sources"]] == ["Rivers", "Birds"]
    assert record["trace"]["rounds"] == home.assistant.conversations.turns(1)[0].record["trace"]["rounds"]
    assert (
        looked_up_line(record["trace"]["rounds"][1]) == "hyde: looked up “Who pairs for life?”, “Where?” (2 passages)"
    )


def test_what_the_device_wrote_is_from_the_sources_alone(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    looks_up(monkeypatch)
    monkeypatch.setattr("device_app.companion.dispatch.race_report.RaceReport.origin", "device")
    answer = home.ask()
    assert [hit.passage.title for hit in answer.hits] == ["Rivers"]


def test_the_server_answers_by_the_pipeline_that_was_named(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.public.link.wait(30)
    with pytest.raises(UsageError, match=r"no pipeline “.*”\. It offers: plain, hyde, .*\."):
        home.public.check_pipeline("nothing\x1b[0m")
    home.public.prices = DEVICE_FREE
    answer = home.ask(pipeline=home.public.check_pipeline("plain"))
    assert (answer.text, answer.origin) == (TEXT, "cloud")
    assert answer.decided == ("the server answers by plain, as requested",)
    assert home.searches == 1
    home.ask(pipeline="plain")  # what is kept does not serve
    assert home.searches == 2


def test_a_new_device_is_answered_by_a_server_of_version_1(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    by_server(home, monkeypatch)
    with lying(home.served, home.served.token("old"), lambda: as_version_1, versions=(1,)) as url:
        hello = m.Hello(m.VERSIONS, "fake", "fake", "test")
        public = PublicQuestions(
            lambda: Link(Credentials(url, "token"), hello),
            home.public.source,
            SERVER_FREE,
            Memory(home.folder / "none"),
        )
        with closing(public):
            home.public.close()
            home.public = public
            answer = home.ask()
            assert public.link._session.version == 1
            assert (answer.text, answer.origin, answer.rounds) == (FACTS[0][1], "cloud", ())
            with pytest.raises(UsageError, match="It offers no choice: leave --pipeline out"):
                public.check_pipeline("plain")
            assert home.ask(together=True).text == TEXT


def test_what_is_longer_than_a_message_is_cut(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    looks_up(monkeypatch, [Round("flare", ("\U0001f426" * 600,) * 20, (RIVERS,) * 20)], [])
    served = serve()
    phone = Phone(served.url, served.token()).connects()
    assert isinstance(phone.until_ended(phone.asks(DANUBE)), m.Finished)
    (looked_up,) = [event for event in phone.inbox if isinstance(event, m.Round)]
    assert looked_up == m.Round(1, 1, "flare", ("\U0001f426" * 512,) * 16, (RIVERS,) * 16)


def test_a_pipeline_that_looks_up_without_end_is_answered(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    looks_up(monkeypatch, [BEFORE] * 1000)
    served = serve()
    phone = Phone(served.url, served.token()).connects()
    request = phone.asks(DANUBE)
    assert isinstance(phone.until_ended(request), m.Finished)
    assert phone.text(request) == TEXT
    assert sum(isinstance(event, m.Round) for event in phone.inbox) == m.MOST_ROUNDS
