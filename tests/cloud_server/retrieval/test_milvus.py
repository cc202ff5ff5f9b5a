"""The corpus in Milvus, tested with milvus-lite: built by the same builder as files, with the same search results and
clear errors.
"""
# ruff: noqa: E402  (without the extra, what follows cannot be imported)

import itertools
import json
import logging
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

import pytest
from click.testing import CliRunner

pytest.importorskip("milvus_lite", reason="needs the milvus extra")
pytestmark = pytest.mark.milvus

from milvus_lite.server_manager import server_manager_instance
from pymilvus import MilvusClient, MilvusException

from cloud_server import build
from cloud_server.cli import doctor, index
from cloud_server.retrieval.builder import Builder
from cloud_server.retrieval.corpus import Corpus, Vector
from cloud_server.retrieval.imports.importer import Importer
from cloud_server.scale import milvus, milvus_index
from cloud_server.scale.milvus import Milvus, MilvusCorpus
from cloud_server.scale.milvus_index import MilvusIndex
from cloud_server.settings import Retrieval, Settings
from models.fake import FakeEmbedder
from shared.errors import NothingFound, StoreCorrupt, StoreError, UsageError
from shared.protocol.messages import PublicPassage
from storage.paths import Paths
from tests.cloud_server.retrieval.conftest import FACTS, Write, numbered
from tests.cloud_server.retrieval.imports.conftest import made_of
from tests.faults import until

Fill = Callable[..., Builder[MilvusIndex]]


@pytest.fixture
def uri(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The path of a milvus-lite database; the tests check for a new version of the index without a delay."""
    monkeypatch.setattr(milvus, "_LOOK_S", 0.0)
    yield str(tmp_path / "public.db")
    server_manager_instance.release_all()


@pytest.fixture
def fill(uri: str, tmp_path: Path) -> Fill:
    def make(embedder: FakeEmbedder | None = None, at: str = uri) -> Builder[MilvusIndex]:
        return Builder(MilvusIndex(Milvus(at, ""), tmp_path / "room"), embedder or FakeEmbedder(), shard_passages=4)

    return make


def corpus_of(uri: str) -> MilvusCorpus:
    return MilvusCorpus(Milvus(uri, ""), FakeEmbedder.fingerprint)


def vector(text: str) -> Vector:
    embedded: Vector = FakeEmbedder().embed([text])[0]
    return embedded


def contents(made: Builder[MilvusIndex], uri: str) -> list[tuple[str, str, str]]:
    """Return all passages in order, after checking that Milvus holds no further row, nor a collection of an older
    version.
    """
    held = made.index.held()
    first, corpus, client = held.facts.series << 32, corpus_of(uri), MilvusClient(uri)
    collection = held.name.partition("@")[0]
    assert sorted(client.list_collections()) == [milvus.HEADS, collection]
    rows: Any = client.query(collection, filter="id >= 0", output_fields=["count(*)"])
    assert rows[0]["count(*)"] == len(corpus) == held.facts.passages
    passages = corpus.passages([first + number for number in range(len(corpus))])
    for passage in passages:
        hits = corpus.search(vector(f"{passage.title}\n{passage.text}"), 8)
        assert passage.id in {near.id for near in hits if near.similarity > 0.99999}
    return [(passage.title, passage.path, passage.text) for passage in passages]


def test_the_nearest_come_first_with_their_cosines(fill: Fill, uri: str, source: Write) -> None:
    report = fill().build([source()])
    assert (report.passages, report.total, report.files) == (3, 3, 1)
    corpus: Corpus = corpus_of(uri)
    question = vector("Which mountain of Africa is the second highest?")
    hits = corpus.search(question, 3)
    assert hits[0].title == "Mountains"
    assert [passage.similarity for passage in hits] == sorted((passage.similarity for passage in hits), reverse=True)
    for passage in hits:
        cosine = float(vector(f"{passage.title}\n{passage.text}") @ question)
        assert passage.similarity == pytest.approx(cosine, abs=1e-5)
        assert passage.score == pytest.approx(max(cosine, 0), abs=1e-5)
    assert corpus.passages([hits[2].id, -1, hits[0].id, 2**53 - 1]) == [
        PublicPassage(passage.id, passage.title, passage.path, passage.text, 1.0, 1.0) for passage in (hits[2], hits[0])
    ]
    assert len(corpus) == 3
    assert corpus.search(question, 0) == corpus.passages([]) == []


def test_an_early_search_gives_what_a_search_gives(fill: Fill, uri: str, source: Write) -> None:
    fill().build([source()])
    corpus: Corpus = corpus_of(uri)
    written = vector("The second highest mountain of Africa is Mount Kenya.")
    ticket = corpus.look_ahead(vector("Danube"), "hyde")
    ticket.refine(written)
    assert ticket.provisional(2) == ticket.search(written, 2) == corpus.search(written, 2)
    ticket.close()
    assert ticket.provisional(2) == []


def test_without_an_index_it_is_empty_until_there_is_one(fill: Fill, uri: str, source: Write) -> None:
    corpus = corpus_of(uri)
    with pytest.raises(NothingFound, match="index build"):
        corpus.refresh()
    assert len(corpus) == 0
    assert corpus.search(vector("Danube"), 3) == corpus.passages([0]) == []
    fill().build([source()])
    assert corpus.search(vector("Danube"), 1)[0].title == "Rivers"


def test_the_next_question_is_asked_of_the_new_collection_and_old_ids_are_nobodys(
    fill: Fill, uri: str, source: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, corpus = fill(), corpus_of(uri)
    made.build([source()])
    old = corpus.search(vector("Danube"), 1)[0]
    monkeypatch.setattr(milvus, "_LOOK_S", 1e6)  # not looked at again, but where the collection is gone
    made.build([source(facts=numbered(8))])
    assert corpus.search(vector("subject5"), 1)[0].title == "Title 5"
    assert len(corpus) == 8
    assert corpus.passages([old.id]) == []
    assert contents(made, uri) == [
        (passage, f"facts.jsonl#{row}", text) for row, (passage, text) in enumerate(numbered(8))
    ]


def test_what_is_added_keeps_the_ids_and_is_not_added_twice(fill: Fill, uri: str, source: Write) -> None:
    made, corpus = fill(), corpus_of(uri)
    first, second = source("a.jsonl", numbered(5, "old")), source("b.jsonl", numbered(5, "new"))
    made.build([first])
    old = corpus.search(vector("Title 3\nAll about old3 and nothing else."), 1)[0]
    report = made.add([first, second])
    assert (report.passages, report.total, report.files, report.unchanged) == (5, 10, 1, 1)
    assert corpus.passages([old.id])[0].text == old.text
    assert [text for _, _, text in contents(made, uri)] == [text for _, text in numbered(5, "old") + numbered(5, "new")]
    assert made.add([second]).unchanged == 1
    other = FakeEmbedder()
    other.fingerprint = "another"
    with pytest.raises(UsageError, match="Build it again"):
        fill(other).add([source("c.jsonl")])


def test_vectors_made_elsewhere_are_imported(fill: Fill, uri: str, tmp_path: Path) -> None:
    made = made_of(tmp_path, 30)
    report = Importer(fill(), rows=8).run(made.npy(), made.lines(), {})
    assert (report.total, report.cosine, report.template) == (30, 1.0, "the text")
    hits = corpus_of(uri).search(made.vectors[17], 3)
    assert (hits[0].text, hits[0].path) == (made.texts[17], "texts.jsonl#d17")


class Killed(BaseException):
    """Stands for the kill of the process at that point."""


def dies_at(monkeypatch: pytest.MonkeyPatch, step: int) -> Callable[[], int]:
    """Simulate a kill of the process before the call number `step` that changes the database."""
    done = 0

    def dying(call: Callable[..., Any]) -> Callable[..., Any]:
        def change(*arguments: Any, **named: Any) -> Any:
            nonlocal done
            done += 1
            if done == step:
                raise Killed
            return call(*arguments, **named)

        return change

    for name in ("create_collection", "upsert", "delete", "drop_collection"):
        monkeypatch.setattr(MilvusClient, name, dying(getattr(MilvusClient, name)))
    return lambda: done


def test_killed_at_any_step_building_and_adding_end_with_everything_once(
    fill: Fill, uri: str, source: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    after = numbered(6, "after")
    more, others = numbered(5, "more"), numbered(2, "others")
    step = 0
    while True:
        step += 1
        made = fill()
        sources = source(f"b{step % 2}.jsonl", after)
        with monkeypatch.context() as patched:
            reached = dies_at(patched, step)
            try:
                made.build([sources])
                made.add([source("c.jsonl", more)])
            except Killed:
                with suppress(NothingFound):  # the first of all
                    made.index.held()  # whichever it is, it is whole
            else:
                assert reached() < step
                break
        made.build([sources])
        made.add([source("d.jsonl", others)])  # not what a killed run was adding
        assert [text for _, _, text in contents(made, uri)] == [text for _, text in after + others]
    assert step > 12


def test_facts_of_any_length_are_kept(fill: Fill, uri: str, source: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(milvus_index, "_PIECE", 40)
    made = fill()
    made.build([source("ä.jsonl")])
    made.add([source(f"ä{number}.jsonl") for number in range(4)])
    assert [Path(passage.path).name for passage in made.index.held().facts.sources] == [
        "ä.jsonl",
        *(f"ä{number}.jsonl" for number in range(4)),
    ]
    client = MilvusClient(uri)
    client.upsert(milvus.HEADS, [{"id": 0, "vector": [1.0, 0.0], "text": "{"}])
    with pytest.raises(StoreCorrupt, match="Build the index again"):
        made.index.held()


def test_a_switch_between_the_head_and_its_facts_is_followed(
    fill: Fill, uri: str, source: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, database = fill(), Milvus(uri, "")
    made.build([source()])
    read = database.head
    stale = [read()]
    made.build([source(facts=numbered(8))])
    monkeypatch.setattr(database, "head", lambda: stale.pop() if stale else read())
    assert database.held().facts.passages == 8
    heads = itertools.count()
    monkeypatch.setattr(database, "head", lambda: milvus.Head("any", 10**15 + next(heads), 1))
    with pytest.raises(StoreError, match="replaced too often"):
        database.held()


def test_an_index_of_another_embedder_is_refused(
    fill: Fill, uri: str, source: Write, caplog: pytest.LogCaptureFixture
) -> None:
    other = FakeEmbedder()
    other.fingerprint = "another"
    fill(other).build([source()])
    with pytest.raises(UsageError, match="made with the embedder another"):
        corpus_of(uri).refresh()
    with caplog.at_level(logging.ERROR):
        corpus = corpus_of(uri)
        assert corpus.search(vector("Danube"), 1) == corpus.search(vector("Danube"), 1) == []
    assert "made with the embedder another" in caplog.records[0].__dict__["detail"]
    assert len(caplog.records) == 1


def _threads(process: int) -> list[Path]:
    """Return the kernel's state file of each thread of a process: a stop signal reaches the threads one after the
    other.
    """
    return list(Path(f"/proc/{process}/task").glob("*/stat"))


def test_a_milvus_that_is_silent_or_gone_is_said_to_be_so(
    source: Write, tmp_path: Path, fill: Fill, monkeypatch: pytest.MonkeyPatch, uri: str
) -> None:
    """Milvus runs in a process of its own, which is first stopped, then killed; the errors say that it does
    not answer.
    """
    with socket.create_server(("127.0.0.1", 0)) as passage:
        port = passage.getsockname()[1]
    program = "import sys; from milvus_lite.cmdline import main; sys.argv[0] = 'milvus-lite'; main()"
    with subprocess.Popen(
        [sys.executable, "-c", program, "server", "--data-dir", str(tmp_path / "apart.db"), "--port", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            at = f"http://127.0.0.1:{port}"
            corpus = corpus_of(at)
            deadline = time.monotonic() + 30
            while True:
                try:
                    fill(at=at).build([source()])
                    break
                except StoreError:
                    assert time.monotonic() < deadline
                    time.sleep(0.1)
            assert corpus.search(vector("Danube"), 1)[0].title == "Rivers"
            monkeypatch.setattr(milvus, "WAIT_S", 0.3)
            process.send_signal(signal.SIGSTOP)
            until(lambda: {thread.read_text().rpartition(") ")[2][0] for thread in _threads(process.pid)} == {"T"})
            with monkeypatch.context() as patched, pytest.raises(StoreError, match="Deadline Exceeded"):
                patched.setattr(milvus, "_LOOK_S", 1e6)
                corpus.search(vector("Danube"), 1)
        finally:
            process.kill()
    with pytest.raises(StoreError, match="Check that Milvus runs"):
        corpus.search(vector("Danube"), 1)
    assert len(corpus) == 0


def test_questions_do_not_each_wait_for_a_milvus_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def head(database: Milvus) -> NoReturn:
        asked.append(database.uri)
        raise StoreError("It does not answer.")

    monkeypatch.setattr(Milvus, "head", head)
    monkeypatch.setattr(milvus, "_LOOK_S", 1e6)
    corpus = corpus_of("http://127.0.0.1:1")
    for _ in range(3):
        with pytest.raises(StoreError, match="does not answer"):
            corpus.search(vector("Danube"), 1)
    assert len(corpus) == 0
    assert len(asked) == 1
    monkeypatch.setattr(milvus, "_LOOK_S", 0.0)
    with pytest.raises(StoreError):
        corpus.search(vector("Danube"), 1)
    assert len(asked) == 2


def test_a_file_that_another_process_has_open_is_said_to_be_so(uri: str, fill: Fill, source: Write) -> None:
    fill().build([source()])
    program = (
        "import sys; from cloud_server.scale.milvus import Milvus; from shared.errors import StoreError\n"
        "try: Milvus(sys.argv[1], '').head()\n"
        "except StoreError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program, uri], capture_output=True, text=True, check=True)
    assert "only one process may have it open" in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("http://anna:secret@127.0.0.1:19530", "holds a password"),
        ("http://milvus.example:19530", "unencrypted"),
        ("http://[::1", "is not an address"),
    ],
)
@pytest.mark.parametrize("token", ["secret", ""])
def test_neither_a_token_nor_a_question_is_shown_or_sent_openly(wrong: str, said: str, token: str) -> None:
    with pytest.raises(UsageError, match=said) as refused:
        Milvus(wrong, token)
    assert "secret" not in str(refused.value)


def test_the_token_is_given_to_the_client_and_shown_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[str] = []

    def refused(uri: str, token: str, timeout: float) -> MilvusClient:
        given.append(token)
        raise MilvusException(65535, "auth check failure")

    monkeypatch.setattr(milvus, "MilvusClient", refused)
    monkeypatch.setenv("MILVUS_TOKEN", "anna:secret")
    settings = Settings(retrieval=Retrieval(milvus="https://milvus.example:19530"))
    with pytest.raises(StoreError, match="auth check failure") as output:
        build.index(Paths.locate({"JACKDAW_HOME": str(tmp_path)}), settings, 1).held()
    assert given == ["anna:secret"]
    assert "secret" not in str(output.value)


def test_the_commands_fill_it_and_tell_about_it(
    uri: str, source: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JACKDAW_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("JACKDAW_SERVER_RETRIEVAL_MILVUS", uri)
    monkeypatch.setattr(index, "_embedder", lambda *_: FakeEmbedder())

    def report(*arguments: object) -> Any:
        result = CliRunner().invoke(index.command, [*map(str, arguments), "--json"])
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    assert report("build", source("a.jsonl"))["total"] == 3
    assert report("add", source("b.jsonl", numbered(2)))["total"] == 5
    facts = report("info")
    assert (facts["milvus"], facts["passages"], facts["embedder"]) == (uri, 5, "fake")
    assert [Path(passage["path"]).name for passage in facts["sources"]] == ["a.jsonl", "b.jsonl"]
    hits = {
        passage.check: passage for passage in doctor.examine(Paths.locate({"JACKDAW_HOME": str(tmp_path / "home")}))
    }
    assert (hits["index"].level, hits["index"].said) == ("ok", "5 passages")
    corpus = build.corpus(
        Paths.locate({"JACKDAW_HOME": str(tmp_path)}), Settings(retrieval=Retrieval(milvus=uri)), "fake"
    )
    assert corpus.search(vector(FACTS[0][1]), 1)[0].title == "Rivers"
