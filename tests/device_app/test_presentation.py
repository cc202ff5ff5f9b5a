"""The texts that say what made an answer faster."""

import time
from typing import Any

import pytest

from device_app.presentation import gains, local_time, place_in

READ = {"passages": 1, "tokens": 1200, "ms": 2300.0, "served": 1}
DRAFTS = {"passes": 20, "drafted": 40, "accepted": 31, "gain": 1.62}


MODEL = {"name": "small", "drafted": 12, "accepted": 9, "read": 1410, "ms": 420.0, "failed": ""}
NOW = DRAFTS | {"tokens_per_pass": 2.55, "model": None}


@pytest.mark.parametrize(
    ("trace", "lines"),
    [
        (
            {"drafts": NOW},
            ["drafted: 31 of 40 drafted tokens were right, 2.5 tokens a pass, written about 1.6 times as fast"],
        ),
        (
            {"drafts": NOW | {"accepted": 0, "model": MODEL | {"accepted": 0}}},
            ["drafted by small: 0 of 12 right, in 0.4 s with 1,410 tokens read"],
        ),
        (
            {"drafts": NOW | {"model": MODEL | {"failed": "small drafts no more"}}},
            [
                "drafted: 31 of 40 drafted tokens were right, 2.5 tokens a pass, written about 1.6 times as fast",
                "drafted by small: 9 of 12 right, in 0.4 s with 1,410 tokens read",
                "small drafts no more",
            ],
        ),
        ({}, []),
        ({"drafts": None}, []),
        ({"drafts": DRAFTS | {"accepted": 0}}, []),
        ({"drafts": DRAFTS}, ["drafted: 31 of 40 drafted tokens were right, written about 1.6 times as fast"]),
        (
            {"read_while_typing": READ, "drafts": DRAFTS},
            [
                "read while you typed: 1 passage, 1,200 tokens in 2.3 s; 1 used",
                "drafted: 31 of 40 drafted tokens were right, written about 1.6 times as fast",
            ],
        ),
    ],
)
def test_each_gain_has_its_line(trace: dict[str, Any], lines: list[str]) -> None:
    assert gains({"trace": trace}) == lines


@pytest.mark.parametrize(
    ("path", "line", "page", "words"),
    [
        ("a.pdf", None, 3, "page 3"),
        ("a.PPTX", None, 3, "slide 3"),
        ("a.odp", None, 3, "slide 3"),
        ("a.xlsx", 3, None, "row 3"),
        ("a.ods", 3, None, "row 3"),
        ("a.md", 3, None, "line 3"),
        ("a.odt", None, None, ""),
    ],
)
def test_the_place_in_a_file_is_named_as_its_kind_names_it(
    path: str, line: int | None, page: int | None, words: str
) -> None:
    assert place_in(path, line, page) == words


def test_times_are_those_of_where_the_person_is(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as changed:
        changed.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
        time.tzset()
        assert local_time("2026-07-01T22:30:00+00:00") == "2026-07-02 00:30"
    time.tzset()
