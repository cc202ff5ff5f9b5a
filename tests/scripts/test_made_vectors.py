"""Generated vectors for benchmarks: of unit length, and at the stated distance from the passages' vectors."""

import numpy as np

from scripts.made_vectors import turned


def test_vectors_are_turned_by_the_angle_that_is_named() -> None:
    chance = np.random.default_rng(2)
    real = chance.standard_normal((200, 384)).astype(np.float32)
    real /= np.linalg.norm(real, axis=1, keepdims=True)
    made = turned(real, 0.97, chance)
    assert made.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(made, axis=1), 1, atol=1e-5)
    np.testing.assert_allclose((made * real).sum(axis=1), 0.97, atol=1e-5)
