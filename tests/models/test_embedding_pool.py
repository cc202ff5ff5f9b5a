"""Embedding in several processes: the same vectors as in one, no processes for a small corpus, and none left
running.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from models import embedding_pool
from models.embedding_pool import BEGINS_AFTER, MOST_PROCESSES, PROCESS_BYTES, EmbeddingPool, processes_for
from models.sentence_embedder import SentenceEmbedder
from shared.errors import EngineError
from tests.models.test_embedder import TEXTS

real = (pytest.mark.torch, pytest.mark.filterwarnings("default"))
PLENTY = 100 * PROCESS_BYTES


def marked(test: Callable[..., None]) -> Callable[..., None]:
    for mark in real:
        test = mark(test)
    return test


@pytest.mark.parametrize(
    ("cores", "memory", "processes"),
    [
        (1, PLENTY, 1),
        (2, PLENTY, 2),
        (2, PROCESS_BYTES, 1),
        (8, 3 * PROCESS_BYTES + 1, 3),
        (2, 0, 1),
        (128, PLENTY, MOST_PROCESSES),
    ],
)
def test_there_are_as_many_as_cores_and_memory_allow(cores: int, memory: int, processes: int) -> None:
    assert processes_for(cores, memory) == processes


class Model:
    """A fake of the model class of sentence-transformers, which records its calls."""

    class device:
        type = "cpu"

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []
        self.started: list[list[str]] = []
        self.threads: list[str | None] = []
        self.stopped = 0

    def encode(self, texts: list[str], **options: Any) -> Any:
        self.calls.append(options)
        if options.get("pool") and "fails" in texts:
            raise RuntimeError(
                "1 multi-process pool worker(s) died unexpectedly: pid 7 (exit code -9).\nStop the pool."
            )
        return np.ones((len(texts), 2), np.float32)

    def start_multi_process_pool(self, devices: list[str]) -> dict[str, Any]:
        self.started.append(devices)
        self.threads.append(os.environ.get("OMP_NUM_THREADS"))
        assert signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())
        return {"processes": []}

    def stop_multi_process_pool(self, _pool: dict[str, Any]) -> None:
        self.stopped += 1


def test_a_small_corpus_is_embedded_here_and_a_large_one_elsewhere() -> None:
    pool, model = EmbeddingPool(3, 7), Model()
    for _ in range(BEGINS_AFTER // 512):
        pool.encode(model, ["a"] * 512)
    assert model.started == []
    for count in (512, 1):
        assert pool.encode(model, ["a"] * count, prompt="").shape == (count, 2)
    assert (model.started, model.threads) == ([["cpu"] * 3], ["2"])
    assert [call.get("chunk_size") for call in model.calls[-2:]] == [86, 1]
    assert {call.get("prompt") for call in model.calls[-2:]} == {""}
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
    pool.close()
    pool.close()
    assert model.stopped == 1
    assert not hasattr(model, "leash")


@pytest.mark.parametrize(("processes", "device"), [(1, "cpu"), (4, "cuda")])
def test_one_process_is_this_one_and_a_gpu_is_used_from_here(processes: int, device: str) -> None:
    pool, model = EmbeddingPool(processes, 4), Model()
    model.device = type("device", (), {"type": device})  # type: ignore[assignment]
    pool.encode(model, ["a"] * (BEGINS_AFTER + 1))
    assert model.started == []


def test_a_process_that_failed_ends_all_with_a_way_on() -> None:
    pool, model = EmbeddingPool(2, 2), Model()
    pool.encode(model, ["a"] * BEGINS_AFTER)
    with pytest.raises(EngineError, match=r"died unexpectedly.*--threads 1"):
        pool.encode(model, ["fails"])
    assert model.stopped == 1


@pytest.fixture
def embedder(sentence_model: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SentenceEmbedder]:
    pytest.importorskip("sentence_transformers", reason="needs the embedders extra")
    monkeypatch.setattr(embedding_pool, "BEGINS_AFTER", 0)
    before = set(embedding())
    yield SentenceEmbedder(str(sentence_model), {"query": "", "passage": ""}, "passage", 2)
    assert set(embedding()) <= before


def embedding(of: int | None = None) -> list[int]:
    """Return the ids of the processes that embed for the process `of`, or for this one."""
    children = psutil.Process(of).children()
    return [child.pid for child in children if "spawn_main" in " ".join(child.cmdline())]


@marked
def test_vectors_are_those_of_one_process_and_the_processes_end_with_the_block(embedder: SentenceEmbedder) -> None:
    expected = embedder.embed(TEXTS)
    with embedder.in_processes(PLENTY):
        several = [embedder.embed(TEXTS), embedder.embed(TEXTS[:1])]
        processes = embedding()
        assert len(processes) == 2
        for process in processes:
            os.kill(process, signal.SIGINT)  # as Ctrl-C does, to all that a terminal has started
        assert embedder.embed([]).shape == (0, 384)
        several.append(embedder.embed(TEXTS))
        for process in processes:
            os.kill(process, signal.SIGKILL)  # both, as a single one that lives may embed everything
        with pytest.raises(EngineError, match="died unexpectedly"):
            embedder.embed(TEXTS)
    for vectors, same in zip(several, (expected, expected[:1], expected), strict=True):
        assert vectors.shape == same.shape
        assert vectors.dtype == np.float32
        assert (vectors * same).sum(axis=1).min() >= 0.9999


@marked
def test_they_end_when_whoever_started_them_is_killed(embedder: SentenceEmbedder) -> None:
    script = (
        "from models import embedding_pool\n"
        "from models.sentence_embedder import SentenceEmbedder\n"
        "if __name__ == '__main__':\n"
        "    embedding_pool.BEGINS_AFTER = 0\n"
        f"    embedder = SentenceEmbedder({str(embedder._folder)!r}, {{'query': '', 'passage': ''}}, 'passage', 2)\n"
        f"    with embedder.in_processes({PLENTY}):\n"
        "        embedder.embed(['a', 'b'])\n"
        "        print('ready', flush=True)\n"
        "        input()\n"
    )
    root = Path(__file__).parents[2]
    with subprocess.Popen(
        [sys.executable, "-c", script], cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == b"ready\n"
        left = embedding(process.pid)
        assert len(left) == 2
        process.kill()
    deadline = time.monotonic() + 30
    while any(map(psutil.pid_exists, left)):
        assert time.monotonic() < deadline
        time.sleep(0.1)
