"""When a side hands the aggregation of a joint answer over, by what it has measured and what the other side has
reported.
"""

import pytest

from shared.aggregation.aggregator import Aggregator
from shared.aggregation.distribution import quantise
from shared.aggregation.measured import Measured
from shared.aggregation.messages import Drafted, Drafts, Place, Rule, Weighed, Weight
from shared.aggregation.profiler import Transmission
from shared.aggregation.terms import Terms
from shared.side import Side, other


def measured(side: Side, own: float, others: float, rtt: float = 0.05) -> Measured:
    """Return measurements of `own` and `others` seconds per draft."""
    measured = Measured(side, others_s=others, transmission=Transmission(rtt, known=True))
    for position in range(5):
        measured.own = measured.own.observe(position, own)
    return measured


def machine(side: Side, rule: Rule = "algorithm1", place: Place | None = None) -> Aggregator:
    """Return an aggregator that is about to make its first token final."""
    return Aggregator(Terms(side, rule, place or side, 1, 10, 20))


@pytest.mark.parametrize("side", ["device", "server"])
def test_the_slower_side_gets_it(side: Side) -> None:
    assert measured(side, own=0.01, others=0.2).gives(machine(side))
    assert not measured(side, own=0.2, others=0.01).gives(machine(side))


def test_it_is_not_given_where_it_may_not_be_or_nothing_is_known() -> None:
    quick = measured("device", 0.01, 0.2)
    assert not quick.gives(machine("device", place="both"))
    assert not quick.gives(machine("device", place="server")), "it has it not"
    assert not quick.gives(machine("device", "greedy"))
    for unknown in (
        Measured("device", others_s=0.2, transmission=Transmission(0.1, known=True)),
        Measured("device", own=quick.own, transmission=Transmission(0.1, known=True)),
        Measured("device", own=quick.own, others_s=0.2),
    ):
        assert not unknown.gives(machine("device"))


def test_acceptance_is_counted_once() -> None:
    rates, acting = measured("device", 0.1, 0.1), machine("device")
    acting.receive(Weighed(0.0))
    acting.receive(Weight(0.0))
    sure = quantise([5], [1.0])
    acting.receive(Drafts(0, 0, (5, 5), (sure, sure)))
    for position in range(2):
        acting.receive(Drafted(0, position, 5, sure))
    before = Measured("device").figures(machine("device")).acceptance["server"]
    first, second = rates.figures(acting).acceptance, rates.figures(acting).acceptance
    assert first == second
    assert first["server"] > before
    assert first["device"] == first[other("device")]
