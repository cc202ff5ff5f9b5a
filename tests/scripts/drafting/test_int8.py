"""Matrices in 8-bit integers: products are those of the rounded numbers, and a network computes nearly the same."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

pytest.importorskip("torch", reason="needs the train extra")

from models.speculative.network import DraftNetwork
from scripts.drafting.int8 import Int8Matrix
from tests.models.speculative.networks import small_shape, tensors

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
    assert np.allclose(product, exact, rtol=1e-3, atol=2e-2 * np.abs(values).max(1, keepdims=True))
    assert not product[:, 5].any()


def test_a_network_with_them_predicts_nearly_the_same() -> None:
    shape = small_shape()
    exact, own = DraftNetwork(shape, tensors(shape)), DraftNetwork(shape, tensors(shape), Int8Matrix)
    features = np.random.default_rng(1).standard_normal((20, shape.width), np.float32)
    tokens = np.arange(20) % shape.tokens
    expected, _ = exact.step(exact.held(), features, tokens, np.arange(20))
    got, logits = own.step(own.held(), features, tokens, np.arange(20))
    assert logits.shape == (20, shape.drafted)
    assert 0 < np.abs(got - expected).max() < 0.1 * np.abs(expected).max()
