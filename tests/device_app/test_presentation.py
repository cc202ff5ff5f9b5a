"""The words for what made an answer faster."""

from typing import Any

import pytest

from device_app.presentation import gains

READ = {"passages": 1, "tokens": 1200, "ms": 2300.0, "served": 1}
DRAFTS = {"passes": 20, "drafted": 40, "accepted": 31, "gain": 1.62}


@pytest.mark.parametrize(
    ("trace", "lines"),
    [
        ({}, []),
        ({"drafts": None}, []),
        ({"drafts": DRAFTS | {"accepted": 0}}, []),
        ({"drafts": DRAFTS}, ["drafted: 31 of 40 drafted tokens were right, written about 1.6 times as fast"]),
        (
            {"read_while_typing": READ, "drafts": DRAFTS},
            [
                "read while you typed: 1 passage, 1,200 tokens in 2.3 s; 1 served",
                "drafted: 31 of 40 drafted tokens were right, written about 1.6 times as fast",
            ],
        ),
    ],
)
def test_each_gain_has_its_line(trace: dict[str, Any], lines: list[str]) -> None:
    assert gains({"trace": trace}) == lines
