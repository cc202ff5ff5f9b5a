"""The benchmark of what joint answers reveal: its figures by way of writing, with a fake model and a real server."""

from contextlib import closing

import pytest

from device_app.companion.link.credentials import Credentials
from device_app.inference.local import LocalSource
from models.fake import FakeEmbedder, FakeEngine
from scripts.benchmarks.reveals import WAYS, Case, Wire, _means, _together
from shared.prompt import CHATML
from shared.protocol import messages as m
from tests.companion import Serve, serve
from tests.jointly import DANUBE, DIARY, EVEN, passage

__all__ = ["serve"]


@pytest.mark.parametrize("name", WAYS)
def test_open_ways_alone_reveal_distributions_and_weights_that_follow(serve: Serve, name: str) -> None:
    served, way = serve(), WAYS[name]
    case = Case(DANUBE, passage(DIARY), EVEN, frozenset({"boat", "saw"}))
    hello = m.Hello(m.VERSIONS, "fake", "fake", "test")
    with closing(Wire(Credentials(served.url, served.token()), hello)) as link:
        assert link.wait(30).connected
        source = LocalSource(FakeEngine(), CHATML)
        figures = _means([_together(link, source, FakeEmbedder(), case, way) for _ in range(2)])
    assert figures["tokens"] > 16
    assert figures["bytes"] > figures["tokens"]
    assert 0 <= figures["beyond_answer"] <= figures["words"] <= 1
    assert (figures["distributions"] > 0) == way.open
    assert (figures["numbers"] > 0) == bool(way.every)
