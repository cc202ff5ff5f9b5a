"""Races between the test process's fake engine and a server, and the times at which their tokens are shown."""

import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import TypeVar, cast

from device_app.companion.dispatch.cost import Costs
from device_app.companion.dispatch.handover import Terms
from device_app.companion.dispatch.policy import Decision
from device_app.companion.dispatch.race import Race
from device_app.companion.dispatch.race_report import Question
from device_app.companion.link.credentials import Credentials
from device_app.companion.link.link import Link
from device_app.inference.local import LocalSource
from models.engine import Engine
from models.fake import FakeEngine
from models.sampling import SamplingSettings
from shared.ending import Piece
from shared.prompt import CHATML
from shared.protocol import messages as m
from shared.side import Side
from shared.trace import Trace
from tests.companion import FACTS

QUESTION = Question("Which countries does the Danube flow through, and where?", SamplingSettings(), 200, 1)
TEXT = FACTS[0][1]
"""The answer that both sides generate."""

Result = TypeVar("Result")

SERVER = Decision(None, 0.0, "the server alone")
BOTH = Decision(0.0, 0.0, "both")
EVEN = Costs(1, 1, 1, 1)
DEAR_SERVER = Costs(0.001, 0.001, 1, 1)


def terms(
    costs: Costs = EVEN, reading_rate: float = 50.0, ready_s: float = 0.1, rate: float = 200.0, *, guarded: bool = False
) -> Terms:
    """Return the terms for two sides that write at the same rate and may both write the answer."""
    rates: dict[Side, float] = {"device": rate, "server": rate}
    return Terms(costs, 100, rates, reading_rate, lambda side, length: ready_s, lambda written: 200.0, guarded=guarded)


@contextmanager
def linked(url: str, token: str, vocabulary: str = "fake", authority: str | None = None) -> Iterator[Link]:
    """Open a link to this address with this token; close it afterwards."""
    with linked_with(Credentials(url, token, authority), vocabulary) as link:
        yield link


@contextmanager
def linked_with(credentials: Credentials, vocabulary: str = "fake") -> Iterator[Link]:
    """Open a link with stored credentials; close it afterwards."""
    link = Link(credentials, m.Hello(m.VERSIONS, vocabulary, "fake", "test"))
    try:
        yield link
    finally:
        link.close()


def drained(search: Generator[object, None, Result]) -> Result:
    """Run the generator to its end, ignore what it yields, and return its result."""
    while True:
        try:
            next(search)
        except StopIteration as end:
            return cast("Result", end.value)


class Raced:
    """A race, run to its end: `at` are the times at which its tokens were shown; `acting` is called at each token."""

    def __init__(
        self,
        link: Link,
        decision: Decision = SERVER,
        conditions: Terms | None = None,
        engine: Engine | None = None,
        acting: "Callable[[Raced], object]" = lambda _: None,
        question: Question = QUESTION,
    ) -> None:
        source = LocalSource(engine or FakeEngine(), CHATML)
        conditions = conditions or terms()
        self.trace = Trace()
        self.race = Race(link, lambda: source, question, decision, lambda _: conditions, self.trace)
        self.text = ""
        self.shown: list[Piece] = []
        self.at: list[float] = []
        with self.race:
            self.sources = () if question.is_alone else drained(self.race.search())
            for piece in self.race.pieces():
                self.text += piece.text
                self.shown.append(piece)
                self.at.append(time.monotonic())
                acting(self)
        self.report = self.race.report

    @property
    def gaps(self) -> list[float]:
        """The seconds between each two tokens shown."""
        return [after - before for before, after in pairwise(self.at)]

    @property
    def waiting(self) -> int:
        """The number of the server's tokens that have arrived but are not shown yet."""
        streams = self.race._sides._server._streams
        return streams[-1]._next - len(self.at) if streams else 0
