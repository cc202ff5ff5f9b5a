"""An import is complete or has no effect, its errors name the bad row, and its index finds what an exhaustive search
finds.
"""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cloud_server.retrieval.imports import importer as importing
from cloud_server.retrieval.index import Progress
from cloud_server.retrieval.search import IndexCorpus
from cloud_server.retrieval.shards import Vectors
from cloud_server.retrieval.versions import Versions, read_facts
from models.fake import FakeEmbedder
from shared.errors import NothingFound, UsageError
from tests.cloud_server.retrieval.conftest import Make, Write
from tests.cloud_server.retrieval.imports.conftest import Made, importer_into

pytest.importorskip("faiss", reason="needs the server extra")
pytestmark = pytest.mark.faiss


def corpus_of(folder: Path) -> IndexCorpus:
    corpus = IndexCorpus(folder / "index", FakeEmbedder.fingerprint, probes=65_536)
    corpus.refresh()
    return corpus


def texts_in(folder: Path) -> list[str]:
    corpus = corpus_of(folder)
    assert corpus.facts
    first = corpus.facts.series << 32
    return [passage.text for passage in corpus.passages([first + number for number in range(len(corpus))])]


def test_texts_come_with_their_vectors_in_their_order(made: Made, tmp_path: Path) -> None:
    report = importer_into(tmp_path / "index").run(made.npy(), made.lines(), {})
    assert (report.passages, report.kept, report.total, report.normalised, report.cut) == (50, 0, 50, 0, 0)
    assert (report.cosine, report.template) == (1.0, "the text")
    assert report.sampled == 50  # eight a block, and two in the last
    assert texts_in(tmp_path) == made.texts
    hits = corpus_of(tmp_path).search(made.vectors[17], 3)
    assert (hits[0].text, hits[0].path, hits[0].title) == (made.texts[17], "texts.jsonl#d17", "texts")
    facts = read_facts(Versions(tmp_path / "index").current())
    assert [Path(file.path).name for file in facts.sources] == ["vectors.npy", "texts.jsonl"]
    assert (facts.embedder, facts.dimensions) == ("fake", 256)
    assert not (tmp_path / "index" / "building").exists()


class Known:
    """A fake embedder that returns the vector with the number N for a text `passage N`."""

    fingerprint = "known"

    def __init__(self, vectors: Vectors) -> None:
        self.vectors, self.dimensions = vectors, vectors.shape[1]

    def embed(self, texts: Sequence[str]) -> Vectors:
        rows: Vectors = self.vectors[[int(re.findall(r"\d+", text)[-1]) for text in texts]]
        return rows


def unit_vectors(seed: int, count: int, dimensions: int = 384) -> Vectors:
    vectors = np.random.default_rng(seed).standard_normal((count, dimensions)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


@pytest.mark.long
def test_twenty_thousand_vectors_are_searched_as_by_brute_force(tmp_path: Path) -> None:
    made = Made(tmp_path, [f"passage {number}" for number in range(20_000)], unit_vectors(1, 20_000))
    importer_into(tmp_path / "index", Known(made.vectors), rows=8192).run(made.npy(), made.lines(), {})
    corpus = IndexCorpus(tmp_path / "index", "known", probes=65_536)
    assert corpus.facts
    first = corpus.facts.series << 32
    for question in unit_vectors(2, 40):
        scores = made.vectors @ question
        expected = np.argsort(-scores, kind="stable")[:10]
        hits = corpus.search(question, 10)
        assert [hit.id - first for hit in hits] == expected.tolist()
        assert [hit.text for hit in hits] == [f"passage {number}" for number in expected]
        np.testing.assert_allclose([hit.similarity for hit in hits], scores[expected], atol=1e-5)


@pytest.mark.parametrize("kind", [np.float16, np.float64, ">f4"])
def test_any_floats_are_read(made: Made, tmp_path: Path, kind: Any) -> None:
    np.save(tmp_path / "other.npy", made.vectors.astype(kind))
    report = importer_into(tmp_path / "index").run(tmp_path / "other.npy", made.lines(), {})
    assert report.normalised == 0
    assert texts_in(tmp_path) == made.texts


def test_vectors_of_other_lengths_are_brought_to_one_and_counted(made: Made, tmp_path: Path) -> None:
    longer = made.vectors.copy()
    longer[3:7] *= 5
    report = importer_into(tmp_path / "index").run(made.npy(vectors=longer), made.lines(), {})
    assert report.normalised == 4
    assert corpus_of(tmp_path).search(made.vectors[5], 1)[0].similarity == pytest.approx(1, abs=1e-5)


def test_a_folder_of_parts_is_read_in_the_order_of_their_numbers(made: Made, tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    for number, part in enumerate(np.array_split(made.vectors, 12)):
        made.npy(f"parts/emb_{number}.npy", part)
    for number, rows in enumerate(np.array_split(np.arange(50), 11)):
        made.lines(f"parts/text_{number}.jsonl", [made.texts[row] for row in rows])
    importer_into(tmp_path / "index").run(tmp_path / "parts", tmp_path / "parts", {})
    assert texts_in(tmp_path) == made.texts


def test_rows_without_text_are_left_out_and_long_ones_cut(made: Made, tmp_path: Path) -> None:
    texts = list(made.texts)
    texts[4] = texts[9] = " "
    texts[12] = "word " * 1000
    vectors = made.vectors.copy()
    vectors[12] = FakeEmbedder().embed([texts[12]])[0]
    report = importer_into(tmp_path / "index").run(made.npy(vectors=vectors), made.lines(texts=texts), {})
    assert (report.passages, report.cut) == (48, 1)
    assert [(skipped.reason, skipped.lines, skipped.first_line) for skipped in report.skipped] == [("no text", 2, 5)]
    held = texts_in(tmp_path)
    assert [len(text) for text in held if text.startswith("word")] == [2500]
    assert corpus_of(tmp_path).search(made.vectors[30], 1)[0].text == texts[30]


def broken(vectors: Vectors, how: str) -> Vectors:
    vectors = vectors.copy()
    if how == "zeros":
        vectors[20] = 0
    else:
        vectors[20, 3] = float(how)
    return vectors


@pytest.mark.parametrize("how", ["nan", "inf", "-inf", "zeros", "1e30"])
def test_a_vector_that_is_none_is_named_by_its_row(made: Made, tmp_path: Path, how: str) -> None:
    vectors = broken(made.vectors, how)
    if how == "1e30":
        vectors = vectors.astype(np.float64)
        vectors[20, 3] = 1e300
    with pytest.raises(UsageError, match="row 20, counted from 0"):
        importer_into(tmp_path / "index").run(made.npy(vectors=vectors), made.lines(), {})
    with pytest.raises(NothingFound):
        importer_into(tmp_path / "index").builder.index.held()


@pytest.mark.parametrize(
    ("texts", "said"), [(49, "50 vectors in .* and 49 texts"), (51, "50 vectors in .* and 51 texts")]
)
def test_fewer_or_more_texts_than_vectors_are_counted_before_anything_is_written(
    made: Made, tmp_path: Path, texts: int, said: str
) -> None:
    lines = made.lines(texts=[*made.texts, "another"][:texts])
    with pytest.raises(UsageError, match=f"50 vectors in .* and {texts} texts"):
        importer_into(tmp_path / "index").run(made.npy(), lines, {})
    assert not (tmp_path / "index" / "building").exists()


def test_other_dimensions_name_the_option(made: Made, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"100 dimensions.*fake\) 256.*--embedder"):
        importer_into(tmp_path / "index").run(made.npy(vectors=made.vectors[:, :100]), made.lines(), {})


def test_vectors_of_another_model_are_refused_before_anything_is_written(made: Made, tmp_path: Path) -> None:
    chance = np.random.default_rng(1).standard_normal(made.vectors.shape).astype(np.float32)
    with pytest.raises(UsageError, match=r"0% have the same vector.*--embedder"):
        importer_into(tmp_path / "index", rows=50).run(made.npy(vectors=chance), made.lines(), {})
    assert not list((tmp_path / "index" / "building").glob("0*"))


@pytest.mark.parametrize("from_row", [0, 3, 30])
def test_texts_that_fall_out_of_step_are_refused(made: Made, tmp_path: Path, from_row: int) -> None:
    texts = [*made.texts[:from_row], *made.texts[from_row + 1 :], "the last"]
    with pytest.raises(UsageError, match="same order"):
        importer_into(tmp_path / "index").run(made.npy(), made.lines(texts=texts), {})


def test_vectors_of_titles_and_texts_are_seen_to_be_so(made: Made, tmp_path: Path) -> None:
    vectors = FakeEmbedder().embed([f"texts {text}" for text in made.texts])
    report = importer_into(tmp_path / "index").run(made.npy(vectors=vectors), made.lines(), {})
    assert report.template.startswith("title")
    assert report.cosine == 1.0


def test_a_line_without_a_document_is_named(made: Made, tmp_path: Path) -> None:
    lines = made.lines()
    lines.write_text(lines.read_text().replace('{"id": "d9"', "{{", 1))
    with pytest.raises(UsageError, match=r"Line 10 of .*texts\.jsonl is not valid JSON"):
        importer_into(tmp_path / "index", rows=4).run(made.npy(), lines, {})


class Stops(FakeEmbedder):
    """A fake embedder that raises KeyboardInterrupt after `calls` calls."""

    def __init__(self, calls: int) -> None:
        self.calls = calls

    def embed(self, texts: Sequence[str]) -> Any:
        self.calls -= 1
        if self.calls < 0:
            raise KeyboardInterrupt
        return super().embed(texts)


def test_what_was_finished_before_a_stop_is_kept_and_the_old_index_serves_meanwhile(
    made: Made, tmp_path: Path, builder: Make, source: Write
) -> None:
    builder().build([source()])
    vectors = made.vectors.copy()
    vectors[1:3] *= 2
    files = made.npy(vectors=vectors), made.lines()
    with pytest.raises(KeyboardInterrupt):
        importer_into(tmp_path / "index", Stops(7)).run(*files, {})
    assert len(corpus_of(tmp_path)) == 3
    again = importer_into(tmp_path / "index")
    notices, progress = list[str](), list[Progress]()
    again.builder.on_notice, again.builder.on_progress = notices.append, progress.append
    report = again.run(*files, {})
    assert notices == ["Continuing an earlier run, which finished 32 passages."]
    assert (report.passages, report.kept, report.normalised) == (50, 32, 2)
    assert [state.done for state in progress if state.stage == "importing"] == [40, 48, 50]
    assert texts_in(tmp_path) == made.texts


def test_what_was_finished_of_another_form_is_not_taken(made: Made, tmp_path: Path) -> None:
    """An import that was interrupted leaves shards; a build from the same text file does not continue them."""
    files = made.npy(), made.lines()
    with pytest.raises(KeyboardInterrupt):
        importer_into(tmp_path / "index", Stops(7)).run(*files, {})
    report = importer_into(tmp_path / "index").builder.build([files[1]])
    assert (report.kept, report.total) == (0, 50)


def test_a_file_that_changes_meanwhile_is_seen(made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = made.npy(), made.lines()
    made_by = importer_into(tmp_path / "index")
    made_by.builder.on_progress = lambda state: os.utime(files[0]) if state.done == 48 else None
    with pytest.raises(UsageError, match="has changed since the start"):
        made_by.run(*files, {})


SLOW = """
import sys, time
from pathlib import Path
from cloud_server.retrieval.builder import Builder
from cloud_server.retrieval.folder import FolderIndex
from cloud_server.retrieval.imports.importer import Importer
from cloud_server.retrieval.versions import Versions
from models.fake import FakeEmbedder

class Slow(FakeEmbedder):
    def embed(self, texts):
        time.sleep(0.05)
        return super().embed(texts)

print("started", flush=True)
index, vectors, texts = map(Path, sys.argv[1:])
Importer(Builder(FolderIndex(Versions(index), 1), Slow()), 4).run(vectors, texts, {})
"""


def test_a_process_that_is_killed_again_and_again_gets_done(made: Made, tmp_path: Path) -> None:
    files = made.npy(), made.lines()
    for _ in range(3):
        command = [sys.executable, "-c", SLOW, str(tmp_path / "index"), *map(str, files)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout
            assert process.stdout.readline() == b"started\n"
            time.sleep(0.4)
            process.send_signal(signal.SIGKILL)
    assert importer_into(tmp_path / "index").run(*files, {}).total == 50
    assert texts_in(tmp_path) == made.texts


@pytest.mark.parametrize(("sizes", "rows"), [([3, 9, 1, 20], 8), ([64], 8), ([1] * 9, 4), ([5], 5), ([], 4)])
def test_blocks_of_any_size_become_regular(sizes: list[int], rows: int) -> None:
    values = np.arange(2 * sum(sizes), dtype=np.float32).reshape(-1, 2)
    cuts = [sum(sizes[:place]) for place in range(len(sizes))]
    given = (values[first : first + size] for first, size in zip(cuts, sizes, strict=True))
    blocks = list(importing._regular(given, rows))
    assert [len(block) for block in blocks[:-1]] == [rows] * max(0, len(blocks) - 1)
    np.testing.assert_array_equal(np.concatenate([np.empty((0, 2)), *blocks]), values)
