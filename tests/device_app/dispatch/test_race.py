"""A public question raced between this process' model and a real server over real sockets: whoever writes, the text is
whole, in order, and once.
"""

import random
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Timer

import pytest

from device_app.dispatch.cost import Costs
from device_app.dispatch.migration import Terms
from device_app.dispatch.policy import Decision
from device_app.dispatch.race import Question, Race
from device_app.link.credentials import Credentials
from device_app.link.link import Link
from device_app.sources.local import LocalSource
from models.engine import Logits
from models.fake import FakeEngine
from models.sampling import SamplingSettings
from shared.errors import EngineError, LinkError
from shared.prompt import CHATML
from shared.protocol import messages as m
from shared.trace import Trace
from tests.companion import FACTS, Serve, Served

DANUBE = Question("Which countries does the Danube flow through, and where?", SamplingSettings(), 200, 1)
TEXT = FACTS[0][1]
BOTH = Decision(0.0, 0.0, "both")
SERVER = Decision(None, 0.0, "the server alone")
DEVICE = Decision(0.0, None, "the device alone")
EVEN = Costs(1, 1, 1, 1)
DEAR_SERVER = Costs(0.001, 0.001, 1, 1)
DEAR_DEVICE = Costs(1, 1, 0.001, 0.001)


class Slow(FakeEngine):
    """Takes its time for each token."""

    def __init__(self, seconds: float, sequences: int = 4) -> None:
        super().__init__(sequences=sequences)
        self.seconds = seconds

    def decode(self, tokens: Mapping[int, int]) -> dict[int, Logits]:
        time.sleep(self.seconds)
        return super().decode(tokens)


def terms(costs: Costs = EVEN, allowed: frozenset[str] = frozenset({"device", "server"})) -> Terms:
    return Terms(
        costs=costs,
        prompt=100,
        rates={"device": 200.0, "server": 200.0},
        reading_rate=50.0,
        ready_s=lambda side, length: 0.1,
        remaining=lambda written: 200.0,
        allowed=allowed,  # type: ignore[arg-type]
    )


@contextmanager
def linked(served: Served, vocabulary: str = "fake") -> Iterator[Link]:
    link = Link(Credentials(served.url, served.token()), m.Hello((m.VERSION,), vocabulary, "fake", "test"))
    try:
        assert link.wait(30).connected
        yield link
    finally:
        link.close()


class Raced:
    """A race, run to its end."""

    def __init__(
        self,
        link: Link,
        decision: Decision,
        engine: FakeEngine | None = None,
        conditions: Terms | None = None,
        during: Mapping[int, object] = {},
    ) -> None:
        source = LocalSource(engine or FakeEngine(), CHATML)
        conditions = conditions or terms()
        race = Race(link, lambda: source, DANUBE, decision, lambda _: conditions, Trace())
        self.text, self.written = "", 0
        self.sources: tuple[m.PublicPassage, ...] = ()
        with race:
            self.sources = race.search()
            for piece in race.pieces():
                self.text += piece.text
                self.written += 1
                act = during.get(self.written)
                if callable(act):
                    act()
        self.report = race.report


@pytest.mark.parametrize(("decision", "origin"), [(SERVER, "cloud"), (DEVICE, "device")])
def test_either_side_alone_answers_from_the_servers_sources(serve: Serve, decision: Decision, origin: str) -> None:
    with linked(serve()) as link:
        raced = Raced(link, decision)
        assert (raced.text, raced.report.origin) == (TEXT, origin)
        assert [passage.title for passage in raced.sources] == ["Rivers"]
        assert raced.report.sent == ["the question"]
        assert raced.report.sent_bytes > len(DANUBE.text)


def test_the_first_token_wins_and_the_other_side_is_stopped(serve: Serve) -> None:
    served = serve()
    with linked(served) as link:
        assert Raced(link, BOTH, Slow(0.05)).text == TEXT
        slow = served.server.generation
        deadline = time.monotonic() + 30
        while slow.load.writing:
            assert time.monotonic() < deadline
    served = serve(Slow(0.02))
    with linked(served) as link:
        assert Raced(link, Decision(0.0, 0.2, "the device first")).report.origin == "device"


@pytest.mark.parametrize(("costs", "first"), [(DEAR_SERVER, SERVER), (DEAR_DEVICE, DEVICE)])
def test_an_answer_moves_to_the_side_that_costs_less(serve: Serve, costs: Costs, first: Decision) -> None:
    with linked(serve(Slow(0.005))) as link:
        raced = Raced(link, first, Slow(0.005), terms(costs))
        assert (raced.text, raced.report.origin) == (TEXT, "migrated")
        ((index, side),) = raced.report.moves
        assert 0 < index < len(TEXT)
        assert side == ("device" if first is SERVER else "server")


def test_what_the_server_may_not_have_stays_here(serve: Serve) -> None:
    with linked(serve(Slow(0.005))) as link:
        raced = Raced(link, DEVICE, Slow(0.005), terms(DEAR_DEVICE, frozenset({"device"})))
        assert (raced.text, raced.report.origin) == (TEXT, "device")


def test_another_vocabulary_is_handed_over_as_text(serve: Serve) -> None:
    with linked(serve(Slow(0.005)), vocabulary="another") as link:
        there = Raced(link, DEVICE, Slow(0.005), terms(DEAR_DEVICE))
        assert (there.text, there.report.origin) == (TEXT, "migrated")
        back = Raced(link, SERVER, Slow(0.005), terms(DEAR_SERVER))
        assert (back.text, back.report.origin) == (TEXT, "migrated")


def test_the_server_lost_at_any_moment_the_device_goes_on(serve: Serve) -> None:
    chance = random.Random(3)
    for _ in range(12):
        served = serve(Slow(0.003))
        with linked(served) as link:
            raced = Raced(link, SERVER, None, None, {chance.randrange(1, len(TEXT)): served.dies})
            assert raced.text == TEXT
            assert raced.report.origin in ("migrated", "cloud")


def test_a_short_cut_costs_nothing(serve: Serve) -> None:
    served = serve(Slow(0.003))
    with linked(served) as link:
        raced = Raced(link, SERVER, None, None, {10: served.cuts, 20: served.cuts})
        assert (raced.text, raced.report.origin) == (TEXT, "cloud")


def test_the_server_lost_before_its_first_token_the_device_begins(serve: Serve) -> None:
    served = serve(Slow(5.0))
    with linked(served) as link:
        Timer(0.3, served.dies).start()
        raced = Raced(link, SERVER)
        assert (raced.text, raced.report.origin) == (TEXT, "device")


def test_with_neither_side_left_it_says_why(serve: Serve) -> None:
    class Broken(FakeEngine):
        def prefill(self, sequence: int, tokens: Sequence[int]) -> Logits:
            raise EngineError("no memory")

    served = serve(Slow(5.0))
    with linked(served) as link:
        Timer(0.3, served.dies).start()
        with pytest.raises(EngineError, match="no memory"):
            Raced(link, BOTH, Broken())


def test_a_server_that_refuses_is_said(serve: Serve) -> None:
    served = serve(limits={"searches_per_minute": 0.0})
    with linked(served) as link, pytest.raises(LinkError, match="searches"):
        Raced(link, SERVER)
