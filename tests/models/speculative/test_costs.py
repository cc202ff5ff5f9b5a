"""The costs of passes: measured once, kept beside the weights, interpolated."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from models.engine import Logits
from models.facts import FactsFile
from models.fake import FakeEngine
from models.speculative.costs import FILE, KnownCosts, PassCosts, measured

COSTS = PassCosts(((1, 1.0), (2, 1.2), (4, 2.0)), is_exact=True)


@pytest.mark.parametrize(("tokens", "ratio"), [(1, 1.0), (2, 1.2), (3, 1.6), (4, 2.0), (6, 2.8)])
def test_ratios_lie_between_those_measured(tokens: int, ratio: float) -> None:
    assert COSTS.ratio(tokens) == pytest.approx(ratio)


@pytest.mark.parametrize("sizes", [(), (1,), (2, 3), (1, 3, 2), (1, 1)])
def test_costs_need_two_sizes_from_one_on(sizes: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="give no costs"):
        PassCosts(tuple((size, 1.0) for size in sizes), is_exact=True)


def test_measuring_leaves_the_engine_empty_and_says_what_is_exact() -> None:
    engine = FakeEngine(sequences=2)
    engine.prefill(1, [1, 2, 3])
    costs = measured(engine)
    assert [size for size, _ in costs.ratios] == [1, 2, 3, 4, 6, 8, 12, 16]
    assert costs.ratios[0] == (1, 1.0)
    assert costs.is_exact
    assert [engine.length(sequence) for sequence in (0, 1)] == [0, 0]


def test_a_pass_that_rounds_otherwise_is_not_exact() -> None:
    class Rounding(FakeEngine):
        def decode(self, tokens: Mapping[int, int]) -> dict[int, Logits]:
            return {sequence: logits + 0.001 for sequence, logits in super().decode(tokens).items()}

        def verify(self, tokens: Any) -> Any:
            return {sequence: [row - 0.001 for row in rows] for sequence, rows in super().verify(tokens).items()}

    assert not measured(Rounding()).is_exact


def test_costs_are_kept_by_key(tmp_path: Path) -> None:
    file = FactsFile(tmp_path, FILE)
    known = KnownCosts(file, "a model")
    assert known.load() is None
    known.keep(COSTS)
    assert known.load() == COSTS
    assert KnownCosts(file, "another").load() is None


@pytest.mark.parametrize(
    "damaged",
    [
        "",
        "[]",
        '{"a model": 3}',
        '{"a model": {"ratios": [[1, 1.0]], "is_exact": true}}',
        '{"a model": {"ratios": [[1, 1.0], [2, -1.0]], "is_exact": true}}',
        '{"a model": {"ratios": [[1, 1.0], [2, 1.5]], "is_exact": "yes"}}',
    ],
)
def test_what_is_damaged_is_measured_again(tmp_path: Path, damaged: str) -> None:
    (tmp_path / FILE).write_text(damaged)
    known = KnownCosts(FactsFile(tmp_path, FILE), "a model")
    assert known.load() is None
    known.keep(COSTS)
    assert known.load() == COSTS
