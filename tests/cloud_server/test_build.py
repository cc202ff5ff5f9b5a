"""The one place where the server's parts are put together, with real weights."""

import logging
from pathlib import Path

import pytest

from cloud_server import build
from cloud_server.settings import load
from storage.paths import HOME_VARIABLE, Paths
from tests.adapter_file import ADAPTER, pairs, write

pytestmark = pytest.mark.weights


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
