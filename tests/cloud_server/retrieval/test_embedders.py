"""The embedder of an index: stored in its metadata, loaded to embed questions, and refused if its files have
changed.
"""

import json
import logging
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from click.testing import CliRunner
from msgspec import structs

from cloud_server import build
from cloud_server.cli import doctor, index, status
from cloud_server.retrieval.embedders import in_processes, incomparable
from cloud_server.retrieval.index import Progress
from cloud_server.retrieval.search import IndexCorpus
from cloud_server.retrieval.versions import EmbedderSource, IndexMetadata, Versions, read_facts, write_facts
from cloud_server.settings import Settings, load
from models import sentence_embedder
from models.catalog import Weights
from models.embedder import OnnxEmbedder
from models.sentence_embedder import SentenceEmbedder
from shared.errors import EngineError, UsageError
from storage.paths import Paths
from tests.cloud_server.retrieval.conftest import Make, Write, numbered
from tests.cloud_server.retrieval.test_versions import EARLIER

pytest.importorskip("faiss", reason="needs the server extra")
pytestmark = pytest.mark.faiss

FACTS = (
    "The Danube flows through ten countries and ends in the Black Sea.",
    "Mount Kenya is the second highest mountain of Africa.",
    "Jackdaws pair for life and share their food with their partner.",
)
Run = Callable[..., Any]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Paths:
    monkeypatch.setenv("JACKDAW_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("JACKDAW_SERVER_SERVE_METRICS_PORT", "0")
    (tmp_path / "facts.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in FACTS))
    return Paths.locate({"JACKDAW_HOME": str(tmp_path / "home")})


@pytest.fixture
def run(home: Paths) -> Run:
    def command(*arguments: object) -> Any:
        result = CliRunner().invoke(index.command, [*map(str, arguments), "--json"])
        assert result.exit_code == 0, (result.output, result.exception)
        return json.loads(result.stdout) | {"stderr": result.stderr}

    return command


def question_embedder(home: Paths) -> Any:
    settings = load(home, {}).settings
    return build._question_embedder(settings, Weights(home.weights), build.index_facts(home, settings))


@pytest.fixture
def model(sentence_model: Path, tmp_path: Path) -> Path:
    pytest.importorskip("sentence_transformers", reason="needs the embedders extra")
    folder = Path(shutil.copytree(sentence_model, tmp_path / "model"))
    prompts = {"prompts": {"query": "query: ", "document": "passage: "}}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    return folder


@pytest.mark.torch
@pytest.mark.filterwarnings("default")  # torch and its company warn about themselves
def test_an_index_of_another_model_is_asked_with_that_model(
    run: Run, home: Paths, model: Path, tmp_path: Path, weights: Path
) -> None:
    home.weights.parent.mkdir(parents=True)
    home.weights.symlink_to(weights)
    made = run("build", tmp_path / "facts.jsonl", "--embedder", model, "--relevance", 0.1)
    assert made["total"] == 3
    assert "joint answers of server and device (--together) are not possible" in made["stderr"]
    facts = run("info")
    assert facts["model"] == {"name": str(model), "query_prefix": "query: ", "passage_prefix": "passage: "}
    assert (facts["dimensions"], facts["relevance"]) == (384, 0.1)
    (tmp_path / "more.jsonl").write_text('{"text": "Lake Baikal is the deepest lake."}\n')
    assert run("add", tmp_path / "more.jsonl")["total"] == 4
    embedder = question_embedder(home)
    assert isinstance(embedder, SentenceEmbedder)
    assert embedder.fingerprint == facts["embedder"]
    corpus = build.corpus(home, Settings(), embedder.fingerprint)
    for question, said in (("Which lake is the deepest?", "Baikal"), ("Do jackdaws have partners?", "Jackdaws")):
        hits = corpus.search(embedder.embed([question])[0], 4)
        assert said in hits[0].text
    passage = SentenceEmbedder(str(model), {"query": "query: ", "passage": "passage: "}, "passage")
    vector = passage.embed([f"{hits[0].title}\n{hits[0].text}"])[0]
    assert float(vector @ embedder.embed([question])[0]) == pytest.approx(hits[0].similarity, abs=1e-3)


@pytest.mark.torch
@pytest.mark.timeout(900)  # two pools, whose processes each import torch
@pytest.mark.filterwarnings("default")
def test_several_processes_make_the_same_index_and_none_is_left_whatever_ends_it(
    model: Path, builder: Make, source: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("models.embedding_pool.BEGINS_AFTER", 0)
    monkeypatch.setattr("cloud_server.retrieval.builder._BATCH", 4)
    facts = source(facts=numbered(24))
    embedder = SentenceEmbedder(str(model), {"query": "", "passage": ""}, "passage", 2)
    question = embedder.embed(["subject7"])[0]
    builder(embedder).build([facts])
    alone = IndexCorpus(tmp_path / "index", embedder.fingerprint).search(question, 5)

    def pool() -> list[psutil.Process]:
        return [child for child in psutil.Process().children() if "spawn_main" in " ".join(child.cmdline())]

    def kills(so_far: Progress) -> None:
        progress.append(so_far.done)
        for child in pool():
            child.kill()

    def stops(_: Progress) -> None:
        raise KeyboardInterrupt

    several = builder(embedder)
    several.on_progress, progress = kills, list[int]()
    with pytest.raises(EngineError), in_processes(embedder):
        several.build([facts])
    assert progress == sorted(set(progress))
    assert IndexCorpus(tmp_path / "index", embedder.fingerprint).search(question, 5) == alone
    assert not pool()
    with pytest.raises(KeyboardInterrupt), in_processes(embedder):
        several.on_progress = lambda _: None
        report = several.build([facts])
        assert (report.total, report.kept > 0) == (24, True)
        assert pool()
        several.on_progress = stops
        several.build([source("more.jsonl", numbered(8, "further"))])
    assert not pool()
    again = IndexCorpus(tmp_path / "index", embedder.fingerprint).search(question, 5)
    assert [passage.text for passage in again] == [passage.text for passage in alone]
    for hit, same in zip(again, alone, strict=True):
        assert hit.similarity == pytest.approx(same.similarity, abs=1e-3)


@pytest.mark.torch
@pytest.mark.filterwarnings("default")
def test_vectors_of_a_named_model_are_imported(run: Run, home: Paths, model: Path, tmp_path: Path) -> None:
    passages = SentenceEmbedder(str(model), {"query": "", "passage": "doc: "}, "passage").embed(FACTS)
    np.save(tmp_path / "vectors.npy", passages)
    files = tmp_path / "vectors.npy", "--texts", tmp_path / "facts.jsonl", "--embedder", model
    made = run("import", *files, "--passage-prefix", "doc: ")
    assert (made["total"], made["template"]) == (3, "the text")
    assert made["cosine"] == pytest.approx(1, abs=1e-4)
    assert question_embedder(home).fingerprint == run("info")["embedder"]


@pytest.mark.torch
@pytest.mark.weights
@pytest.mark.filterwarnings("default")
def test_a_model_whose_files_changed_is_refused_with_a_sentence(
    run: Run, home: Paths, model: Path, tmp_path: Path, weights: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run("build", tmp_path / "facts.jsonl", "--embedder", model)
    (model / "vocab.txt").write_text((model / "vocab.txt").read_text() + "another\n")
    home.weights.parent.mkdir(parents=True, exist_ok=True)
    home.weights.symlink_to(weights)
    with caplog.at_level(logging.ERROR):
        embedder = question_embedder(home)
    assert isinstance(embedder, OnnxEmbedder)
    assert "questions get no passages" in caplog.text
    (finding,) = (finding for finding in doctor.examine(home) if finding.check == "index")
    assert finding.level == "fail"
    assert "have changed since the index was built" in finding.said
    with pytest.raises(UsageError, match="Restart the server"):
        build.corpus(home, Settings(), embedder.fingerprint).refresh()


def with_model(folder: Path, model: EmbedderSource | None, fingerprint: str = "another") -> IndexMetadata:
    """Create an index of three passages in `folder`, whose metadata names the given embedding model."""
    shutil.copytree(EARLIER, folder)
    version = Versions(folder).current()
    facts = structs.replace(read_facts(version), model=model, embedder=fingerprint, relevance=0.7)
    write_facts(version, facts)
    return facts


@pytest.mark.weights
def test_without_the_extra_the_server_serves_without_passages(
    home: Paths, weights: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    home.weights.parent.mkdir(parents=True)
    home.weights.symlink_to(weights)
    with_model(home.server_index, EmbedderSource("intfloat/e5-small-v2"))
    monkeypatch.setattr(sentence_embedder, "find_spec", lambda _: None)
    with caplog.at_level(logging.ERROR):
        embedder = question_embedder(home)
        corpus = build.corpus(home, Settings(), embedder.fingerprint)
        assert corpus.search(np.zeros(384, np.float32), 3) == []
    assert [type(embedder), len(corpus)] == [OnnxEmbedder, 0]
    said = [record.detail for record in caplog.records]  # type: ignore[attr-defined]
    assert "scripts/install server embedders" in said[0]
    assert "Restart the server" in said[1]


@pytest.mark.parametrize(
    ("fingerprint", "comparable"), [(OnnxEmbedder.fingerprint, True), ("e5-small-v2 0123456789abcdef", False)]
)
def test_status_says_what_another_embedder_costs(home: Paths, fingerprint: str, comparable: bool) -> None:
    facts = with_model(home.server_index, None, fingerprint)
    assert (incomparable(facts) == "") == comparable
    as_json = json.loads(CliRunner().invoke(status.command, ["--json"]).stdout)
    assert (as_json["embedder"], as_json["joint_answers"]) == (fingerprint, comparable)
    shown = CliRunner().invoke(status.command, []).stdout
    assert ("joint answers of server and device (--together) are not possible" in shown) != comparable


def test_status_says_nothing_of_an_index_that_is_not_there(home: Paths) -> None:
    as_json = json.loads(CliRunner().invoke(status.command, ["--json"]).stdout)
    assert (as_json["embedder"], as_json["joint_answers"]) == (None, True)
