"""The time to the first token of an answer that the server writes from three passages: with their attention states
computed ahead and on disk, none of them in memory, against no cached states.

Answers are written in a sequence per passage, whose next-token distributions are mixed, or from one prompt, where only
the first passage has a state that fits. The parts are the product's, in this process: `StatesWriter` fills a folder as
`jackdaw-server index states` does, and `Batch` writes. Files are dropped from the kernel's cache before each answer,
where the system can.
"""

import os
import statistics
import tempfile
import time
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cloud_server.engine.batch import Batch
from cloud_server.engine.jobs import Job, Token
from cloud_server.engine.prefix_cache import PrefixCache
from cloud_server.engine.saved_states import SavedStates
from cloud_server.pipelines.answering import Answering
from cloud_server.pipelines.states_ahead import StatesWriter
from cloud_server.retrieval.opened import StoredPassages
from cloud_server.settings import Settings
from models.catalog import find
from models.chat_template import parse
from models.fake import FakeEmbedder
from models.llama_cpp import LlamaCppEngine
from models.llama_model import LlamaModel
from scripts.places import step, weights
from shared.protocol import messages as m
from storage.public_passages import PassageFiles, PassageText, write_passages

PASSAGES, WORDS = 3, 100
QUESTION = "How does the server decide which states it computes first?"
MODEL = "smollm2-135m"
_TEXT = Path(__file__).parents[2] / "cloud_server" / "README.md"


def run(arguments: Namespace) -> dict[str, Any]:
    """Return medians of the ms to the first token, and of their ratios, for each arrangement; the arms take turns."""
    own, repeats = Settings().model, 3 if arguments.quick else 20
    engine = LlamaCppEngine(
        LlamaModel(weights(MODEL).path(find(MODEL))),
        context=own.context,
        sequences=own.sequences,
        threads=arguments.threads,
        kv_type=own.kv,
    )
    template = parse(engine.info.chat_template, engine.info.bos)
    room = round(own.prefix_mb * 1e6)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "0.passages"
        write_passages(file, _texts())
        passages = StoredPassages(0, PassageFiles([file]))
        saved = SavedStates(Path(folder) / "states", engine.info.kv_key)
        step("states of the passages")
        report = StatesWriter(engine, template, passages, saved, ()).fill(10**9, lambda _: None)
        used = [passage for number in range(PASSAGES) if (passage := passages.read(number))]
        figures: dict[str, Any] = {"bytes": report.bytes, "tokens": report.tokens_computed}
        for name in ("rows", "prompt"):
            step(f"first token, {name}")
            ask = m.Ask(1, QUESTION, True, PASSAGES, 8, 8)
            answering = Answering(engine, template, FakeEmbedder(), None, 0.0, in_rows=name == "rows")
            job = answering.job(ask, ask, used)
            ahead, nothing, texts = list[float](), list[float](), set[tuple[int, ...]]()
            for _ in range(repeats + 1):
                _drop(Path(folder) / "states")
                for times, cache in ((ahead, PrefixCache(room, saved)), (nothing, PrefixCache(room))):
                    took, text = _first(engine, cache, job)
                    times.append(took)
                    texts.add(text)
            del ahead[0], nothing[0]  # the warm-up
            figures[name] = {
                "ttft_ms": round(statistics.median(ahead), 1),
                "ttft_without_ms": round(statistics.median(nothing), 1),
                "ratio": round(statistics.median(a / b for a, b in zip(ahead, nothing, strict=True)), 3),
                "same_text": len(texts) == 1,
            }
    engine.close()
    return figures


def _texts() -> Sequence[PassageText]:
    words = _TEXT.read_text("utf-8").split()
    parts = [words[start : start + WORDS] for start in range(0, PASSAGES * WORDS, WORDS)]
    return [PassageText(f"Guide, part {number + 1}", "README.md", " ".join(part)) for number, part in enumerate(parts)]


def _drop(folder: Path) -> None:
    """Ask the kernel to drop the files from its page cache, so that they are read from disk."""
    if hasattr(os, "posix_fadvise"):
        for file in folder.iterdir():
            descriptor = os.open(file, os.O_RDONLY)
            try:
                os.fsync(descriptor)
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(descriptor)


def _first(engine: LlamaCppEngine, cache: PrefixCache, job: Job) -> tuple[float, tuple[int, ...]]:
    """Return the ms to the first token of an answer, and all tokens of the answer."""
    batch, start = Batch(engine, cache), time.perf_counter()
    batch.join(1, job, job.max_tokens)
    tokens: list[int] = []
    took = 0.0
    while len(batch):
        said = [event.token for event in batch.step() if isinstance(event, Token)]
        if said and not tokens:
            took = (time.perf_counter() - start) * 1000
        tokens += said
    return took, tuple(tokens)
