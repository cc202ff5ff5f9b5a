"""A generation step with several tokens of an answer: the end of the answer or of the device's credit may come within
the step.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloud_server.access.quota import Quota
from cloud_server.engine.jobs import Broken, Done, EngineEvent, Job, Token
from cloud_server.engine.throughput import ExpectedWait, Throughput
from cloud_server.monitoring.load import Load
from cloud_server.monitoring.metrics import Metrics
from cloud_server.pipelines.pipeline import Pipeline
from cloud_server.sessions.registry import Sessions
from cloud_server.sessions.requests import Requests
from cloud_server.sessions.services import RequestServices
from cloud_server.sessions.threads import RequestThreads
from cloud_server.settings import Limits
from models.sampling import SamplingSettings
from shared.protocol import codec
from shared.protocol import messages as m
from shared.protocol.server import ServerSession

PASSAGE = m.PublicPassage(1, "Rivers", "rivers.txt", "The Danube.", 0.9, 0.9)


class FakeGeneration:
    """A fake generation: records the jobs and how far each may go; the test supplies the events."""

    def __init__(self) -> None:
        self.pace = Throughput()
        self.keys: list[int] = []
        self.upto: dict[int, int] = {}
        self.cancelled: list[int] = []

    def possible(self, _job: Job) -> bool:
        return True

    def ask(self, _owner: str, key: int, _job: Job, allowed: int) -> ExpectedWait:
        self.keys.append(key)
        self.upto[key] = allowed
        return ExpectedWait(0, 0.0)

    def allow(self, key: int, upto: int) -> None:
        self.upto[key] = upto

    def cancel(self, key: int) -> None:
        self.cancelled.append(key)


class FakeAnswering:
    """A fake that answers any question from one passage.

    If a device continues an answer by its text, the job's first `before` tokens are that text: they are not sent.
    """

    corpus = None

    def __init__(self, before: int) -> None:
        self._before = before

    def knows(self, _tokens: Sequence[int]) -> bool:
        return True

    def named(self, _ask: m.Ask) -> list[m.PublicPassage]:
        return [PASSAGE]

    def preferred(self) -> m.Pipeline:
        return "plain"

    def job(self, ask: m.Ask, begin: m.Ask | m.Start, _passages: Sequence[m.PublicPassage]) -> Job:
        accepted = (*begin.accepted, *range(self._before))
        return Job((((1,), (2,)),), (0.0,), SamplingSettings(), ask.max_tokens + self._before, accepted)


class Server:
    """The real session and request code of a server, with one device that has asked one question."""

    def __init__(self, *, credit: int, max_tokens: int = 100, by_text: bool = False) -> None:
        self.generation, self._before = FakeGeneration(), 3 if by_text else 0
        offer = m.Offer("model", "words", "embedder", 1000, 16, 1000, 60.0)
        self._sessions = Sessions(offer, Limits())
        self._threads = RequestThreads()
        answering, metrics = cast(Any, FakeAnswering(self._before)), Metrics(Load, lambda: 1)
        pipeline, generation = Pipeline(answering, metrics), cast(Any, self.generation)
        parts = RequestServices(answering, pipeline, generation, self._threads, metrics, False, lambda: False)
        self.events: list[m.Event] = []
        self._session = ServerSession("0" * 32, offer)
        self._requests = Requests(self._session, "phone", parts, self._sessions, Quota(Limits(), 0.0), self._send)
        self._session.accept(m.Hello(m.VERSIONS, "others" if by_text else "words", "embedder", "test"))
        text = "It" if by_text else ""
        self._says(m.Ask(1, "Which river?", True, 1, max_tokens, credit, accepted_text=text))

    def _send(self, event: m.Event) -> None:
        self._session.send(event)
        self.events.append(event)

    def _says(self, message: Any) -> None:
        for event in self._session.receive(codec.device_frame(message)).events:
            self._requests.handle(event)

    async def begins(self) -> None:
        async with asyncio.timeout(5):
            while not self.generation.keys:
                await asyncio.sleep(0.001)
        await asyncio.sleep(0)

    def credits(self, upto: int) -> None:
        self._says(m.Credit(1, upto))

    def cancels(self) -> None:
        self._says(m.Cancel(1))

    def steps(self, *made: Callable[[int], EngineEvent] | range) -> None:
        """Deliver one generation step.

        A range stands for tokens of the answer; a function makes an event from the job's key.
        """
        key, events = self.generation.keys[0], list[EngineEvent]()
        for part in made:
            if isinstance(part, range):
                events += [Token(key, self._before + index, 1000 + index, f"<{index}>") for index in part]
            else:
                events.append(part(key))
        self._sessions.written(events, {})

    @property
    def sent(self) -> list[int]:
        return [token - 1000 for event in self.events if isinstance(event, m.Tokens) for token in event.ids]

    @property
    def text(self) -> str:
        return "".join(event.text or "" for event in self.events if isinstance(event, m.Tokens))

    @property
    def ended(self) -> list[m.Finished | m.Failed]:
        return [event for event in self.events if isinstance(event, m.Finished | m.Failed)]

    def close(self) -> None:
        self._threads.close()


def done(key: int) -> Done:
    return Done(key, "", False, 2, 0)


def cut(key: int) -> Done:
    return Done(key, "", True, 2, 0)


def broken(key: int) -> Broken:
    return Broken(key, "It broke.")


def run(act: Callable[[Server], None], **settings: Any) -> Server:
    async def main() -> Server:
        server = Server(**settings)
        try:
            await server.begins()
            act(server)
        finally:
            server.close()
        return server

    return asyncio.run(main())


@pytest.mark.parametrize("by_text", [False, True])
def test_what_comes_behind_the_end_in_the_same_step_is_not_sent(by_text: bool) -> None:
    server = run(lambda server: server.steps(range(3), done, range(3, 6)), credit=50, by_text=by_text)
    assert server.sent == [0, 1, 2]
    assert server.text == ("<0><1><2>" if by_text else "")
    (ended,) = server.ended
    assert isinstance(ended, m.Finished)
    assert (ended.reason, ended.usage.generated) == ("end", 3)
    assert not server.generation.cancelled  # it is over there, too


def test_what_comes_behind_the_limit_is_not_sent_and_the_answer_ends() -> None:
    server = run(lambda server: server.steps(range(3), range(3, 9), cut), credit=50, max_tokens=5)
    assert server.sent == [0, 1, 2, 3, 4]
    (ended,) = server.ended
    assert isinstance(ended, m.Finished)
    assert (ended.reason, ended.usage.generated) == ("length", 5)


@pytest.mark.parametrize("by_text", [False, True])
def test_credit_that_ends_inside_a_step_holds_back_the_rest_until_there_is_more(by_text: bool) -> None:
    def act(server: Server) -> None:
        ahead = 3 if by_text else 0
        assert server.generation.upto == {1: 2 + ahead}
        server.steps(range(6), done)
        assert server.sent == [0, 1]
        assert not server.ended
        server.credits(5)
        assert server.sent == [0, 1, 2, 3, 4]
        assert not server.ended
        server.credits(6)

    server = run(act, credit=2, by_text=by_text)
    assert server.sent == [0, 1, 2, 3, 4, 5]
    assert [ended.reason for ended in server.ended if isinstance(ended, m.Finished)] == ["end"]


def test_an_end_inside_a_step_that_the_credit_ends_earlier_waits_for_the_credit() -> None:
    def act(server: Server) -> None:
        server.steps(range(4), done, range(4, 7))
        assert server.sent == [0, 1]
        server.credits(100)

    server = run(act, credit=2)
    assert server.sent == [0, 1, 2, 3]
    assert len(server.ended) == 1


def test_an_answer_that_breaks_inside_a_step_says_nothing_behind_that() -> None:
    server = run(lambda server: server.steps(range(2), broken, range(2, 4), done), credit=50)
    assert [type(event) for event in server.ended] == [m.Failed]
    assert server.events[-1] is server.ended[0]


def test_what_comes_of_a_cancelled_answer_is_dropped() -> None:
    def act(server: Server) -> None:
        server.steps(range(4))
        server.cancels()
        server.steps(range(4, 8), done)

    server = run(act, credit=2)
    assert server.sent == [0, 1]
    assert [ended.reason for ended in server.ended if isinstance(ended, m.Finished)] == ["cancelled"]


@given(
    steps=st.lists(st.integers(0, 7), max_size=8),
    credits=st.lists(st.integers(0, 12), max_size=9),
    behind=st.integers(0, 5),
    credit=st.integers(0, 10),
    max_tokens=st.integers(1, 40),
)
def test_any_steps_and_credits_send_each_token_once_and_none_beyond_the_credit(
    steps: list[int], credits: list[int], behind: int, credit: int, max_tokens: int
) -> None:
    """If tokens beyond the credit were sent, the session would raise ProtocolError, and the request would fail."""
    written = min(sum(steps), max_tokens)

    def act(server: Server) -> None:
        index, granted = 0, credit
        for number, length in enumerate(steps):
            last = number == len(steps) - 1
            ended: list[Callable[[int], EngineEvent] | range] = (
                [done, range(index + length, index + length + behind)] if last else []
            )
            server.steps(range(index, index + length), *ended)
            index += length
            assert server.sent == list(range(min(index, granted, written)))
            granted += credits[number] if number < len(credits) else 0
            server.credits(granted)
            assert server.sent == list(range(min(index, granted, written)))
        server.credits(1_000)

    server = run(act, credit=credit, max_tokens=max_tokens)
    assert server.sent == list(range(written))
    assert len(server.ended) == (1 if steps else 0)
    assert all(isinstance(ended, m.Finished) for ended in server.ended)
