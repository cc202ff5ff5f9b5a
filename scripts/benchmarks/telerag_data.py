"""The data of the benchmark `telerag`: an index of vectors generated around real ones, and real questions with a
rewriting.

A generated vector lies between a real passage and another among its eight nearest, with a little noise. The rewriting
is HyDE's, a passage of 64 tokens that answers the question: written by the default model (`hyde`), greedily; or the
passage that holds the answer, the best that any model could write (`ideal`). `anchored` adds the question's vector.
"""

from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from models.catalog import find
from models.chat_template import parse
from models.embedder import OnnxEmbedder
from models.engine import Embedder, Engine
from models.llama_cpp import LlamaCppEngine
from models.llama_model import LlamaModel
from scripts.datasets.retrieval_sets import lines
from scripts.places import step, weights
from storage.ivf import clusters_for, train
from storage.ivf_files import Codec, Vectors
from storage.ivf_writing import write

MODEL: Final = "smollm2-135m"
TOKENS: Final = 64
PROMPT: Final = "Write a short passage of an encyclopaedia that answers this question.\n\nQuestion: {}"
NEAR, NOISE = 8, 0.3
SAMPLE_PER_CLUSTER, BLOCK = 64, 50_000


@dataclass(frozen=True, slots=True)
class Round:
    """A round of retrieval: the vectors of its `queries`, shape (queries, dimensions).

    While the model writes the queries, the index is read ahead `near` a vector, and then near that of the
    `half`-written text, each of shape (dimensions,). Without `near`, nothing is written before the round; without
    `half`, the text was too short.
    """

    near: Vectors | None
    half: Vectors | None
    queries: Vectors

    def anchored(self) -> "Round":
        """Return the round with the vectors of the texts averaged with `near`, each with weight one half."""
        assert self.near is not None
        half = None if self.half is None else _unit(self.near + self.half)
        return Round(self.near, half, _unit(self.near + self.queries))


@dataclass(frozen=True, slots=True)
class Asked:
    """The real vectors: of passages, shape (passages, dimensions), and of many questions. `texts` holds the questions
    that were rewritten.

    `rewritings` holds the rewritten questions, by who wrote them: the model ("hyde"), or the passage with the answer
    ("ideal").
    """

    passages: Vectors
    questions: Vectors
    texts: Sequence[str]
    rewritings: Mapping[str, Sequence[Round]]


def real(arguments: Namespace, count: int, passages: int, questions: int) -> Asked:
    """Read `count` rewritings, and at most `passages` passages and `questions` questions, under --data.

    Raises CannotRun.
    """
    folder = weights(MODEL, "all-minilm-l6-v2")
    embedder = OnnxEmbedder(folder.path(find("all-minilm-l6-v2")), arguments.threads)
    data: Path = arguments.data
    texts = [row["text"] for name in ("nq_passages", "wiki_corpus") for row in _rows(data, name, "passages")]
    asked = list(_rows(data, "nq_passages", "questions"))
    more = [row["question"] for name in ("hotpotqa", "nq_open") for row in _rows(data, name, "questions")]
    step("the model writes a passage for each question")
    engine = LlamaCppEngine(LlamaModel(folder.path(find(MODEL))), threads=arguments.threads)
    own = asked[:: max(1, len(asked) // count)][:count]
    written = [written_by(engine, row["question"]) for row in own]
    engine.close()
    by_id = {row["pid"]: row["text"] for row in _rows(data, "nq_passages", "passages")}
    gold = [" ".join(by_id[row["gold_pid"]].split()[: TOKENS * 3 // 4]) for row in own]
    step(f"embedding {min(passages, len(texts)):,} passages")
    rewritings = {
        name: _rewritings(embedder, [row["question"] for row in own], outputs)
        for name, outputs in (("hyde", written), ("ideal", gold))
    }
    vectors = embedder.embed(texts[:passages])
    every = [row["question"] for row in asked] + more
    return Asked(vectors, embedder.embed(every[:questions]), [row["question"] for row in own], rewritings)


def written_by(engine: Engine, question: str) -> str:
    """Return the passage that the model writes at temperature 0, always with the full number of tokens."""
    template = parse(engine.info.chat_template, engine.info.bos)
    engine.clear(0)
    parts = (template.before_user, PROMPT.format(question), template.after_user + template.before_assistant)
    tokens = [token for place, part in enumerate(parts) for token in engine.tokenize(part, special=place != 1)]
    logits, output = engine.prefill(0, tokens), list[int]()
    while len(output) < TOKENS:
        ranked = np.argsort(-logits)[:2].tolist()
        output.append(ranked[1] if engine.is_end(ranked[0]) else ranked[0])
        logits = engine.decode({0: output[-1]})[0]
    return engine.detokenize(output).decode("utf-8", "replace")


def _rewritings(embedder: Embedder, questions: Sequence[str], outputs: Sequence[str]) -> list[Round]:
    halves = [output[: len(output) // 2] for output in outputs]
    vectors = embedder.embed([*questions, *halves, *outputs]).reshape(3, len(questions), -1)
    return [Round(near, half, output[None]) for near, half, output in zip(*vectors, strict=True)]


def _rows(data: Path, name: str, kind: str) -> list[dict[str, Any]]:
    path = data / name / f"{kind}.jsonl"
    return list(lines(path)) if path.is_file() else []


class Around:
    """A reproducible generator of any number of vectors around real ones, shape (passages, dimensions)."""

    def __init__(self, passages: Vectors) -> None:
        self._passages = passages
        nearest = [
            np.argpartition(-(part @ passages.T), NEAR, axis=1)[:, : NEAR + 1]
            for part in np.array_split(passages, max(1, len(passages) // 1000))
        ]
        self._near = np.concatenate(nearest)

    def of(self, count: int, seed: int) -> Vectors:
        """Return `count` generated vectors, shape (count, dimensions)."""
        chance = np.random.default_rng(seed)
        rows = chance.integers(len(self._passages), size=count)
        others = self._near[rows, chance.integers(self._near.shape[1], size=count)]
        share: Vectors = chance.random((count, 1), np.float32)
        drawn: Vectors = share * self._passages[rows] + (1 - share) * self._passages[others]
        noise = chance.standard_normal(drawn.shape, np.float32)
        return _unit(_unit(drawn) + NOISE * _unit(noise))

    def blocks(self, first: int, stop: int) -> list[Callable[[], Vectors]]:
        """Return functions that generate the vectors of a range of numbers, in blocks. All generated vectors differ."""
        return [partial(self.of, min(BLOCK, stop - start), 1000 + start) for start in range(first, stop, BLOCK)]


def make(folder: Path, around: Around, passages: int, codec: Codec, threads: int) -> None:
    """Create the folder with an index of the given number of generated vectors."""
    folder.mkdir(parents=True)
    clusters = clusters_for(passages)
    centroids = train(around.of(min(SAMPLE_PER_CLUSTER * clusters, passages), 1), clusters, threads=threads)
    write(folder, centroids, around.blocks(0, passages), codec=codec, threads=threads)


def _unit(vectors: Vectors) -> Vectors:
    scaled: Vectors = (vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)).astype(np.float32)
    return scaled
