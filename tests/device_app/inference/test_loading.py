"""Loading the model that the settings name."""

from pathlib import Path
from typing import Literal

import pytest

from device_app.inference import loading
from device_app.settings.schema import Model
from models.catalog import Weights
from models.exactness import Verdicts
from models.verdict import EXACT
from tests.tiny_model import layers_asked, tiny_model


@pytest.mark.parametrize(("setting", "asked"), [(0, 0), (12, 12), ("auto", -1)])
def test_the_layers_for_a_gpu_are_asked_of_llama_cpp(
    setting: int | Literal["auto"], asked: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed = layers_asked(monkeypatch, offloads=True)
    monkeypatch.setattr(Verdicts, "tested", lambda *_: EXACT)
    own = tiny_model(tmp_path / "own.gguf", "llama")
    engine = loading.engine(Weights(tmp_path), Model(name=f"file:{own}", context=512, gpu_layers=setting))
    key = engine.info.kv_key
    engine.close()
    assert passed == [asked]
    assert key.endswith(f"gpu {asked}") == bool(asked)  # its states are another's, and tested apart
