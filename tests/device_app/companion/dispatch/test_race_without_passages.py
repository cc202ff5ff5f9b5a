"""A request without passages, raced between this process' model and a real server over real sockets."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from device_app.companion.dispatch.policy import Decision
from device_app.companion.dispatch.race_report import Question
from models.engine import Logits
from models.fake import FakeEngine
from models.sampling import SamplingSettings
from shared.errors import EngineError, LinkError
from tests.companion import Serve, Slow, serve
from tests.device_app.companion.dispatch.test_race import DEAR_DEVICE, DEVICE, at, linked
from tests.limits import wait_at_most
from tests.racing import BOTH, DEAR_SERVER, SERVER, Raced, terms

__all__ = ["serve"]

LINE = "The key of the boathouse lies under the third stone beside the door."
REQUEST = Question(f"Repeat this text:\n{LINE}\nThat is all.", SamplingSettings(), 200, 0)
"""A request that the fake engine answers with the last line but one of the request."""
LARGE_ALONE = Question(REQUEST.text, SamplingSettings(), 200, 0, server_begins=True)
"""The same request as `REQUEST`, for a device whose model is too small to begin the answer."""


class Failing(FakeEngine):
    """A fake engine that fails at every prompt."""

    def prefill(self, *_: object) -> Logits:
        raise EngineError("It broke.")


class FailingAt(FakeEngine):
    """A fake engine that fails after `left` tokens."""

    def __init__(self, left: int) -> None:
        super().__init__(sequences=4)
        self.left = left

    def decode(self, tokens: Mapping[int, int]) -> dict[int, Logits]:
        self.left -= 1
        if self.left < 0:
            raise EngineError("It broke.")
        return super().decode(tokens)


class Reading(FakeEngine):
    """A fake engine that takes `seconds` to read a prompt."""

    def __init__(self, seconds: float) -> None:
        super().__init__(sequences=4)
        self.seconds = seconds

    def prefill(self, sequence: int, tokens: Sequence[int]) -> Logits:
        time.sleep(self.seconds)
        return super().prefill(sequence, tokens)


class Stopping(FakeEngine):
    """A fake engine that stops for `seconds` after a few tokens."""

    def __init__(self, seconds: float) -> None:
        super().__init__(sequences=4)
        self.seconds, self.decoded = seconds, 0

    def decode(self, tokens: Mapping[int, int]) -> dict[int, Logits]:
        self.decoded += 1
        if self.decoded == 5:
            time.sleep(self.seconds)
        return super().decode(tokens)


@pytest.mark.parametrize(("decision", "origin", "sent"), [(SERVER, "cloud", ["the question"]), (DEVICE, "device", [])])
@pytest.mark.parametrize("vocabulary", ["fake", "others"])
def test_either_side_alone_answers_the_request(
    serve: Serve, decision: Decision, origin: str, sent: list[str], vocabulary: str
) -> None:
    with linked(serve(), vocabulary) as link:
        raced = Raced(link, decision, question=REQUEST)
        assert (raced.text, raced.report.origin, raced.report.sent) == (LINE, origin, sent)
        assert (raced.report.sent_bytes > 0) is bool(sent)
        assert raced.report.outcome


def test_the_first_token_wins(serve: Serve) -> None:
    with linked(serve()) as link:
        assert Raced(link, Decision(5.0, 0.0, "the server first"), question=REQUEST).report.origin == "cloud"
        assert Raced(link, BOTH, question=REQUEST).text == LINE
    with linked(serve(Slow(0.02))) as link:
        late = Raced(link, Decision(0.0, 30.0, "the device first"), question=REQUEST)
        assert (late.text, late.report.origin, late.report.sent) == (LINE, "device", [])
        assert late.report.sent_bytes == 0


@pytest.mark.parametrize(("costs", "first"), [(DEAR_SERVER, SERVER), (DEAR_DEVICE, DEVICE)])
@pytest.mark.parametrize("vocabulary", ["fake", "others"])
def test_an_answer_moves_to_the_side_that_costs_less(
    serve: Serve, costs: object, first: Decision, vocabulary: str
) -> None:
    with linked(serve(Slow(0.001)), vocabulary) as link:
        raced = Raced(link, first, terms(costs), Slow(0.001), question=REQUEST)  # type: ignore[arg-type]
        assert (raced.text, raced.report.origin) == (LINE, "migrated")
        assert raced.report.sent[0] == "the question"


def test_where_the_server_is_lost_the_device_completes_the_answer(serve: Serve) -> None:
    served = serve(Slow(0.01))
    with linked(served) as link:
        raced = Raced(link, SERVER, engine=Slow(0.001), acting=at({9: served.dies}), question=LARGE_ALONE)
        assert (raced.text, raced.report.origin) == (LINE, "migrated")


def test_where_the_device_fails_the_server_writes(serve: Serve) -> None:
    with linked(serve()) as link:
        raced = Raced(link, Decision(0.0, 5.0, "the device first"), engine=Failing(), question=REQUEST)
        assert (raced.text, raced.report.origin) == (LINE, "cloud")


@pytest.mark.parametrize("decision", [DEVICE, BOTH, Decision(0.0, 5.0, "the device first")])
@pytest.mark.parametrize("vocabulary", ["fake", "others"])
def test_wherever_the_device_fails_the_server_completes_the_answer(
    serve: Serve, decision: Decision, vocabulary: str
) -> None:
    """204 answers over all cases: no word is doubled or lost."""
    with linked(serve(limits={"tokens_per_minute": 1e9}), vocabulary) as link:
        for written in range(0, len(LINE) - 1, 2):
            raced = Raced(link, decision, engine=FailingAt(written), question=REQUEST)
            assert (written, raced.text) == (written, LINE)
            assert raced.report.origin in ("migrated", "cloud")


@pytest.mark.parametrize("question", [REQUEST, LARGE_ALONE])
def test_where_the_server_never_begins_only_a_large_enough_model_does(
    serve: Serve, question: Question, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cloud_server.access.quota.Quota.tokens_wait_s", lambda *_: 60.0)
    with linked(serve()) as link:
        if question.server_begins:
            with pytest.raises(LinkError, match="failed"):
                Raced(link, SERVER, question=question)
        else:
            assert Raced(link, SERVER, question=question).text == LINE


def test_a_slow_server_is_waited_for_where_the_device_cannot_begin(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait_at_most(monkeypatch, token_s=0.1)
    with linked(serve(Reading(0.5))) as link:
        raced = Raced(link, SERVER, question=LARGE_ALONE)
        assert (raced.text, raced.report.origin) == (LINE, "cloud")
        assert Raced(link, SERVER, question=REQUEST).report.origin == "device"


def test_a_server_that_stops_in_the_middle_is_not_waited_for_as_long(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait_at_most(monkeypatch, token_s=0.2)
    with linked(serve(Stopping(4.0))) as link:
        raced = Raced(link, SERVER, question=LARGE_ALONE)
        assert (raced.text, raced.report.origin) == (LINE, "migrated")


def test_an_unsuited_device_takes_nothing_over_for_its_price(serve: Serve) -> None:
    with linked(serve(Slow(0.005))) as link:
        cheaper = replace(terms(DEAR_SERVER), unsuited=frozenset({"device"}))
        raced = Raced(link, SERVER, cheaper, Slow(0.005), question=LARGE_ALONE)
        assert (raced.text, raced.report.origin) == (LINE, "cloud")
