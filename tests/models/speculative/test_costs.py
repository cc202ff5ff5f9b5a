"""The times of forward passes: measured once, stored beside the weights, and interpolated."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from models.engine import Logits
from models.facts import FactsFile
from models.fake import FakeEngine
from models.interruptible import interruptible
from models.speculative.costs import FILE, KnownCosts, PassCosts, Samples, is_steady, measured
from shared.errors import EngineError, GaveWay

COSTS = PassCosts(((1, 1.0), (2, 1.2), (4, 2.0)), is_exact=True)


@pytest.mark.parametrize(("tokens", "ratio"), [(1, 1.0), (2, 1.2), (3, 1.6), (4, 2.0), (6, 2.8)])
def test_ratios_lie_between_those_measured(tokens: int, ratio: float) -> None:
    assert COSTS.ratio(tokens) == pytest.approx(ratio)


@pytest.mark.parametrize(("tokens", "ratio"), [(1, 1.0), (2, (1.2 + 2 * 0.5) / 1.5), (4, (2 + 4 * 0.5) / 1.5)])
def test_behind_a_long_prompt_several_tokens_at_once_save_less(tokens: int, ratio: float) -> None:
    costs = replace(COSTS, attention=0.5 / 1000)
    assert costs.ratio(tokens, 192) == COSTS.ratio(tokens)
    assert costs.ratio(tokens, 1192) == pytest.approx(ratio)
    assert costs.ratio(tokens, 10**9) == pytest.approx(tokens, rel=1e-3)


@pytest.mark.parametrize(
    "ratios",
    [
        (),
        ((1, 1.0),),
        ((2, 1.0), (3, 1.0)),
        ((1, 1.0), (3, 1.0), (2, 1.0)),
        ((1, 1.0), (1, 1.0)),
        ((1, 1.0), (12, 3.2), (16, 2.0)),
    ],
)
def test_costs_need_two_sizes_from_one_on_and_never_fall(ratios: tuple[tuple[int, float], ...]) -> None:
    with pytest.raises(ValueError, match="give no costs"):
        PassCosts(ratios, is_exact=True)


def test_a_measurement_that_gave_way_goes_on_where_it_was() -> None:
    samples: Samples = {}
    looks = iter([False] * 30 + [True])
    with pytest.raises(GaveWay):
        measured(interruptible(FakeEngine(), lambda: next(looks)), samples)
    before = {kind: list(seconds) for kind, seconds in samples.items()}
    assert before
    measured(FakeEngine(), samples)
    assert all(samples[kind][: len(seconds)] == seconds for kind, seconds in before.items())
    assert set(map(len, samples.values())) == {5}


def test_an_engine_without_room_is_named() -> None:
    with pytest.raises(EngineError, match="no room for drafts"):
        measured(FakeEngine(context=16), {})


@pytest.mark.parametrize("context", [17, 100, 208, 300])
def test_a_small_context_is_measured_as_far_as_it_goes(context: int) -> None:
    assert measured(FakeEngine(context=context), {}).ratios[0] == (1, 1.0)


def test_what_other_processes_disturbed_is_not_steady() -> None:
    assert is_steady({(192, 1): [1.0, 1.1, 1.2, 1.0, 1.1]})
    assert not is_steady({(192, 1): [1.0, 1.1, 1.2, 1.0, 1.1], (192, 4): [1.0, 2.0, 2.1, 1.9, 1.0]})


def test_measuring_leaves_the_engine_empty_and_says_what_is_exact() -> None:
    engine = FakeEngine(sequences=2)
    engine.prefill(1, [1, 2, 3])
    costs = measured(engine, {})
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

    assert not measured(Rounding(), {}).is_exact


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
        '{"a model": {"ratios": [[1, 1.0], [2, 0.5]], "is_exact": true}}',
        '{"a model": {"ratios": [[1, 1.0], [2, Infinity]], "is_exact": true}}',
        '{"a model": {"ratios": [[1, 1.0], [2, NaN]], "is_exact": true}}',
        '{"a model": {"ratios": [[1, 1.0], [2, 1.5]], "is_exact": true, "attention": -1}}',
    ],
)
def test_what_is_damaged_is_measured_again(tmp_path: Path, damaged: str) -> None:
    (tmp_path / FILE).write_text(damaged)
    known = KnownCosts(FactsFile(tmp_path, FILE), "a model")
    assert known.load() is None
    known.keep(COSTS)
    assert known.load() == COSTS
