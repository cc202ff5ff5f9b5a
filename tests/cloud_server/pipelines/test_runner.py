"""The pipeline runner with the fake engine and a real index: prefetched clusters are released, and its limits hold."""

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from cloud_server.engine.batch import Batch
from cloud_server.engine.prefix_cache import PrefixCache
from cloud_server.pipelines.answering import Answering
from cloud_server.pipelines.catalog import PIPELINES
from cloud_server.pipelines.measuring import Retrieval, Workbench
from cloud_server.pipelines.steps import MOST_ROUNDS, MOST_WRITES, Inquiry, LookUp, Steps, Write
from cloud_server.retrieval.builder import Builder
from cloud_server.retrieval.corpus import Ticket, Vector
from cloud_server.retrieval.folder import FolderIndex
from cloud_server.retrieval.search import IndexCorpus
from cloud_server.retrieval.versions import Versions
from models.engine import Engine, Logits
from models.fake import FakeEmbedder
from shared.prompt import CHATML, Prompt, Segment
from shared.protocol import messages as m
from tests.companion import FACTS
from tests.scripted import Scripted

pytest.importorskip("faiss", reason="needs the server extra")
pytestmark = pytest.mark.faiss

KENYA = "Which mountain of Africa is the second highest?"
BIRDS = "Jackdaws pair for life and share food."


class WatchedTicket:
    """Wraps a look-ahead (`Ticket`), and logs the calls that it gets."""

    def __init__(self, ticket: Ticket, log: list[str]) -> None:
        self._ticket, self._log = ticket, log
        log.append("begin")

    def starts(self) -> None:
        self._log.append("starts")
        self._ticket.starts()

    def refine(self, vector: Vector) -> None:
        self._log.append("refine")
        self._ticket.refine(vector)

    def provisional(self, most: int) -> list[m.PublicPassage]:
        return self._ticket.provisional(most)

    def search(self, vector: Vector, most: int) -> list[m.PublicPassage]:
        self._log.append("search")
        return self._ticket.search(vector, most)

    def close(self) -> None:
        self._log.append("close")
        self._ticket.close()


class WatchedCorpus(IndexCorpus):
    """Wraps a corpus, and logs its searches and the calls to its look-aheads."""

    log: list[str]
    searches = 0

    def search_many(self, vectors: Sequence[Vector], most: int) -> list[list[m.PublicPassage]]:
        self.searches += 1
        return super().search_many(vectors, most)

    def look_ahead(self, vector: Vector, pipeline: str) -> WatchedTicket:  # type: ignore[override]
        return WatchedTicket(super().look_ahead(vector, pipeline), self.log)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("index")
    source = home / "facts.jsonl"
    source.write_text("".join(json.dumps({"title": title, "text": text}) + "\n" for title, text in FACTS))
    index = FolderIndex(Versions(home / "index"), 1, 0, "f16")
    Builder(index, FakeEmbedder(), lambda _: None, lambda _: None).build([source])
    return home / "index"


@pytest.fixture
def corpus(folder: Path) -> Iterator[WatchedCorpus]:
    opened = WatchedCorpus(folder, FakeEmbedder.fingerprint)
    opened.log = []
    yield opened
    opened.refresh()
    assert opened.log.count("begin") == opened.log.count("close")


def retrieved(engine: Engine, corpus: IndexCorpus, pipeline: m.Pipeline, most: int = 1) -> Retrieval:
    async def main() -> Retrieval:
        answering = Answering(engine, CHATML, FakeEmbedder(), corpus, 0.3)
        async with Workbench(answering, Batch(engine, PrefixCache(1 << 20))) as workbench:
            return await workbench.retrieve(pipeline, KENYA, most)

    return asyncio.run(main())


def titles(retrieval: Retrieval) -> list[str]:
    return [passage.title for passage in retrieval.passages]


def test_what_a_pipeline_will_look_up_is_read_ahead_from_the_question_to_the_search(corpus: WatchedCorpus) -> None:
    retrieval = retrieved(Scripted({"Write a short passage": f"{BIRDS} They are birds."}), corpus, "hyde")
    assert titles(retrieval) == ["Birds"]
    assert retrieval.tokens == len(f"{BIRDS} They are birds.")
    assert corpus.log == ["begin", "starts", "refine", "search", "close"]


def test_several_queries_share_a_look_ahead(corpus: WatchedCorpus) -> None:
    listed = "Which mountain of Africa?\nDo Jackdaws pair for life?"
    assert titles(retrieved(Scripted({"Split the question": listed}), corpus, "subquestion", 2)) == [
        "Mountains",
        "Birds",
    ]
    assert (corpus.log.count("begin"), corpus.log.count("search")) == (1, 1)


def test_each_round_is_read_ahead_for(corpus: WatchedCorpus) -> None:
    retrieved(Scripted({KENYA: BIRDS}), corpus, "iter_retgen")
    assert corpus.log.count("begin") == 2
    assert corpus.log.count("search") == 2


def test_self_rag_reads_ahead_near_the_question_while_the_model_judges(corpus: WatchedCorpus) -> None:
    judged = Scripted({"need facts": "Yes, it does.", "support this": "Yes."})
    assert titles(retrieved(judged, corpus, "self_rag")) == ["Mountains"]
    assert corpus.log == ["begin", "starts", "search", "close"]


def test_plain_reads_nothing_ahead(corpus: WatchedCorpus) -> None:
    assert titles(retrieved(Scripted({}), corpus, "plain")) == ["Mountains"]
    assert corpus.log == []


@pytest.mark.parametrize("pipeline", ["hyde", "subquestion", "iterative"])
def test_a_pipeline_of_which_nothing_came_ends_with_plain_s_passages(
    corpus: WatchedCorpus, pipeline: m.Pipeline
) -> None:
    retrieval = retrieved(Scripted({"Question": ""}), corpus, pipeline)
    assert (titles(retrieval), retrieval.tokens) == (["Mountains"], 0)


def endless_writing(_inquiry: Inquiry) -> Steps:
    while True:
        yield Write(Prompt((), (), (Segment("assistant\n"),)), 1)


def endless_looking(inquiry: Inquiry) -> Steps:
    while True:
        yield LookUp((BIRDS,))


def two_hundred_queries(_inquiry: Inquiry) -> Steps:
    yield LookUp((BIRDS,) * 200)
    raise AssertionError


def too_long_a_prompt(_inquiry: Inquiry) -> Steps:
    yield Write(Prompt((), (), (Segment("a" * 20_000),)), 1)
    raise AssertionError


@pytest.mark.parametrize("bad", [endless_writing, endless_looking, two_hundred_queries, too_long_a_prompt])
def test_no_pipeline_goes_on_for_ever(
    corpus: WatchedCorpus, bad: Callable[[Inquiry], Steps], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PIPELINES, "hyde", bad)
    retrieval = retrieved(Scripted({"assistant": "x"}), corpus, "hyde")
    assert titles(retrieval) == ["Mountains"]
    assert corpus.searches <= MOST_ROUNDS + 1
    assert retrieval.tokens <= MOST_WRITES


class BreaksAtPrompts(Scripted):
    """A fake engine that fails for every prompt, but computes single tokens."""

    def prefill(self, sequence: int, tokens: Sequence[int]) -> Logits:
        if len(tokens) > 1:
            raise RuntimeError("it broke")
        return super().prefill(sequence, tokens)


def test_an_engine_that_breaks_a_text_leaves_plain_s_passages(corpus: WatchedCorpus) -> None:
    assert titles(retrieved(BreaksAtPrompts({}), corpus, "hyde")) == ["Mountains"]
