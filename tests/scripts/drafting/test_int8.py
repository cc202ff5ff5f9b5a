"""Matrices in 8-bit integers: products are those of the rounded numbers, and a network computes nearly the same."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

pytest.importorskip("torch", reason="needs the train extra")

from models.speculative.network import DraftNetwork
from models.speculative.network_file import About, said
from scripts.drafting.int8 import Int8Matrix
from scripts.drafting.measuring import step_ms
from tests.models.speculative.networks import small_shape, tensors, write

pytestmark = pytest.mark.torch


def rounded(rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the rows in 127 steps of their largest number."""
    step = np.maximum(np.abs(rows).max(1, keepdims=True) / 127, 1e-30)
    return np.asarray(np.round(rows / step) * step)


@pytest.mark.parametrize("count", [1, 2, 17, 40])
def test_a_product_is_that_of_the_rounded_numbers(count: int) -> None:
    draw = np.random.default_rng(count)
    weights, values = draw.standard_normal((24, 64)), draw.standard_normal((count, 64)) * 3
    weights[5], values[0] = 0, values[0] * 1e4
    product = values.astype(np.float32) @ Int8Matrix(weights.astype(np.float16)).T
    exact = rounded(values) @ rounded(weights.astype(np.float16).astype(np.float64)).T
    assert product.dtype == np.float32
    assert np.allclose(product, exact, rtol=1e-3, atol=1e-3 * np.abs(values).max(1, keepdims=True))
    assert not product[:, 5].any()


def test_a_network_with_them_predicts_nearly_the_same() -> None:
    shape = small_shape()
    exact, own = DraftNetwork(shape, tensors(shape)), DraftNetwork(shape, tensors(shape), Int8Matrix)
    features = np.random.default_rng(1).standard_normal((20, shape.width), np.float32)
    tokens = np.arange(20) % shape.tokens
    expected = exact.step(exact.held(), features, tokens, np.arange(20))
    got = own.step(own.held(), features, tokens, np.arange(20))
    for mine, theirs in zip(got, expected, strict=True):
        assert 0 < np.abs(mine - theirs).max() < 0.15 * np.abs(theirs).max()


def test_its_step_is_timed_in_a_process_of_its_own(tmp_path: Path) -> None:
    path = write(tmp_path / "draft.safetensors", tensors(small_shape()), said(About("a model", small_shape())))
    assert step_ms(path, 1, "int8") > 0
