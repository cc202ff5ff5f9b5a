"""An inflated draft network gives the small one's logits."""

import numpy as np
import pytest

from models.speculative.network import DraftNetwork, Fusion, Held
from scripts.inflation.networks import inflated
from scripts.inflation.shapes import CannotInflate, Shape
from tests.models.speculative.networks import small_shape, tensors


@pytest.mark.parametrize("fusion", ["gated", "plain"])
@pytest.mark.parametrize("blocks", [1, 2])
@pytest.mark.parametrize("large", [Shape(16, 4, 4, 20, 3), Shape(24, 6, 3, 12, 2)])
def test_logits_are_the_same_and_features_are_padded(fusion: Fusion, blocks: int, large: Shape) -> None:
    own = small_shape(fusion=fusion, blocks=blocks, heads=2, kv_heads=1, drafted=30)
    small = DraftNetwork(own, tensors(own))
    shape, arrays = inflated(own, tensors(own), large)
    network = DraftNetwork(shape, arrays)
    assert {name: array.shape for name, array in arrays.items()} == {**shape.trained(), **shape.taken()}
    features = np.random.default_rng(1).standard_normal((5, own.width), np.float32) / np.float32(4)
    padded = np.pad(features, ((0, 0), (0, large.width - own.width)))
    held, larger_held = Held(own), Held(shape)
    for places in (np.arange(3), np.arange(3, 5)):
        expected, expected_logits = small.step(held, features[places], places, places)
        predicted, logits = network.step(larger_held, padded[places], places, places)
        assert np.allclose(logits, expected_logits, atol=1e-2 * np.abs(expected_logits).max())
        assert np.allclose(predicted[:, : own.width], expected, atol=1e-2 * np.abs(expected).max())
        assert not predicted[:, own.width :].any()


def test_a_shape_without_room_is_refused() -> None:
    own = small_shape()
    with pytest.raises(CannotInflate, match="larger shape"):
        inflated(own, tensors(own), Shape(4, 1, 1, 12, 1))
