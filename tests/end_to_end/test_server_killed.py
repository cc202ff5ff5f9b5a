"""The server is killed at random moments, over a network with a delay of 50 ± 10 ms: the answer is complete, whoever
generated it.
"""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.companion import FACTS, Serve, Slow
from tests.killing import KINDS, Kind, Pace, kill
from tests.network.line import Conditions
from tests.network.namespaces import SERVER, NotPossible, joined
from tests.network.proxy import Proxy
from tests.racing import DEAR_SERVER, EVEN, TEXT, Raced, linked, terms

AWAY = Conditions(0.05, 0.01)
FAST = Pace(server=100.0, device=300.0, reader=80.0, ready_s=0.1)


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(2))
def test_killed_in_the_middle_of_an_answer_the_device_completes_it(tmp_path: Path, kind: Kind, seed: int) -> None:
    killed = kill(tmp_path, kind, random.Random(seed), FAST, AWAY)
    assert killed.right, killed
    assert killed.origin in ("cloud", "migrated")


@pytest.mark.parametrize("seed", range(4))
def test_cut_again_and_again_while_it_moves_nothing_is_lost(serve: Serve, seed: int) -> None:
    chance = random.Random(seed)
    served = serve(Slow(0.005))
    moments = {chance.randrange(1, len(TEXT)): chance.choice(("cut", "swallow", "forget", "cut")) for _ in range(4)}
    with Proxy(served.port, AWAY, seed=seed) as proxy, linked(f"ws://127.0.0.1:{proxy.port}/", served.token()) as link:
        assert link.wait(30).connected
        happens: dict[str, Callable[[], object]] = {
            "cut": proxy.cut,
            "swallow": proxy.swallow,
            "forget": served.forgets,
        }

        def acting(raced: Raced) -> None:
            if what := moments.get(len(raced.at)):
                happens[what]()

        costs = chance.choice((EVEN, DEAR_SERVER))
        raced = Raced(link, conditions=terms(costs, guarded=chance.random() < 0.5), engine=Slow(0.005), acting=acting)
        assert raced.text == TEXT
        assert len(raced.at) == len(TEXT)


def test_over_a_network_that_loses_packets(serve: Serve) -> None:
    try:
        with joined(Conditions(0.05, 0.01, loss=0.01)) as spaces:
            with spaces.inside("server"):
                served = serve(Slow(0.005), serve={"host": SERVER})
            url = f"ws://{SERVER}:{served.port}/"
            with spaces.inside("device"), linked(url, served.token()) as link:
                assert link.wait(30).connected
                assert Raced(link).text == FACTS[0][1]
                raced = Raced(link, acting=lambda raced: served.dies() if len(raced.at) == 20 else None)
                assert (raced.text, raced.report.origin) == (FACTS[0][1], "migrated")
    except NotPossible as reason:
        pytest.skip(str(reason))
