"""The benchmark of row weights that follow the answer's text: figures, intervals, and a whole run on a fake model."""

from pathlib import Path

import numpy as np
import pytest

from models.fake import FakeEmbedder, FakeEngine
from scripts.benchmarks.dragon_weights import CONSTANT, DISTANCES, Arm, interval, measure, side_weights, table
from shared.aggregation.weights import row_weights


def test_gains_and_times_are_compared_window_by_window() -> None:
    arms = {name: Arm([-3.0, -4.0], [0.01, 0.02]) for name in DISTANCES}
    arms["8"] = Arm([-2.9, -3.8], [0.011, 0.022])
    figures = table(arms)
    assert figures[CONSTANT] == {"perplexity": pytest.approx(np.exp(3.5), abs=1e-3), "ms_per_token": 15.0}
    assert (figures["8"]["gain"], figures["8"]["over_constant"]) == (0.15, 1.1)
    assert 0.1 <= figures["8"]["gain_low"] <= 0.15 <= figures["8"]["gain_high"] <= 0.2
    assert figures["16"]["gain_low"] == figures["16"]["gain_high"] == 0


def test_an_interval_of_equal_differences_is_a_point() -> None:
    assert interval(np.full(8, 0.25)) == (0.25, 0.25)


def test_a_run_has_every_arm_and_the_same_windows_in_each(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    words = [f"word{number % 37} of line {number % 11}" for number in range(60)]
    text.write_text("\n".join(words), encoding="utf-8")
    figures = measure(text, FakeEngine(sequences=4, context=4096), FakeEmbedder(), 2)
    together = figures.pop("together")
    assert set(figures) == set(together) == set(DISTANCES)
    arms = [*figures.values(), *together.values()]
    assert all(arm["perplexity"] > 1 and arm["ms_per_token"] > 0 for arm in arms)


def test_a_side_weighs_as_much_as_its_passages() -> None:
    in_rows = np.exp(row_weights([0.6, 0.5, 0.4]))
    assert np.exp(side_weights([0.6, 0.5, 0.4])) == pytest.approx([in_rows[:2].sum(), in_rows[2]], rel=1e-5)
