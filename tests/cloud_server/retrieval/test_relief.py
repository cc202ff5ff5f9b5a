"""The index of a server that nobody asks gives its memory back, and no error ends that."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from cloud_server.retrieval import relief
from cloud_server.retrieval.relief import relieve
from cloud_server.retrieval.search import IndexCorpus
from models.fake import FakeEmbedder
from storage import read_ahead
from tests.cloud_server.retrieval.conftest import Make, Write, numbered
from tests.cloud_server.retrieval.test_tickets import vector

pytest.importorskip("faiss", reason="needs the server extra")
pytestmark = pytest.mark.faiss


def test_a_server_that_nobody_asks_gives_memory_back_also_after_an_error(
    builder: Make, source: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    builder().build([source(facts=numbered(60))])
    corpus = IndexCorpus(tmp_path / "index", FakeEmbedder.fingerprint)
    corpus.relieve()  # nothing is open yet
    expected = corpus.search(vector("subject1"), 3)
    assert corpus.vector_use().held > 0
    checks = [0]

    def none_left() -> int:
        checks[0] += 1
        if checks[0] == 1:
            raise OSError("The memory cannot be read.")
        return 0

    monkeypatch.setattr(read_ahead, "available", none_left)
    monkeypatch.setattr(read_ahead, "LOOK_S", 0.0)
    monkeypatch.setattr(relief, "EVERY_S", 0.01)

    async def serve() -> None:
        with ThreadPoolExecutor(1) as readers:
            task = asyncio.create_task(relieve(corpus, readers))
            async with asyncio.timeout(30):
                while corpus.vector_use().held:
                    await asyncio.sleep(0.01)
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    asyncio.run(serve())
    assert checks[0] > 1
    monkeypatch.undo()
    assert corpus.search(vector("subject1"), 3) == expected
