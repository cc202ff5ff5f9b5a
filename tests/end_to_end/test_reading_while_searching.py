"""While the server searches, the device prefills its own passages, which it needs whatever the server finds."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from device_app.companion import fetching
from device_app.companion.dispatch import aggregating
from device_app.companion.fetching import Search
from device_app.companion.link.link import Link
from device_app.companion.link.request import OnEvent, RemoteRequest
from device_app.inference.local import LocalSource
from device_app.inference.prefilling import Prefilling
from device_app.question.answer import Answer
from device_app.question.options import Plan
from models.engine import Logits
from models.fake import FakeEngine
from models.sampling import SamplingSettings
from models.verdict import Verdict
from shared.errors import EngineError, GaveWay, JackdawError
from shared.prompt import CHATML
from shared.protocol import codec
from shared.protocol import messages as m
from tests.companion import FewPassages, serve
from tests.faults import until
from tests.household import OPTIONS, Home, home
from tests.jointly import frames_sent
from tests.limits import wait_at_most

__all__ = ["home", "serve"]

ROWED = "We rowed on the Danube through Vienna in May."
CANOE = "The canoe on the Danube was borrowed from Runa, where we rowed."
BOTH = "Through which European countries does the Danube flow, where we rowed?"
"""A question of which the files lack the words "European", "countries" and "flow", so that the server's passages are
needed.
"""

QUOTED = f"What was said about {BOTH[:-1]}?"


class Noting(FakeEngine):
    """A fake engine that records the texts that it prefills, and calls `on_own` once it has prefilled a passage of the
    files.
    """

    def __init__(self, on_own: Callable[[], None] = lambda: None) -> None:
        super().__init__(sequences=8)
        self.read: list[str] = []
        self.on_own = on_own

    def prefill(self, sequence: int, tokens: Sequence[int]) -> Logits:
        logits = super().prefill(sequence, tokens)
        self.read.append(bytes(token if token < 256 else 0 for token in tokens).decode())
        if ROWED in self.read[-1]:
            self.on_own()
        return logits

    def count(self, text: str) -> int:
        """Return how often this text was prefilled."""
        return sum(text in read for read in self.read)


class Gate:
    """Holds up the server's searches until it is opened, at most for `seconds`.

    `was_open` records for each search whether it was opened.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, seconds: float = 20.0) -> None:
        self._open = threading.Event()
        self.was_open: list[bool] = []
        search = FewPassages.search

        def held(corpus: FewPassages, vector: Any, most: int) -> list[m.PublicPassage]:
            self.was_open.append(self._open.wait(seconds))
            return search(corpus, vector, most)

        monkeypatch.setattr(FewPassages, "search", held)

    def open(self) -> None:
        self._open.set()


def with_engine(home: Home, engine: Noting, *more: str) -> Noting:
    """A device with this engine, whose files hold a part of the answer."""
    home.add("rowed.md", ROWED)
    for number, text in enumerate(more):
        home.add(f"more{number}.md", text)
    home.public.source = lambda: LocalSource(engine, CHATML)
    assert home.public.link.wait(30).connected
    until(lambda: home.public.link.state.round_trip_s)
    return engine


def in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the device prefill nothing before the server has finished its search."""
    monkeypatch.setattr(Prefilling, "computes_ahead", False)


def asked(home: Home, engine: Noting, **options: Any) -> tuple[Answer, str]:
    """Ask the question; return the answer and all text that was prefilled for it. No KV state of it is kept."""
    engine.read.clear()
    answer = home.ask(BOTH, **{"reach": "question", "fresh": True, **options})
    home.assistant.tree.clear()
    return answer, "".join(sorted("".join(engine.read)))


def test_its_own_passages_are_read_during_the_search_and_once(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = Gate(monkeypatch)
    engine = with_engine(home, Noting(gate.open))
    answer, read = asked(home, engine)
    assert gate.was_open == [True]
    assert [hit.side for hit in answer.hits] == ["device", "server"]
    names = [name for name, _ in answer.trace.steps]
    searched = names.index("search")
    assert names[searched - 1 : searched + 3] == ["prefill", "search", "prefill", "decode"]
    in_turn(monkeypatch)
    again, all_read = asked(home, engine)
    assert read == all_read
    assert (answer.text, answer.trace.tokens_prefilled) == (again.text, again.trace.tokens_prefilled)
    assert (answer.trace.tokens_cached, answer.trace.segments_cached) == (0, 0)


def test_what_is_kept_is_not_read_and_counted_once(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = with_engine(home, Noting())
    home.ask(BOTH, reach="asked", fresh=True)
    engine.read.clear()
    answer = home.ask(BOTH, reach="question", fresh=True)
    assert [hit.side for hit in answer.hits] == ["device", "server"]
    assert engine.count(ROWED) == 0
    in_turn(monkeypatch)
    again = home.ask(BOTH, reach="question", fresh=True)
    assert (answer.trace.segments_cached, again.trace.segments_cached) == (2, 3)  # since then, the server's passage too


def test_several_of_its_own_begin_the_one_prompt(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = Gate(monkeypatch)
    engine = with_engine(home, Noting(gate.open), CANOE)
    answer, read = asked(home, engine, plan=Plan(2, "prompt"))
    assert gate.was_open == [True]
    assert [hit.side for hit in answer.hits] == ["device", "device", "server"]
    in_turn(monkeypatch)
    again, all_read = asked(home, engine, plan=Plan(2, "prompt"))
    assert (answer.text, read) == (again.text, all_read)


def test_nothing_need_be_kept_for_that(home: Home) -> None:
    engine = with_engine(home, Noting())
    assistant = replace(home.assistant, tree=replace(home.assistant.tree, limit=0))
    *_, answer = assistant.ask(BOTH, replace(OPTIONS, reach="question"))
    assert isinstance(answer, Answer)
    assert [hit.side for hit in answer.hits] == ["device", "server"]
    assert engine.count(ROWED) == 1
    assert assistant.tree.rows.all() == []


def test_where_that_would_not_be_exact_it_reads_in_turn(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = Gate(monkeypatch, seconds=0.2)
    engine = with_engine(home, Noting(gate.open))
    engine._info = replace(engine.info, verdict=Verdict(inexact=frozenset({"rows"})))
    answer, _ = asked(home, engine)
    assert gate.was_open == [False]
    assert [hit.side for hit in answer.hits] == ["device", "server"]


# A server that does not deliver.


@pytest.mark.parametrize("fails", ["silent", "refuses", "lost", "finds nothing"])
def test_what_was_read_meanwhile_is_all_that_the_files_need(
    home: Home, monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    wait_at_most(monkeypatch, passages_s=0.3)
    engine = with_engine(home, Noting())
    if fails == "silent":
        home.proxy.swallow()
    elif fails == "refuses":
        monkeypatch.setattr("cloud_server.access.quota.Quota.searches_wait_s", lambda *_: 60.0)
    elif fails == "lost":
        Gate(monkeypatch, seconds=1.0)  # longer than the device waits
        engine.on_own = home.proxy.cut
    else:
        monkeypatch.setattr(FewPassages, "search", lambda *_: [])
    answer, read = asked(home, engine)
    assert (answer.text, answer.egress.items) == (ROWED, ("the question",))
    assert answer.trace.tokens_cached == 0
    engine.on_own = lambda: None
    alone, all_read = asked(home, engine, reach="asked")
    assert read == all_read
    assert answer.trace.tokens_prefilled == alone.trace.tokens_prefilled


def test_passages_that_came_before_the_device_had_read_its_own_are_not_too_late(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait_at_most(monkeypatch, passages_s=0.5)
    finished = threading.Event()
    search = FewPassages.search

    def noted(corpus: FewPassages, vector: Any, most: int) -> list[m.PublicPassage]:
        finished.set()
        return search(corpus, vector, most)

    def read_slowly() -> None:
        assert finished.wait(30)
        time.sleep(0.6)

    monkeypatch.setattr(FewPassages, "search", noted)
    engine = with_engine(home, Noting(read_slowly))
    answer, _ = asked(home, engine)
    assert [hit.side for hit in answer.hits] == ["device", "server"]


def test_a_search_takes_until_its_passages_come_not_until_they_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr(fetching, "time", SimpleNamespace(monotonic=lambda: clock[0]))

    class Played:
        def ask(self, ask: m.Ask, on_event: OnEvent) -> RemoteRequest:
            request = RemoteRequest(cast(Link, self), ask.request, ask.credit, on_event)
            clock[0] += 1.5
            on_event(request, m.Sources(1, ()))
            return request

        def send(self, request: RemoteRequest, message: m.Cancel) -> None:
            """Drop the message: the server's messages are scripted."""

    with Search(cast(Link, Played()), BOTH, 1) as search:
        clock[0] += 60.0
        search.wait()
    assert search.seconds == 1.5


def test_where_the_files_would_be_quoted_nothing_is_read_for_nothing(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait_at_most(monkeypatch, passages_s=0.3)
    engine = with_engine(home, Noting())
    home.proxy.swallow()
    answer = home.ask(QUOTED, reach="question", plan=Plan(1, "prompt", "quoted"))
    assert (answer.quoted, answer.egress.items, engine.read) == (True, ("the question",), [])


# Who stops, and an engine that fails.


@pytest.mark.parametrize("error", [GaveWay("stopped"), EngineError("broken")])
def test_an_end_while_reading_ends_the_search_and_is_in_the_ledger(
    home: Home, monkeypatch: pytest.MonkeyPatch, error: JackdawError
) -> None:
    sent = frames_sent(monkeypatch)

    def fail() -> None:
        raise error

    engine = with_engine(home, Noting(fail))
    with pytest.raises(type(error)):
        home.ask(BOTH, reach="question")
    assert any(isinstance(codec.from_device(frame), m.Cancel) for frame in sent)
    (turn,) = home.assistant.conversations.turns(1)
    assert (turn.complete, turn.record["egress"]["items"]) == (False, ["the question"])
    engine.on_own = lambda: None
    answer, _ = asked(home, engine)
    assert [hit.side for hit in answer.hits] == ["device", "server"]


# An answer that both sides write.


@pytest.mark.parametrize("how", [{"together": True}, {"reach": "fitting"}])
def test_for_a_joint_answer_too_the_device_reads_while_the_server_searches(
    home: Home, monkeypatch: pytest.MonkeyPatch, how: dict[str, Any]
) -> None:
    monkeypatch.setattr(aggregating, "WORTH", 100.0)
    gate = Gate(monkeypatch)
    engine = with_engine(home, Noting(gate.open))
    answer, _ = asked(home, engine, sampling=SamplingSettings(temperature=2.0, seed=4), **how)
    assert gate.was_open == [True]
    assert (answer.origin, [hit.side for hit in answer.hits]) == ("aggregated", ["device", "server"])
    assert engine.count(ROWED) == 1
