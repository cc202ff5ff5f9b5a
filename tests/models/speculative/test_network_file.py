"""Files of draft networks: what is damaged or made for another model is named and refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.engine import EngineInfo
from models.fake import FakeEngine
from models.speculative.network import Held, Shape
from models.speculative.network_file import FORMAT, About, load, said, target_of
from shared.errors import DraftRejected, WeightsDamaged, WeightsMissing
from tests.models.speculative.networks import small_shape, tensors, write


def info() -> EngineInfo:
    return FakeEngine().info


def shape(**changes: Any) -> Shape:
    return small_shape(**{"tokens": info().vocabulary, **changes})


def test_a_sound_file_is_loaded(tmp_path: Path) -> None:
    path = write(tmp_path / "draft.safetensors", tensors(shape()), said(About(target_of(info()), shape())))
    network = load(path, info())
    hidden, logits = network.step(Held(network.shape), np.ones((2, 8), np.float32), [1, 2], [0, 1])
    assert network.shape == shape()
    assert hidden.shape == (2, 8)
    assert logits.shape == (2, 5)


def _nan(arrays: dict[str, Any]) -> None:
    arrays["block.0.ffn_up"] = arrays["block.0.ffn_up"].copy()
    arrays["block.0.ffn_up"][1, 2] = np.nan


def _infinite(arrays: dict[str, Any]) -> None:
    arrays["head"] = np.full_like(arrays["head"], np.inf)


def _missing(arrays: dict[str, Any]) -> None:
    del arrays["fusion.gate"]


def _other_shape(arrays: dict[str, Any]) -> None:
    arrays["fusion.gate"] = arrays["fusion.gate"].T.copy()


def _no_such_token(arrays: dict[str, Any]) -> None:
    arrays["vocabulary"] = arrays["vocabulary"] + np.int32(info().vocabulary)


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (_nan, "block.0.ffn_up has values that are not numbers"),
        (_infinite, "head has values that are not numbers"),
        (_missing, "fusion.gate is missing"),
        (_other_shape, "fusion.gate is missing or has another shape"),
        (_no_such_token, "tokens that do not exist"),
    ],
)
def test_damaged_tensors_are_named(tmp_path: Path, spoil: Callable[[dict[str, Any]], None], reason: str) -> None:
    arrays = tensors(shape())
    spoil(arrays)
    path = write(tmp_path / "draft.safetensors", arrays, said(About(target_of(info()), shape())))
    with pytest.raises(WeightsDamaged, match=reason):
        load(path, info())


@pytest.mark.parametrize("length", [0, 7, 40, 600, -1])
def test_a_file_that_is_cut_short_is_refused(tmp_path: Path, length: int) -> None:
    path = write(tmp_path / "draft.safetensors", tensors(shape()), said(About(target_of(info()), shape())))
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(WeightsDamaged, match=r"draft\.safetensors cannot be used"):
        load(path, info())


@pytest.mark.parametrize(
    ("metadata", "error", "reason"),
    [
        (said(About("another", shape())), DraftRejected, "made for a model other"),
        ({FORMAT: "{}"}, WeightsDamaged, "missing required field"),
        ({FORMAT: "{"}, WeightsDamaged, "truncated"),
        ({"format": "else"}, WeightsDamaged, "no draft network"),
    ],
)
def test_another_models_network_is_refused(
    tmp_path: Path, metadata: dict[str, str], error: type[Exception], reason: str
) -> None:
    with pytest.raises(error, match=reason):
        load(write(tmp_path / "draft.safetensors", tensors(shape()), metadata), info())


@pytest.mark.parametrize(
    "sizes",
    [
        {"blocks": 10**12},
        {"blocks": -1},
        {"width": 0},
        {"head": 3},
        {"heads": 2, "kv_heads": 4},
        {"kv_heads": 0},
        {"epsilon": -1.0},
        {"rope_base": 0.0},
    ],
)
def test_sizes_that_no_network_has_are_refused_at_once(tmp_path: Path, sizes: dict[str, Any]) -> None:
    about = json.loads(said(About(target_of(info()), shape()))[FORMAT])
    about["shape"].update(sizes)
    path = write(tmp_path / "draft.safetensors", tensors(shape()), {FORMAT: json.dumps(about)})
    with pytest.raises(WeightsDamaged, match="no draft network"):
        load(path, info())


def test_a_vocabulary_of_floats_is_refused(tmp_path: Path) -> None:
    arrays = tensors(shape())
    arrays["vocabulary"] = arrays["vocabulary"].astype(np.float32) + np.float32(0.5)
    path = write(tmp_path / "draft.safetensors", arrays, said(About(target_of(info()), shape())))
    with pytest.raises(WeightsDamaged, match="vocabulary"):
        load(path, info())


def test_another_vocabulary_is_refused(tmp_path: Path) -> None:
    own = shape(tokens=info().vocabulary - 1)
    with pytest.raises(DraftRejected, match="tokens"):
        load(write(tmp_path / "draft.safetensors", tensors(own), said(About(target_of(info()), own))), info())


def test_no_file_and_a_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(WeightsMissing, match=r"no draft network .*none\.safetensors"):
        load(tmp_path / "none.safetensors", info())
    with pytest.raises(WeightsDamaged):
        load(tmp_path, info())
