"""The choice of the retrieval pipeline for a request."""

from typing import get_args

import msgspec
import pytest

from cloud_server.pipelines.catalog import PIPELINES, choose
from shared.protocol import messages as m

ASK = m.Ask(1, "Where?", True, 3, 50, 0)


@pytest.mark.parametrize(
    ("changes", "version", "chosen"),
    [
        ({}, 2, "hyde"),
        ({"generate": False}, 2, "plain"),
        ({"generate": False, "pipeline": "flare"}, 2, "flare"),
        ({}, 1, "plain"),
        ({"pipeline": "flare"}, 2, "flare"),
        ({"pipeline": "plain"}, 2, "plain"),
        ({"pipeline": "flare", "ahead": 4}, 2, "plain"),
        ({"pipeline": "flare", "sources": (1,)}, 2, "plain"),
        ({"pipeline": "flare", "passages": 0}, 2, "plain"),
        ({"pipeline": "flare", "accepted": (1,)}, 2, "plain"),
        ({"pipeline": "flare", "accepted_text": "It"}, 2, "plain"),
    ],
)
def test_a_device_names_a_pipeline_or_the_server_prefers_one(
    changes: dict[str, object], version: int, chosen: str
) -> None:
    assert choose(msgspec.structs.replace(ASK, **changes), version, lambda: "hyde") == chosen


def test_every_pipeline_of_the_protocol_is_there() -> None:
    assert set(PIPELINES) == set(get_args(m.Pipeline))
