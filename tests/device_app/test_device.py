"""`device_app.device`, which builds the device's parts from its settings."""

import os
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from device_app.device import Device
from device_app.settings import Settings, load
from models.fake import FakeEngine
from models.sampling import SamplingSettings
from storage.paths import HOME_VARIABLE, Paths
from tests.adapter_file import ADAPTER, MODEL, pairs, write
from tests.devices import fake_device


def test_the_environment_is_not_changed_beside_other_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # In C, another thread that reads the environment meanwhile would end the process.
    for name in ("GOMP_SPINCOUNT", "LLAMA_CPP_FOLDER"):
        monkeypatch.delenv(name, raising=False)
    threads: list[threading.Thread] = []
    real = type(os.environ).__setitem__

    def put(environment: "os._Environ[str]", name: str, value: str) -> None:
        threads.append(threading.current_thread())
        real(environment, name, value)

    monkeypatch.setattr(type(os.environ), "__setitem__", put)
    with Device(Paths.locate({HOME_VARIABLE: str(tmp_path)}), Settings()) as device:
        device.begin_loading().exception()
    assert set(threads) == {threading.main_thread()}


def test_whoever_asks_for_chance_gets_likely_words(tmp_path: Path) -> None:
    paths = Paths.locate({HOME_VARIABLE: str(tmp_path)})
    settings = load(paths, {}, {"answer.temperature": 0.7}).settings
    assert Device(paths, settings).options().sampling == SamplingSettings(0.7, top_k=40, min_p=0.05)


def test_answers_are_named_by_the_adapter_that_is_loaded_once_one_is(tmp_path: Path) -> None:
    model, adapter = write(tmp_path / "model.gguf", MODEL, {}), write(tmp_path / "adapter.gguf", ADAPTER)

    def fingerprint(chosen: str, *loaded: str) -> str:
        paths = Paths.locate({HOME_VARIABLE: str(tmp_path)})
        engine = FakeEngine()
        settings = load(paths, {}, {"model.name": f"file:{model}", "model.adapter": chosen}).settings
        device = fake_device(paths, settings, lambda: engine)
        for adapter in loaded:
            engine._info = replace(engine.info, adapter=adapter)
            device.begin_loading().result()
        return device.options().fingerprint

    bare, adapted = fingerprint("off"), fingerprint(str(adapter))
    assert fingerprint(str(adapter), "") == bare, "llama.cpp refused it"
    assert fingerprint(str(adapter), "1" * 32) not in (bare, adapted), "the file was another then"


@pytest.mark.weights
def test_the_model_is_loaded_with_the_adapter_that_answers_are_named_by(tmp_path: Path, weights: Path) -> None:
    paths = Paths.locate({HOME_VARIABLE: str(tmp_path)})
    paths.weights.parent.mkdir(parents=True)
    paths.weights.symlink_to(weights)
    adapter = write(tmp_path / "adapter.gguf", ADAPTER, pairs(2))
    for chosen in (adapter, tmp_path / "nowhere.gguf"):
        flags = {"model.adapter": str(chosen), "model.context": 512}
        with Device(paths, load(paths, {}, flags).settings) as device:
            info = device.begin_loading().result().engine.info
            assert (info.adapter, info.refused) == (device.adapter.hash if device.adapter else "", device.refused)
            assert bool(info.adapter) == (chosen == adapter)
