"""Estimates of a model's memory before its download: the same as those from its file."""

from pathlib import Path

import pytest

from models import catalog
from models.catalog import CATALOG, Weights
from models.forecast import Forecast, Room, forecast, looked_into, model_size

ROOM = Room(4096, "f16")
ENGINES = [entry for entry in CATALOG if entry.kind == "engine"]


@pytest.mark.parametrize(
    ("weights", "attention", "fetch", "memory", "disk", "fits"),
    [
        (100, 50, 0, 150, 0, (True, True)),
        (100, 51, 0, 150, 0, (False, True)),
        (100, 50, 30, 200, 29, (True, False)),
        (None, 0, 0, 0, 0, (True, True)),
    ],
)
def test_what_fits(
    weights: int | None, attention: int, fetch: int, memory: int, disk: int, fits: tuple[bool, bool]
) -> None:
    cast = Forecast(weights, attention, 1, fetch, memory, disk)
    assert (cast.fits_memory, cast.fits_disk) == fits


@pytest.mark.parametrize("entry", ENGINES, ids=lambda entry: entry.name)
def test_a_model_that_is_not_here_is_forecast(tmp_path: Path, entry: catalog.Entry) -> None:
    whole = forecast(Weights(tmp_path / "none" / "yet"), entry, ROOM)
    half = forecast(Weights(tmp_path), entry, Room(2048, "q8_0"))
    assert entry.shape
    assert (whole.weights, whole.tokens, whole.fetch) == (entry.shape.file, 4096, entry.space)
    assert whole.attention == 4096 * entry.shape.kv_values * 2
    assert half.attention == 2048 * (entry.shape.kv_values * 34 // 32)
    assert forecast(Weights(tmp_path), entry, Room(1_000_000, "f16")).tokens == entry.shape.context


def test_a_file_that_is_not_there_is_unknown(tmp_path: Path) -> None:
    cast = forecast(Weights(tmp_path), catalog.find(f"file:{tmp_path}/own.gguf"), ROOM)
    assert (cast.memory, cast.fits_memory, cast.fits_disk) == (None, True, True)


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("own-00001-of-00003.gguf", 111),
        ("own-00002-of-00003.gguf", 10),
        ("own.gguf", 1000),
        ("a-00001-of-00002.gguf", 1),
    ],
)
def test_a_split_model_is_as_large_as_its_parts(tmp_path: Path, name: str, size: int) -> None:
    sizes = {"own-00001-of-00003": 1, "own-00002-of-00003": 10, "own-00003-of-00003": 100, "own": 1000}
    for stem, length in (sizes | {"a-00001-of-00002": 1}).items():
        (tmp_path / f"{stem}.gguf").write_bytes(bytes(length))
    assert model_size(tmp_path / name) == size


@pytest.mark.weights
@pytest.mark.parametrize("name", ["smollm2-135m", "smollm2-135m-q4_1"])
def test_the_catalog_knows_what_the_file_says(weights: Path, name: str) -> None:
    entry = catalog.find(name, "engine")
    inside = looked_into(Weights(weights), entry)
    assert entry.shape == catalog.Shape(inside.file, inside.kv_values, inside.context)
    own = forecast(Weights(weights), catalog.find(f"file:{weights / entry.files[0]}"), ROOM)
    known = forecast(Weights(weights), entry, ROOM)
    assert (own.weights, own.attention, own.fetch) == (known.weights, known.attention, 0)
