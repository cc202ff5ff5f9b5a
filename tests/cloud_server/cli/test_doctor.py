"""`jackdaw-server doctor`: which problems it reports, and the fixes that it names for an operator."""

import os
from pathlib import Path

import numpy as np
import pytest

from cloud_server import build
from cloud_server.cli.doctor import Finding, examine
from cloud_server.retrieval.versions import IndexMetadata, write_facts
from models import catalog
from models.exactness import Verdicts
from models.verdict import Verdict
from shared.errors import JackdawError, StoreCorrupt, StoreError, UsageError
from storage.ivf_files import CLUSTERS, Layout, write_clusters
from storage.paths import Paths
from tests.adapter_file import MODEL, write
from tests.tiny_model import tiny_model, words


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JACKDAW_HOME", str(tmp_path))


def findings(check: str) -> list[Finding]:
    return [finding for finding in examine(Paths.locate(os.environ)) if finding.check == check]


@pytest.mark.parametrize(("state", "said"), [("missing", "serve downloads"), ("damaged", "Delete "), ("present", "")])
def test_a_model_is_fetched_by_the_server_itself(monkeypatch: pytest.MonkeyPatch, state: str, said: str) -> None:
    monkeypatch.setattr(catalog.Weights, "state", lambda *_: state)
    for finding in findings("model"):
        assert (finding.level, said in finding.fix, bool(finding.fix)) == (
            "ok" if not said else "warn",
            True,
            bool(said),
        )
        assert "jackdaw models" not in finding.fix


def test_a_file_of_ones_own_that_is_missing_is_not_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JACKDAW_SERVER_MODEL_NAME", "file:/nowhere/model.gguf")
    assert "Correct the path" in findings("model")[0].fix


def test_an_adapter_that_does_not_fit_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = write(tmp_path / "model.gguf", MODEL, {})
    monkeypatch.setenv("JACKDAW_SERVER_MODEL_NAME", f"file:{model}")
    monkeypatch.setenv("JACKDAW_SERVER_MODEL_ADAPTER", str(write(tmp_path / "fits.gguf")))
    assert findings("adapter") == []
    monkeypatch.setenv("JACKDAW_SERVER_MODEL_ADAPTER", str(tmp_path / "nowhere.gguf"))
    (finding,) = findings("adapter")
    assert (finding.level, "there is no such file" in finding.said) == ("warn", True)


def test_what_is_not_exact_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny_model(tmp_path / "model.gguf", "llama")
    assert findings("exactness") == []  # there is no model yet
    monkeypatch.setenv("JACKDAW_SERVER_MODEL_NAME", f"file:{model}")
    monkeypatch.setenv("JACKDAW_SERVER_MODEL_KV", "f16")
    (finding,) = findings("exactness")
    assert (finding.level, "5 of 5 checks are left" in finding.said) == ("ok", True)
    monkeypatch.setattr(Verdicts, "kept", lambda *_: Verdict(frozenset({"passes"})))
    (finding,) = findings("exactness")
    assert (finding.level, "reading only the rest of a prompt" in finding.said) == ("warn", True)


def test_a_model_that_cannot_draft_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, other = (
        tiny_model(tmp_path / f"{name}.gguf", "llama", words(first=start), seed)
        for seed, (name, start) in enumerate((("first", 0), ("second", 0), ("other", 1)))
    )
    monkeypatch.setenv("JACKDAW_SERVER_MODEL_NAME", f"file:{first}")
    assert findings("draft") == []
    for draft, level, said in ((second, "ok", "can draft tokens"), (other, "warn", "it has another vocabulary")):
        monkeypatch.setenv("JACKDAW_SERVER_MODEL_DRAFT", str(draft))
        (finding,) = findings("draft")
        assert (finding.level, said in finding.said) == (level, True)


@pytest.mark.faiss
@pytest.mark.parametrize(("vectors", "level"), [(20_000, "ok"), (40_000, "fail")])
def test_an_index_whose_codes_need_more_memory_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, vectors: int, level: str
) -> None:
    pytest.importorskip("faiss", reason="needs the server extra")
    monkeypatch.setenv("JACKDAW_SERVER_RETRIEVAL_INDEX", str(tmp_path / "index"))
    monkeypatch.setenv("JACKDAW_SERVER_RETRIEVAL_MEMORY_MB", "1")
    version = tmp_path / "index" / "versions" / "a"
    version.mkdir(parents=True)
    (tmp_path / "index" / "current").write_text("a")
    write_facts(version, IndexMetadata(vectors, 1, 128, "made", "2026", vectors, 0, (), (), 0))
    write_clusters(version / CLUSTERS, np.ones((1, 128), np.float32), Layout(np.array([vectors]), 128, "rabitq"))
    (finding,) = findings("index")
    assert (finding.level, "Set it to 2 at least" in finding.said) == (level, level == "fail")


@pytest.mark.parametrize(
    ("error", "builds"),
    [(UsageError("install it"), False), (StoreError("it does not answer"), False), (StoreCorrupt("damaged"), True)],
)
def test_an_index_is_built_again_only_where_that_fixes_it(
    monkeypatch: pytest.MonkeyPatch, error: JackdawError, builds: bool
) -> None:
    def index(*_: object) -> None:
        raise error

    monkeypatch.setattr(build, "index", index)
    (finding,) = findings("index")
    assert (finding.level, "index build" in finding.fix) == ("fail", builds)
