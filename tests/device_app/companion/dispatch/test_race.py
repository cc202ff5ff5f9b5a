"""A public question raced between the device's fake model and a real server over real sockets: whichever side generates
it, the text is complete, in order, and without repetition.
"""

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from threading import Timer

import pytest

from device_app.companion.dispatch import interruption
from device_app.companion.dispatch.cost import Costs
from device_app.companion.dispatch.policy import Decision
from device_app.companion.dispatch.race import Race
from device_app.companion.link.link import Link
from device_app.inference.local import LocalSource
from models.engine import Logits
from models.fake import FakeEngine
from shared.errors import EngineError, LinkError
from shared.prompt import CHATML
from shared.trace import Trace
from tests import racing
from tests.companion import Serve, Served, Slow
from tests.racing import BOTH, DEAR_SERVER, QUESTION, SERVER, TEXT, Raced, drained, terms

DEVICE = Decision(0.0, None, "the device alone")
DEAR_DEVICE = Costs(1, 1, 0.001, 0.001)


@contextmanager
def linked(served: Served, vocabulary: str = "fake") -> Iterator[Link]:
    with racing.linked(served.url, served.token(), vocabulary) as link:
        assert link.wait(30).connected
        yield link


def at(moments: Mapping[int, Callable[[], object]]) -> Callable[[Raced], object]:
    """Return a function that calls an action once a number of tokens was shown; `moments` maps numbers to actions."""
    return lambda raced: moments.get(len(raced.at), lambda: None)()


@pytest.mark.parametrize(("decision", "origin"), [(SERVER, "cloud"), (DEVICE, "device")])
def test_either_side_alone_answers_from_the_servers_sources(serve: Serve, decision: Decision, origin: str) -> None:
    with linked(serve()) as link:
        raced = Raced(link, decision)
        assert (raced.text, raced.report.origin) == (TEXT, origin)
        assert [passage.title for passage in raced.sources] == ["Rivers"]
        assert raced.report.sent == ["the question"]
        assert raced.report.sent_bytes > len(QUESTION.text)


def test_the_first_token_wins_and_the_other_side_is_stopped(serve: Serve) -> None:
    served = serve()
    with linked(served) as link:
        assert Raced(link, BOTH, engine=Slow(0.05)).text == TEXT
        slow = served.server.generation
        deadline = time.monotonic() + 30
        while slow.load.writing:
            assert time.monotonic() < deadline
    served = serve(Slow(0.02))
    with linked(served) as link:
        assert Raced(link, Decision(0.0, 30.0, "the device first")).report.origin == "device"


def test_a_side_that_is_due_does_not_start_where_a_first_token_is_there_already(serve: Serve) -> None:
    source = LocalSource(FakeEngine(), CHATML)
    decision = Decision(0.2, 0.0, "the server first")
    with linked(serve()) as link, Race(link, lambda: source, QUESTION, decision, lambda _: terms(), Trace()) as race:
        drained(race.search())
        time.sleep(0.5)  # the passages are shown, or the model is still loaded
        assert "".join(piece.text for piece in race.pieces()) == TEXT
    assert race.report.outcome
    assert (race.report.origin, race.report.outcome.device_started) == ("cloud", False)


@pytest.mark.parametrize(("costs", "first"), [(DEAR_SERVER, SERVER), (DEAR_DEVICE, DEVICE)])
def test_an_answer_moves_to_the_side_that_costs_less(serve: Serve, costs: Costs, first: Decision) -> None:
    with linked(serve(Slow(0.005))) as link:
        raced = Raced(link, first, terms(costs), Slow(0.005))
        assert (raced.text, raced.report.origin) == (TEXT, "migrated")
        ((index, side),) = raced.report.moves
        assert 0 < index < len(TEXT)
        assert side == ("device" if first is SERVER else "server")
        outcome = raced.report.outcome
        assert outcome
        # A server that continues the answer was not waited for.
        assert (outcome.server_s is None, outcome.server_waited_s) == (first is DEVICE, None)


def test_what_the_server_may_not_have_stays_here(serve: Serve) -> None:
    with linked(serve(Slow(0.005))) as link:
        raced = Raced(link, DEVICE, replace(terms(DEAR_DEVICE), allowed=frozenset({"device"})), Slow(0.005))
        assert (raced.text, raced.report.origin) == (TEXT, "device")


def test_another_vocabulary_is_handed_over_as_text(serve: Serve) -> None:
    with linked(serve(Slow(0.005)), vocabulary="another") as link:
        there = Raced(link, DEVICE, terms(DEAR_DEVICE), Slow(0.005))
        assert (there.text, there.report.origin) == (TEXT, "migrated")
        back = Raced(link, SERVER, terms(DEAR_SERVER), Slow(0.005))
        assert (back.text, back.report.origin) == (TEXT, "migrated")


@pytest.mark.long
def test_the_server_lost_at_any_moment_the_device_goes_on(serve: Serve) -> None:
    chance = random.Random(3)
    for _ in range(12):
        served = serve(Slow(0.003))
        with linked(served) as link:
            raced = Raced(link, acting=at({chance.randrange(1, len(TEXT)): served.dies}))
            assert raced.text == TEXT
            assert raced.report.origin in ("migrated", "cloud")


class Reads(FakeEngine):
    """A fake engine that takes `seconds` for a prompt, and records when it first began one."""

    def __init__(self, seconds: float) -> None:
        super().__init__(sequences=4)
        self.seconds, self.begun_at = seconds, float("inf")

    def prefill(self, sequence: int, tokens: Sequence[int]) -> Logits:
        self.begun_at = min(self.begun_at, time.monotonic())
        time.sleep(self.seconds)
        return super().prefill(sequence, tokens)


def test_while_the_connection_may_come_back_the_device_reads(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interruption, "GRACE_S", 2.0)
    served, device = serve(Slow(0.003)), Reads(0.0)
    with linked(served) as link:
        raced = Raced(link, engine=device, acting=at({20: served.dies}))
    assert (raced.text, raced.report.origin) == (TEXT, "migrated")
    ((index, _),) = raced.report.moves
    assert raced.report.reasons[-1].endswith(
        f"failed: the connection was lost; the device continued after {index} tokens"
    )
    assert "the server may have failed" not in raced.report.reasons
    assert raced.trace.tokens_prefilled > 0  # by the device, that wrote
    longest = raced.gaps.index(max(raced.gaps))
    assert device.begun_at < raced.at[longest + 1] - 1  # not only when the grace was over


def test_a_server_that_is_back_before_the_device_has_read_goes_on(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interruption, "GRACE_S", 30.0)
    served = serve(Slow(0.003))
    with linked(served) as link:
        raced = Raced(link, engine=Reads(1.0), acting=at({20: served.cuts, 40: served.cuts}))
    assert (raced.text, raced.report.origin) == (TEXT, "cloud")
    assert raced.report.reasons.count("the server may have failed") >= 1
    assert raced.report.outcome
    assert raced.report.outcome.device_started
    assert raced.trace.tokens_prefilled == 0  # what the device read was for nothing


def test_a_short_cut_is_not_seen(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interruption, "GRACE_S", 30.0)  # on a busy machine no cut is short
    served = serve(Slow(0.003))
    with linked(served) as link:
        raced = Raced(link, acting=at({10: served.cuts, 20: served.cuts}))
        assert (raced.text, raced.report.origin) == (TEXT, "cloud")


@pytest.mark.long
def test_the_server_lost_before_its_first_token_the_device_begins(serve: Serve) -> None:
    served = serve(Reads(5.0))
    with linked(served) as link:
        Timer(0.3, served.dies).start()
        raced = Raced(link)
        assert (raced.text, raced.report.origin) == (TEXT, "device")


@pytest.mark.long
def test_with_neither_side_left_it_says_why(serve: Serve) -> None:
    class Broken(FakeEngine):
        def prefill(self, sequence: int, tokens: Sequence[int]) -> Logits:
            raise EngineError("no memory")

    served = serve(Reads(5.0))
    with linked(served) as link:
        Timer(0.3, served.dies).start()
        with pytest.raises(EngineError, match="no memory"):
            Raced(link, BOTH, engine=Broken())


def test_a_server_that_refuses_is_said(serve: Serve) -> None:
    served = serve(limits={"searches_per_minute": 0.0})
    with linked(served) as link, pytest.raises(LinkError, match="searches"):
        Raced(link)
