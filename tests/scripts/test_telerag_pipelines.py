"""The benchmark of the index: the recorded rounds of pipelines, with a scripted engine and a small index."""

import asyncio
import json
from argparse import Namespace

import numpy as np
import pytest

from cloud_server.engine.batch import Batch
from cloud_server.engine.prefix_cache import PrefixCache
from cloud_server.pipelines.answering import Answering
from cloud_server.pipelines.catalog import PIPELINES, PLAIN
from cloud_server.pipelines.measuring import Retrieval, Workbench
from cloud_server.pipelines.recall import KnownQuestion
from cloud_server.retrieval.builder import Builder
from cloud_server.retrieval.folder import FolderIndex
from cloud_server.retrieval.versions import Versions
from models.fake import FakeEmbedder
from scripts.benchmarks import telerag
from scripts.benchmarks.telerag_data import Round
from scripts.benchmarks.telerag_pipelines import (
    PAPER_S,
    PASSAGES,
    Run,
    Runs,
    Watched,
    chosen,
    kept,
    overlaps,
    recalls,
    run_all,
)
from scripts.places import CannotRun
from shared.prompt import CHATML
from shared.protocol.messages import Pipeline, PublicPassage
from storage.ivf_files import Numbers, Vectors
from tests.companion import FACTS
from tests.scripted import Scripted

pytest.importorskip("faiss", reason="needs the server extra")
pytestmark = pytest.mark.faiss

KENYA = "Which mountain of Africa is the second highest?"
BIRDS = "Jackdaws pair for life and share food."
TEXT = f"{BIRDS} They are birds."
LISTED = "Do Jackdaws pair for life?\nWhich mountain of Africa?"


def vector(*texts: str) -> Vectors:
    embedded: Vectors = FakeEmbedder().embed(texts)
    return embedded


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """The runs of all pipelines, as published, on one question."""
    home = tmp_path_factory.mktemp("index")
    source = home / "facts.jsonl"
    source.write_text("".join(json.dumps({"title": title, "text": text}) + "\n" for title, text in FACTS))
    Builder(FolderIndex(Versions(home / "index"), 1, 0, "f16"), FakeEmbedder()).build([source])
    corpus = Watched(home / "index", FakeEmbedder.fingerprint)
    engine = Scripted(
        {
            "Write a short passage": TEXT,
            "Split the question": LISTED,
            "Write one short question": KENYA,
            "need facts": "Yes.",
            "support this": "No.",
            "Do the earlier answers": "Yes.",
            KENYA: BIRDS,
        }
    )
    answering = Answering(engine, CHATML, FakeEmbedder(), corpus, 0.3, anchored=False)
    workbench = Workbench(answering, Batch(engine, PrefixCache(1 << 20)))
    return asyncio.run(run_all(workbench, corpus, [KnownQuestion(KENYA, frozenset({"1"}))]))


def rounds(runs: Runs, pipeline: Pipeline) -> list[Round]:
    [run] = runs[pipeline]
    return list(run.rounds)


def test_a_round_is_what_was_looked_up_and_where_it_was_read_ahead(runs: Runs) -> None:
    assert set(runs) == set(PIPELINES)
    [only] = rounds(runs, "plain")
    assert (only.near, only.half) == (None, None)
    assert np.array_equal(only.queries, vector(KENYA))
    [only] = rounds(runs, "hyde")
    assert only.near is not None
    assert only.half is not None
    assert np.array_equal(only.near, vector(KENYA)[0])
    assert np.array_equal(only.half, vector(TEXT[:32])[0])
    assert np.array_equal(only.queries, vector(TEXT))
    assert runs["hyde"][0].retrieval.tokens == len(TEXT)


def test_queries_that_are_looked_up_together_are_one_round(runs: Runs) -> None:
    [only] = rounds(runs, "subquestion")
    assert np.allclose(only.queries, vector(*LISTED.splitlines()), atol=1e-6)


def test_later_rounds_are_read_ahead_near_the_query_before(runs: Runs) -> None:
    first, second, third = rounds(runs, "iter_retgen")
    assert first.near is None
    assert np.array_equal(second.near, first.queries[0])  # type: ignore[arg-type]  # not None
    assert np.array_equal(third.near, second.queries[0])  # type: ignore[arg-type]  # not None
    [iterated] = rounds(runs, "iterative")
    assert np.array_equal(iterated.queries, vector(KENYA))


def test_rounds_in_which_nothing_written_was_looked_up_are_left_out(runs: Runs) -> None:
    own = kept(runs)
    assert set(own) == set(PIPELINES) - {PLAIN}
    assert own["iterative"] == []  # the model wrote the question itself
    assert [len(each) for each in own["iter_retgen"]] == [3]
    assert len(rounds(runs, "self_rag")) == 2  # nothing was supported, so that the question was looked up again
    [[judged]] = own["self_rag"]
    assert np.array_equal(judged.near, judged.queries[0])  # type: ignore[arg-type]  # not None
    question, other = np.eye(2, dtype=np.float32)
    asked, written = Round(None, None, question[None]), Round(question, None, other[None])
    declined = Round(question, None, question[None])
    assert chosen("flare", [asked, written], question) == [asked, written]
    assert chosen("hyde", [declined], question) == chosen("hyde", [asked], question) == []
    assert chosen("iterative", [written, asked], question) == [written]


class Probing:
    """A fake index, in which all vectors need the same clusters."""

    def probe(self, _vector: Vectors, nprobe: int) -> Numbers:
        return np.arange(nprobe)


def test_overlaps_are_of_written_queries(runs: Runs) -> None:
    figures = overlaps(Probing(), runs, 2)  # type: ignore[arg-type]  # what it uses
    assert set(figures) == {"hyde", "subquestion", "iter_retgen"}  # FLARE was sure of its text
    assert figures["subquestion"] == {"1": 1.0, "2": 1.0, "4": 1.0, "queries": 2, "repeated": 0.0, "paper": 0.632}
    assert figures["iter_retgen"]["repeated"] == 0.5  # the second draft is the first


def run_of(*numbers: int) -> Run:
    passages = tuple(PublicPassage(number, "", f"source#{number}", "", 1.0, 1.0) for number in numbers)
    return Run(Retrieval(passages, 8), ())


def test_recall_in_the_best_passage_and_in_the_best_three() -> None:
    questions = [KnownQuestion("", frozenset({str(number)})) for number in range(4)]
    made: Runs = {
        "plain": [run_of(number) for number in range(4)],
        "hyde": [run_of(9, number, 8) for number in range(4)],
    }
    figures = recalls(questions, made)
    assert figures["plain"] == {
        "tokens": 8.0,
        "r1": 1.0,
        "r1_low": 0.0,
        "r1_high": 0.0,
        "r3": 1.0,
        "r3_low": 0.0,
        "r3_high": 0.0,
    }
    assert (figures["hyde"]["r1"], figures["hyde"]["r1_high"], figures["hyde"][f"r{PASSAGES}"]) == (0.0, -1.0, 1.0)


def test_the_paper_s_pace_is_of_all_pipelines_that_write() -> None:
    assert set(PAPER_S) == set(PIPELINES) - {PLAIN}
    assert PAPER_S["hyde"] == pytest.approx(0.176, abs=1e-3)
    assert PAPER_S["self_rag"] == pytest.approx(0.059, abs=1e-3)


def test_pipelines_need_data() -> None:
    with pytest.raises(CannotRun, match="need --data"):
        telerag.run(Namespace(only="pipelines", data=None, quick=True))
    with pytest.raises(CannotRun, match="no part pipeline"):
        telerag.run(Namespace(only="pipeline", data=None, quick=True))
