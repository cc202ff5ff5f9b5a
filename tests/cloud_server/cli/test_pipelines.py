"""`jackdaw-server pipelines`: its options and output, and what its measurements depend on."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from cloud_server import build
from cloud_server.cli import pipelines
from cloud_server.engine.batch import Batch
from cloud_server.engine.prefix_cache import PrefixCache
from cloud_server.pipelines.answering import Answering
from cloud_server.pipelines.catalog import PIPELINES
from cloud_server.pipelines.measurements import MeasurementFile
from cloud_server.retrieval.builder import Builder
from cloud_server.settings import Settings
from models.fake import FakeEmbedder
from shared.errors import NothingFound, UsageError
from shared.prompt import CHATML
from storage.paths import Paths
from tests.scripted import Scripted

pytest.importorskip("faiss", reason="needs the server extra")
pytestmark = pytest.mark.faiss

ROOT = Path(__file__).parents[3]
COUNT = 30


def fake_parts(paths: Paths, settings: Settings, seconds: float = 0.0) -> tuple[Answering, Batch]:
    """Build the parts of a server whose model invents a helpful passage for half of the questions (HyDE).

    A search for the invented passage returns the right passage; a search for the question itself does not.
    """
    replies = {f"Who lives in house {number}x?": f"Person{number} lives there." for number in range(0, COUNT, 2)}
    engine = Scripted({**replies, "Question": ""}, seconds=seconds)
    measured = MeasurementFile(paths.server_pipelines)
    corpus = build.corpus(paths, settings, FakeEmbedder.fingerprint)
    answering = Answering(engine, CHATML, FakeEmbedder(), corpus, 0.0, False, measured.preferred)
    return answering, Batch(engine, PrefixCache(1 << 20))


def make_home(home: Path) -> Path:
    """An index of persons and houses, and a file of questions about them."""
    source, questions = home / "persons.jsonl", home / "questions.jsonl"
    lines = [{"id": f"p{number}", "title": "House", "text": f"Person{number} lives there."} for number in range(COUNT)]
    source.write_text("".join(json.dumps(line) + "\n" for line in lines))
    asked = [{"question": f"Who lives in house {number}x?", "ids": [f"p{number}"]} for number in range(COUNT)]
    questions.write_text("".join(json.dumps(line) + "\n" for line in asked))
    index = build.index(Paths.locate({"JACKDAW_HOME": str(home)}), Settings(), 1)
    Builder(index, FakeEmbedder(), lambda _: None, lambda _: None).build([source])
    return questions


@pytest.fixture
def questions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("JACKDAW_HOME", str(tmp_path))
    monkeypatch.setattr(pipelines, "ensure", lambda *_: None)
    monkeypatch.setattr(build, "parts", fake_parts)
    return make_home(tmp_path)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(pipelines.command, [str(argument) for argument in arguments])


def report(*arguments: object) -> Any:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_what_finds_more_than_plain_is_turned_on_for_that_model(questions: Path, tmp_path: Path) -> None:
    result = run("measure", questions)
    assert result.exit_code == 0, result.output
    assert f"Running the pipelines: 1 of {COUNT * len(PIPELINES)}" in result.stderr
    assert f"smollm2-135m, as published: {COUNT} questions, 1 passage each, " in result.stdout
    assert "the default" in result.stdout
    assert run("list").stdout.splitlines()[1:] == result.stdout.splitlines()[1:]  # the first one tells its age
    [measured] = report("list")["measurements"]
    by_name = {measured["pipeline"]: measured for measured in measured["pipelines"]}
    assert list(by_name) == list(PIPELINES)
    assert (measured["questions"], measured["passages"], measured["preferred"]) == (COUNT, 1, "hyde")
    assert by_name["plain"]["tokens"] == 0
    assert by_name["hyde"]["recall"] >= 0.5 > by_name["plain"]["recall"]
    assert {name: by_name[name]["enabled"] for name in ("plain", "hyde", "self_rag")} == {
        "plain": False,
        "hyde": True,
        "self_rag": False,  # it looks up the question as it is
    }
    paths = Paths.locate({"JACKDAW_HOME": str(tmp_path)})
    assert fake_parts(paths, Settings())[0].preferred() == "hyde"


def test_a_measurement_is_told_as_json(questions: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipelines, "LEAST_QUESTIONS", 1)
    questions.write_text('{"question": "Who lives in house 0x?", "answer": "Person0"}\n')
    measured = report("measure", questions, "--passages", 2)
    assert (measured["questions"], measured["passages"]) == (1, 2)
    assert report("list")["measurements"] == [measured]


def test_where_nothing_was_measured_the_next_step_is_named(questions: Path) -> None:
    assert "jackdaw-server pipelines measure QUESTIONS" in run().stdout
    assert report("list")["measurements"] == []


def test_few_questions_turn_nothing_on(questions: Path, tmp_path: Path) -> None:
    questions.write_text('{"question": "A?", "answer": "x"}\n' * 29)
    failed = run("measure", questions).exception
    assert isinstance(failed, UsageError)
    assert "29 questions; a measurement needs 30" in str(failed)
    assert report("list")["measurements"] == []


def test_without_an_index_the_command_that_makes_it_is_named(
    questions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JACKDAW_HOME", str(tmp_path / "other"))
    failed = run("measure", questions).exception
    assert isinstance(failed, NothingFound)
    assert "index build" in str(failed)


INTERRUPTED = """
import sys
from functools import partial
from pathlib import Path
from cloud_server import build
from cloud_server.cli import main, pipelines
from tests.cloud_server.cli.test_pipelines import fake_parts
build.parts = partial(fake_parts, seconds=0.05)
pipelines.ensure = lambda *_: None
main()
"""


def test_ctrl_c_ends_it_with_nothing_changed(questions: Path, tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, "pipelines", "measure", str(questions)],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr
        assert "Running the pipelines" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        assert process.wait(20) == 130
        assert time.monotonic() - began < 10
        assert process.stderr.read().strip() == "Stopped."
    assert not Paths.locate({"JACKDAW_HOME": str(tmp_path)}).server_pipelines.exists()
