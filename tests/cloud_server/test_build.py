"""`cloud_server.build`, which builds the server's parts from its settings, with real weights."""

import logging
import shutil
from pathlib import Path

import pytest
from msgspec import structs

from cloud_server import build
from cloud_server.retrieval.versions import Versions, read_facts, write_facts
from cloud_server.settings import load
from shared.errors import WeightsDamaged
from storage.paths import HOME_VARIABLE, Paths
from tests.adapter_file import ADAPTER, pairs, write
from tests.cloud_server.retrieval.test_versions import EARLIER
from tests.tiny_model import layers_asked, metadata, tiny_model

pytestmark = pytest.mark.weights


@pytest.mark.long
def test_a_server_answers_with_its_adapter_or_says_in_its_log_why_not(
    weights: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    paths = Paths.locate({HOME_VARIABLE: str(tmp_path)})
    paths.weights.parent.mkdir(parents=True)
    paths.weights.symlink_to(weights)
    adapter = write(tmp_path / "adapter.gguf", ADAPTER, pairs(2))
    for chosen, refused in ((adapter, False), (tmp_path / "nowhere.gguf", True)):
        settings = load(paths, {}, {"model.adapter": str(chosen), "model.context": 512}).settings
        with caplog.at_level(logging.WARNING):
            answering, _ = build.parts(paths, settings)
        info = answering.engine.info
        answering.engine.close()
        assert (bool(info.adapter), "there is no such file" in info.refused) == (not refused, refused)
        assert ("there is no such file" in caplog.text) == refused


def test_a_model_whose_metadata_contradicts_its_tensors_is_refused_by_name(weights: Path, tmp_path: Path) -> None:
    paths = Paths.locate({HOME_VARIABLE: str(tmp_path)})
    values = metadata("llama")
    wrong = write(tmp_path / "wrong.gguf", {**values, "llama.block_count": 0}, {})
    settings = load(paths, {}, {"model.name": f"file:{wrong}"}).settings
    with pytest.raises(WeightsDamaged, match=r"wrong\.gguf is damaged.*llama\.block_count is 0"):
        build.parts(paths, settings)


@pytest.mark.parametrize(("setting", "asked"), [(0, 0), (12, 12), ("auto", -1)])
@pytest.mark.parametrize("offloads", [True, False])
def test_the_layers_for_a_gpu_are_asked_of_llama_cpp(
    setting: int | str,
    asked: int,
    offloads: bool,
    weights: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    passed = layers_asked(monkeypatch, offloads=offloads)
    paths = Paths.locate({HOME_VARIABLE: str(tmp_path)})
    paths.weights.parent.mkdir(parents=True)
    paths.weights.symlink_to(weights)
    own = tiny_model(tmp_path / "own.gguf", "llama")
    flags = {"model.name": f"file:{own}", "model.gpu_layers": setting, "model.context": 512, "model.kv": "f16"}
    with caplog.at_level(logging.WARNING):
        answering, _ = build.parts(paths, load(paths, {}, flags).settings)
    key = answering.engine.info.kv_key
    answering.engine.close()
    assert passed == [asked]
    assert key.endswith(f"gpu {asked}") == bool(asked and offloads)  # its states are another's, and tested apart
    assert ("built without a GPU" in caplog.text) == bool(asked and not offloads)


def test_the_relevance_of_an_index_goes_before_the_settings(weights: Path, tmp_path: Path) -> None:
    paths = Paths.locate({HOME_VARIABLE: str(tmp_path)})
    paths.weights.parent.mkdir(parents=True)
    paths.weights.symlink_to(weights)
    settings = load(paths, {}, {"model.context": 512, "model.adapter": "off"}).settings
    for chosen, expected in ((None, settings.retrieval.relevance), (0.7, 0.7)):
        shutil.rmtree(paths.server_index, ignore_errors=True)
        shutil.copytree(EARLIER, paths.server_index)
        version = Versions(paths.server_index).current()
        write_facts(version, structs.replace(read_facts(version), relevance=chosen))
        answering, _ = build.parts(paths, settings)
        answering.engine.close()
        assert answering.relevance == expected
