"""The mean of several LoRA adapters: how it is computed, and how well an adapter of a lower rank approximates it."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the train extra")

from scripts.answerer.soup import mean  # noqa: E402

pytestmark = pytest.mark.torch

A, B = (f"blk.0.attn_q.lora_{letter}.default.weight" for letter in "AB")
INPUTS, OUTPUTS = 24, 16


def adapter(seed: int, rank: int) -> dict[str, Any]:
    draw = np.random.default_rng(seed)
    return {A: torch.tensor(draw.normal(size=(rank, INPUTS))), B: torch.tensor(draw.normal(size=(OUTPUTS, rank)))}


def added(tensors: Mapping[str, Any]) -> Any:
    return tensors[B].double() @ tensors[A].double()


@pytest.mark.parametrize("count", [1, 2, 3])
def test_it_adds_the_mean_of_what_they_add_where_its_rank_holds_that(count: int) -> None:
    several = [adapter(seed, 2) for seed in range(count)]
    merged = mean(several, 6)
    assert (merged[A].dtype, merged[B].dtype) == (torch.float32, torch.float32)
    torch.testing.assert_close(added(merged), sum(map(added, several)) / count, atol=1e-5, rtol=1e-5)


def test_of_a_lower_rank_it_is_the_nearest_there_is() -> None:
    several = [adapter(seed, 4) for seed in range(3)]
    merged = mean(several, 4)
    assert (merged[A].shape, merged[B].shape) == ((4, INPUTS), (OUTPUTS, 4))
    whole = sum(map(added, several)) / 3
    left = torch.linalg.svdvals(whole)[4:].square().sum().sqrt()
    assert float((added(merged) - whole).norm()) == pytest.approx(float(left), rel=1e-5)


def test_it_has_the_rank_that_is_asked_for_where_a_weight_has_no_room_for_it_too() -> None:
    several = [adapter(seed, 4) for seed in range(2)]
    merged = mean(several, OUTPUTS + 4)
    assert (merged[A].shape, merged[B].shape) == ((OUTPUTS + 4, INPUTS), (OUTPUTS, OUTPUTS + 4))
    torch.testing.assert_close(added(merged), sum(map(added, several)) / 2, atol=1e-5, rtol=1e-5)


def test_the_same_adapters_have_the_same_mean_and_what_learnt_nothing_adds_nothing() -> None:
    several = [adapter(seed, 2) for seed in range(2)]
    assert all(torch.equal(mean(several, 3)[name], mean(several, 3)[name]) for name in (A, B))
    nothing = adapter(1, 2) | {B: torch.zeros(OUTPUTS, 2)}
    assert not added(mean([nothing], 2)).any()
