"""The stored metadata of an index: files written before a field was added can still be read, written and extended."""

import shutil
from pathlib import Path

import pytest
from msgspec import json, structs

from cloud_server.retrieval.search import IndexCorpus
from cloud_server.retrieval.shards import Shard, ShardLayout
from cloud_server.retrieval.sources import Position, SourceFile
from cloud_server.retrieval.versions import EmbedderSource, Versions, read_facts, write_facts
from models.fake import FakeEmbedder
from tests.cloud_server.retrieval.conftest import Make, Write

EARLIER = Path(__file__).parent / "index_without_model"
"""The folder of an index of three passages, as an earlier revision wrote it, before the embedder could be chosen."""


def test_facts_without_a_model_are_read_and_written_as_they_were(tmp_path: Path) -> None:
    version = Versions(EARLIER).current()
    facts = read_facts(version)
    assert (facts.model, facts.relevance, facts.passages) == (None, None, 3)
    write_facts(tmp_path, facts)
    assert (tmp_path / "index.json").read_bytes() == (version / "index.json").read_bytes()


def test_shards_that_were_finished_before_are_taken_for_what_they_are() -> None:
    """The JSON of a plan and of a shard is the same as in earlier revisions, so that an interrupted build is
    continued.
    """
    file = SourceFile("/a", "a", 1, 2)
    plan = (
        b'{"embedder":"fake","dimensions":2,"words":100,"sources":[{"path":"/a","name":"a","size":1,"modified_ns":2}],'
        b'"base":null}'
    )
    assert json.encode(ShardLayout("fake", 2, 100, (file,), None)) == plan
    shard = b'{"passages":1,"after":{"file":0,"offset":0,"line":0},"skipped":[]}'
    assert json.encode(Shard(1, Position(), ())) == shard
    assert json.decode(plan, type=ShardLayout).imported == ""


def test_a_model_and_a_relevance_are_kept(tmp_path: Path) -> None:
    facts = read_facts(Versions(EARLIER).current())
    model = EmbedderSource("intfloat/e5-small-v2", "query: ", "passage: ")
    write_facts(tmp_path, structs.replace(facts, model=model, relevance=0.8))
    assert (read_facts(tmp_path).model, read_facts(tmp_path).relevance) == (model, 0.8)


@pytest.mark.faiss
def test_an_index_made_before_is_searched_and_added_to(builder: Make, source: Write, tmp_path: Path) -> None:
    pytest.importorskip("faiss", reason="needs the server extra")
    shutil.copytree(EARLIER, tmp_path / "index")
    corpus = IndexCorpus(tmp_path / "index", "fake")
    question = FakeEmbedder().embed(["Rivers\nThe Danube flows through ten countries"])[0]
    assert corpus.search(question, 1)[0].title == "Rivers"
    made = builder()
    report = made.add([source("more.jsonl", [("Lakes", "Lake Baikal is the deepest lake of all.")])])
    assert (report.passages, report.total) == (1, 4)
    assert corpus.search(question, 1)[0].title == "Rivers"
    assert made.index.held().facts.model is None
