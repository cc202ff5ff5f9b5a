"""A draft network in torch, as on a GPU, gives what the one in NumPy gives; here its device is the processor."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the train extra")

from models.fake import FakeEngine
from models.speculative.network import DraftNetwork, Fusion
from models.speculative.network_file import About, load, said, target_of
from models.speculative.torch_network import TorchNetwork
from tests.models.speculative.networks import small_shape, tensors, write

pytestmark = pytest.mark.torch


@pytest.mark.parametrize("fusion", ["gated", "plain"])
@pytest.mark.parametrize("blocks", [1, 2])
def test_steps_in_parts_and_over_branches_agree(fusion: Fusion, blocks: int) -> None:
    shape = small_shape(fusion=fusion, blocks=blocks)
    own, other = DraftNetwork(shape, tensors(shape)), TorchNetwork(shape, tensors(shape), "cpu")
    held, other_held = own.held(), other.held()
    draw = np.random.default_rng(1)
    features = draw.standard_normal((300, shape.width), np.float32) / np.float32(4)
    branches = np.ones((2, 302), np.bool_)
    branches[0, 301] = branches[1, 300] = False
    for begin, stop, visible in ((0, 3, None), (3, 260, None), (260, 300, None), (298, 300, branches)):
        tokens, places = draw.integers(0, shape.tokens, stop - begin), np.arange(begin, stop)
        expected = own.step(held, features[begin:stop], tokens, places, visible)
        got = other.step(other_held, features[begin:stop], tokens, places, visible)
        for mine, theirs in zip(expected, got, strict=True):
            assert theirs.dtype == np.float32
            assert np.allclose(mine, theirs, atol=1e-3 * np.abs(mine).max())
        assert held.length == other_held.length
    held.length = other_held.length = 2
    mine = own.step(held, features[:1], [1], [2])[1]
    theirs = other.step(other_held, features[:1], [1], [2])[1]
    assert np.allclose(mine, theirs, atol=1e-3 * np.abs(mine).max())


def test_a_file_is_loaded_onto_a_device(tmp_path: Path) -> None:
    info, shape = FakeEngine().info, small_shape()
    path = write(tmp_path / "draft.safetensors", tensors(shape), said(About(target_of(info), shape)))
    assert isinstance(load(path, info, "cpu"), TorchNetwork)
    assert isinstance(load(path, info), DraftNetwork)
