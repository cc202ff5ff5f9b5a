"""Joint answers in which the weights of both sides' passages follow the text, over a real socket: the same as by one
process, and nothing more is sent than a server needs that may decide tokens.
"""

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from cloud_server.serving import service
from cloud_server.serving.admission import offer
from models.fake import END
from shared.aggregation.measured import Measured
from shared.aggregation.messages import Place, Rule
from shared.aggregation.weights import similarities_to_text
from shared.errors import WeightsDamaged
from shared.protocol import codec
from shared.protocol import messages as m
from tests.companion import Serve, Slow
from tests.jointly import BOAT, DIARY, EVEN, WARM, Asked, at, expected, frames_sent, together, written
from tests.limits import wait_at_most

TEXTS = (DIARY, BOAT, "It rained in all ten countries, and the Black Sea was black.")
EVERY = 8

by_each_open_rule = pytest.mark.parametrize(
    ("rule", "place"),
    [("algorithm1", "both"), ("algorithm1", "device"), ("algorithm1", "server"), ("greedy", "device")],
)


def asked_by(rule: Rule, place: Place, every: int = EVERY, texts: Sequence[str] = TEXTS) -> Asked:
    return together(
        texts=texts, similarity=EVEN, sampling=WARM, rule=rule, place=place, max_tokens=60, weights_every=every
    )


def sent_weights(frames: Sequence[codec.Frame]) -> list[m.FollowingWeight | m.Reweight]:
    """Return the weights that follow the text among the frames sent."""
    said = [codec.from_device(frame) for frame in frames]
    return [message for message in said if isinstance(message, m.FollowingWeight | m.Reweight)]


@pytest.mark.parametrize("texts", [TEXTS, (DIARY,)])
@by_each_open_rule
def test_both_sides_write_what_one_process_would(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, rule: Rule, place: Place, texts: Sequence[str]
) -> None:
    asked, frames = asked_by(rule, place, texts=texts), frames_sent(monkeypatch)
    joint = written(serve(), asked)
    assert (joint.report.alone, joint.settled) == ("", expected(asked))
    positions = {message.position for message in sent_weights(frames) if isinstance(message, m.Reweight)}
    assert positions == (set() if rule == "greedy" else set(range(2 * EVERY, len(joint.settled) + EVERY, EVERY)) - {64})
    assert joint.report.weights_sent == len(positions)
    kind = f"{len(positions)} numbers for how well your passages fit the answer so far"
    assert (kind in joint.report.sent) == bool(positions)


def test_the_weights_that_follow_change_the_answer() -> None:
    asked = asked_by("algorithm1", "both")
    assert expected(asked) != expected(asked_by("algorithm1", "both", every=0))


@pytest.mark.parametrize("every", [1, 3, 32])
def test_at_every_distance(serve: Serve, every: int) -> None:
    asked = asked_by("algorithm1", "both", every)
    assert written(serve(), asked).settled == expected(asked)


@pytest.mark.parametrize("moment", [1, 12, 17, 30])
@by_each_open_rule
def test_a_connection_that_was_cut_is_resumed(serve: Serve, rule: Rule, place: Place, moment: int) -> None:
    served = serve(Slow(0.002))
    asked = asked_by(rule, place)
    joint = written(served, asked, Slow(0.002), acting=at(moment, served.cuts))
    assert (joint.report.alone, joint.settled) == ("", expected(asked))


@pytest.mark.parametrize("place", ["device", "server"])
def test_whoever_decides_uses_the_weight_of_the_position(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, place: Place
) -> None:
    monkeypatch.setattr(Measured, "gives", lambda _, machine: machine.aggregates and len(machine.settled) % 3 == 0)
    asked = asked_by("algorithm1", place)
    joint = written(serve(Slow(0.001)), asked, Slow(0.001))
    assert (joint.report.alone, joint.settled) == ("", expected(asked))
    assert joint.report.changes > 2


def closed(asked: Asked) -> Asked:
    return replace(asked, together=replace(asked.together, open=False))


@pytest.mark.parametrize("rule", ["coupled", "greedy"])
def test_unless_distributions_may_leave_the_question_alone_weighs_the_sides(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, rule: Rule
) -> None:
    frames = frames_sent(monkeypatch)
    asked = closed(asked_by(rule, "device" if rule == "greedy" else "both"))
    constant = replace(asked, together=replace(asked.together, weights_every=0))
    assert written(serve(), asked).settled == expected(constant)
    assert not sent_weights(frames)


def test_with_an_older_server_the_question_alone_weighs_the_sides(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    def older(*given: Any) -> m.Offer:
        return msgspec.structs.replace(offer(*given), follows_text=False)

    monkeypatch.setattr(service, "offer", older)
    frames = frames_sent(monkeypatch)
    asked = asked_by("algorithm1", "both")
    joint = written(serve(), asked)
    assert (joint.report.alone, joint.settled) == ("", expected(asked_by("algorithm1", "both", every=0)))
    assert not sent_weights(frames)


def test_a_device_that_decides_throughout_tells_no_weight(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    frames = frames_sent(monkeypatch)
    asked = asked_by("algorithm1", "device")
    asked = replace(asked, together=replace(asked.together, scheduled=False))
    assert written(serve(), asked).settled == expected(asked)
    assert not sent_weights(frames)


def test_a_failing_embedder_fails_the_answer_with_its_own_error(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise WeightsDamaged("no embedder")

    monkeypatch.setattr("models.following_weights.similarities_to_text", fail)
    with pytest.raises(WeightsDamaged):
        written(serve(), asked_by("algorithm1", "both"))


@by_each_open_rule
def test_without_the_server_the_device_goes_on(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, rule: Rule, place: Place
) -> None:
    wait_at_most(monkeypatch, token_s=0.5)
    asked, served = asked_by(rule, place), serve(Slow(0.002))
    joint = written(served, asked, Slow(0.002), acting=at(20, served.dies))
    count = joint.report.together
    assert joint.report.alone
    assert joint.settled[:count] == expected(asked)[:count]
    assert len(joint.settled) > count or joint.settled[-1] == END


def test_a_server_is_not_blamed_for_a_slow_embedder(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(*given: Any) -> list[float]:
        time.sleep(0.6)
        return similarities_to_text(*given)

    wait_at_most(monkeypatch, token_s=0.5)
    asked = asked_by("algorithm1", "both", every=16)
    answer = expected(asked)
    monkeypatch.setattr("models.following_weights.similarities_to_text", slow)
    joint = written(serve(), asked)
    assert (joint.report.alone, joint.settled) == ("", answer)
