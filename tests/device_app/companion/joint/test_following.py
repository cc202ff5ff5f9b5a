"""Weights that follow the text of a joint answer, where they cannot be computed."""

from concurrent.futures import Future
from typing import cast

import pytest

from device_app.companion.joint.drafting import Broke
from device_app.companion.joint.following import FollowingShare
from models.following_weights import FollowingWeights
from shared.aggregation.messages import Reweight
from shared.errors import EngineError


class Weights:
    """Stands in for the weights of one passage of the device's and one of the server's."""

    every, rows = 2, 1

    def __init__(self, computed: list[float] | Exception) -> None:
        self._computed = computed

    def similarities(self, tokens: object) -> "Future[list[float]]":
        future: Future[list[float]] = Future()
        if isinstance(self._computed, Exception):
            future.set_exception(self._computed)
        else:
            future.set_result(self._computed)
        return future


@pytest.mark.parametrize(
    ("computed", "said"),
    [
        ([0.5, 0.5], Reweight(4, 0.0)),
        ([float("nan"), 0.5], "the embedder has failed"),
        (RuntimeError("no"), "the embedder has failed"),
        (EngineError("It is gone."), "It is gone."),
    ],
)
def test_each_weight_comes_or_the_reason_why_it_does_not(
    computed: list[float] | Exception, said: Reweight | str
) -> None:
    events: list[Reweight | Broke] = []
    share = FollowingShare(cast(FollowingWeights, Weights(computed)), events.append)
    share.advance([7, 8], 10)
    (event,) = events
    assert (str(event.error) if isinstance(event, Broke) else event) == said
