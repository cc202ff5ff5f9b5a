"""What is learned of device and server: it grows with each answer, survives a restart, and damaged data is refused."""

import json
import random

import pytest

from device_app.companion.dispatch.cost import Budget
from device_app.companion.dispatch.dispatcher import Estimates, Outcome, PolicyName
from device_app.companion.dispatch.first_token import DeviceFirstToken
from device_app.companion.dispatch.optimal import Optimal
from device_app.companion.dispatch.policy import Routing, Waiting
from shared.side import Side

SERVER, DEVICE = Budget("server", 0.3), Budget("device", 0.3)


def learned(count: int = 40) -> Estimates:
    known = Estimates()
    for at in range(count):
        known = known.after(
            Outcome(
                prompt=40 + at,
                device_started=True,
                server_started=True,
                device_s=(40 + at) / 50,
                server_s=0.3,
                answer=60,
            ),
            SERVER,
        )
    return known


def test_answers_teach_both_sides_and_the_lengths() -> None:
    known = learned()
    assert known.server.quantile(0.5) == pytest.approx(0.3, rel=0.05)
    assert 1 / known.device.slope == pytest.approx(50, rel=0.02)
    assert known.remaining(0, most=1_000) == pytest.approx(60, rel=0.15)
    assert known.ready_s("server", 500, round_trip_s=0.1) == pytest.approx(0.1 + known.server.quantile(0.95))
    assert known.ready_s("device", 100) == pytest.approx(2.0, rel=0.1)


def test_a_server_that_was_not_waited_for_is_not_taken_for_a_fast_one() -> None:
    known = learned()
    for _ in range(40):
        known = known.after(Outcome(50, device_started=True, server_started=True, server_waited_s=1.0), SERVER)
    assert known.server.quantile(0.9) > 1.0


def test_a_request_without_passages_teaches_neither_the_usual_length_with_passages_nor_that_of_answers() -> None:
    known = learned()
    outcome = Outcome(9, device_started=True, server_started=True, server_s=9.0, answer=900, is_alone=True)
    after = known.after(outcome, SERVER)
    assert (after.with_passages, after.answers) == (known.with_passages, known.answers)
    assert after.server != known.server
    assert after.prompts.weight == pytest.approx(known.prompts.weight + 1, rel=0.1)


@pytest.mark.parametrize("is_alone", [True, False])
@pytest.mark.parametrize("policy", ["ours", "paper"])
@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("side", ["device", "server"])
def test_the_budget_is_kept_whether_or_not_prompts_have_passages(
    side: Side, share: float, policy: PolicyName, is_alone: bool
) -> None:
    """Prompts have about 60 tokens, where the prior assumes 100, and the device takes at least as long as the
    server.
    """
    chance, known, budget = random.Random(1), Estimates(), Budget(side, share)
    read = used = 0
    for _ in range(150):
        length, server_s = round(chance.lognormvariate(4.1, 0.4)), chance.lognormvariate(-0.6, 0.5)
        decision = known.policy(side, policy).decide(length, known.ledger.allowed(share), chance.random())
        starts = {"device": decision.device_after_s, "server": decision.server_after_s}
        firsts = {"device": length / 60, "server": server_s}
        first, winner = min((after + firsts[each], each) for each, after in starts.items() if after is not None)
        started = {each: after is not None and after < first for each, after in starts.items()}
        waited_s = first - (starts["server"] or 0.0) if started["server"] and winner == "device" else None
        outcome = Outcome(
            length,
            device_started=started["device"],
            server_started=started["server"],
            device_s=firsts["device"] if winner == "device" else None,
            server_s=server_s if winner == "server" else None,
            server_waited_s=waited_s,
            is_alone=is_alone,
        )
        known = known.after(outcome, budget)
        read, used = read + length, used + length * started[side]
    assert used / read == pytest.approx(share, abs=0.05)


def test_a_side_that_was_not_asked_teaches_nothing() -> None:
    known = learned()
    after = known.after(Outcome(50, device_started=True, server_started=False, device_s=1.0), SERVER)
    assert after.server is known.server


@pytest.mark.parametrize(
    ("budget", "debt"),
    [pytest.param(SERVER, -15.0, id="the server was not used"), pytest.param(DEVICE, 35.0, id="the device was")],
)
def test_the_constrained_side_alone_is_charged(budget: Budget, debt: float) -> None:
    known = Estimates().after(Outcome(50, device_started=True, server_started=False), budget)
    assert known.ledger.debt == pytest.approx(debt)


@pytest.mark.parametrize(
    ("name", "constraint", "policy"),
    [
        ("ours", "device", Optimal),
        ("ours", "server", Optimal),
        ("paper", "device", Waiting),
        ("paper", "server", Routing),
    ],
)
def test_the_policy_is_ours_or_the_papers(name: PolicyName, constraint: Side, policy: type) -> None:
    made = learned().policy(constraint, name)
    assert isinstance(made, policy)
    assert made.constraint == constraint


def test_all_of_it_survives_a_restart() -> None:
    known = learned()
    back = Estimates.from_json(json.loads(json.dumps(known.as_json())))
    assert back.device == known.device
    assert back.ledger == known.ledger
    assert back.server.survival == pytest.approx(known.server.survival, abs=1e-6)
    assert back.prompts.survival == pytest.approx(known.prompts.survival, abs=1e-6)
    assert back.with_passages.survival == pytest.approx(known.with_passages.survival, abs=1e-6)
    assert back.answers.survival == pytest.approx(known.answers.survival, abs=1e-6)


def test_figures_of_an_older_version_are_of_prompts_with_passages() -> None:
    kept = learned().as_json()
    del kept["with_passages"]
    back = Estimates.from_json(kept)
    assert back.with_passages.survival == pytest.approx(back.prompts.survival)
    assert back.with_passages.quantile(0.5) == pytest.approx(learned().prompts.quantile(0.5))


def test_another_model_of_the_device_begins_with_its_own_line() -> None:
    other = DeviceFirstToken.prior(rate=10)
    assert Estimates.from_json(learned().as_json(), device=other).device == other


@pytest.mark.parametrize("gone", ["server", "device", "prompts", "answers", "ledger"])
def test_what_was_kept_damaged_is_refused(gone: str) -> None:
    kept = learned(3).as_json()
    del kept[gone]
    with pytest.raises(ValueError, match="estimates are not valid"):
        Estimates.from_json(kept)


@pytest.mark.parametrize("debt", ["x", float("nan"), float("inf"), None])
def test_a_damaged_ledger_is_refused(debt: object) -> None:
    kept = learned(3).as_json()
    kept["ledger"]["debt"] = debt
    with pytest.raises(ValueError, match=r"."):
        Estimates.from_json(kept)
