"""Reading files of vectors and texts: readable files give the same rows from any start, and others are refused."""

import json
import os
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cloud_server.retrieval.imports.opening import open_sources
from cloud_server.retrieval.imports.tables import Columns
from cloud_server.retrieval.shards import Vectors
from shared.errors import UsageError
from tests.cloud_server.retrieval.imports.conftest import Made, importer_into

faiss: Any = pytest.importorskip("faiss", reason="needs the server extra")
arrow: Any = pytest.importorskip("pyarrow", reason="needs the parquet extra")
pytest.importorskip("pyarrow.parquet", reason="needs the parquet extra")
pytestmark = pytest.mark.faiss


def read(vectors: Path, texts: Path | None, start: int, columns: Columns) -> tuple[Vectors, list[str]]:
    source, documents = open_sources(vectors, texts, columns)
    blocks = list(source.blocks(start))
    assert source.count == documents.count
    rows = np.concatenate(blocks) if blocks else np.empty((0, source.dimensions), np.float32)
    return rows, [document.text for document in documents.documents(start)]


def table_of(made: Made, vector: str = "embedding", kind: Any = None, **more: Any) -> Any:
    vectors = made.vectors.astype(np.float16) if kind and kind.value_type == arrow.float16() else made.vectors
    values = arrow.array(list(vectors), kind or arrow.list_(arrow.float32()))
    return arrow.table({"text": list(made.texts), vector: values, **more})


def parquet(made: Made) -> Path:
    arrow.parquet.write_table(table_of(made), made.folder / "a.parquet", row_group_size=13)
    return made.folder / "a.parquet"


def parquet_shards(made: Made) -> Path:
    folder = made.folder / "snapshot" / "data"
    folder.mkdir(parents=True)
    fixed = table_of(made, kind=arrow.list_(arrow.float16(), 256))
    for number, (first, count) in enumerate(((0, 20), (20, 1), (21, 29))):
        part = fixed.slice(first, count)
        arrow.parquet.write_table(part, folder / f"train-{number:05}-of-00003.parquet")
    (made.folder / "snapshot" / "README.md").write_text("A data set.")
    return made.folder / "snapshot"


def saved(made: Made) -> Path:
    """Write a data set as `Dataset.save_to_disk` of the library `datasets` does: Arrow streams, and a file with their
    names.
    """
    folder = made.folder / "saved"
    folder.mkdir()
    names = [f"data-{number:05}-of-00002.arrow" for number in range(2)]
    for name, rows in zip(names, (slice(0, 30), slice(30, 50)), strict=True):
        part = table_of(made).slice(rows.start, rows.stop - rows.start)
        with arrow.ipc.new_stream(str(folder / name), part.schema) as stream:
            stream.write_table(part, max_chunksize=7)
    state = {"_data_files": [{"filename": name} for name in names], "_fingerprint": "x", "_split": "train"}
    (folder / "state.json").write_text(json.dumps(state))
    (folder / "dataset_info.json").write_text("{}")
    return folder


def feather(made: Made) -> Path:
    with arrow.ipc.new_file(str(made.folder / "a.arrow"), table_of(made).schema) as stream:
        stream.write_table(table_of(made), max_chunksize=11)
    return made.folder / "a.arrow"


def faiss_file(made: Made, index: Any, numbers: Any = None) -> Path:
    if not index.is_trained:
        index.train(made.vectors)
    index.add(made.vectors) if numbers is None else index.add_with_ids(made.vectors[numbers], numbers)
    faiss.write_index(index, str(made.folder / "a.faiss"))
    return made.folder / "a.faiss"


ORDER = np.random.default_rng(5).permutation(50).astype(np.int64)
READABLE: dict[str, Callable[[Made], tuple[Path, Path | None]]] = {
    "npy": lambda made: (made.npy(), made.lines()),
    "parquet": lambda made: (parquet(made), None),
    "parquet shards": lambda made: (parquet_shards(made), None),
    "a saved data set": lambda made: (saved(made), None),
    "an Arrow file": lambda made: (feather(made), None),
    "npy with parquet": lambda made: (made.npy(), parquet(made)),
    "parquet with lines": lambda made: (parquet(made), made.lines()),
    "flat": lambda made: (faiss_file(made, faiss.IndexFlatIP(256)), made.lines()),
    "flat L2": lambda made: (faiss_file(made, faiss.IndexFlatL2(256)), made.lines()),
    "HNSW": lambda made: (faiss_file(made, faiss.IndexHNSWFlat(256, 8)), made.lines()),
    "clusters": lambda made: (
        faiss_file(made, faiss.IndexIVFFlat(faiss.IndexFlatIP(256), 256, 4, faiss.METRIC_INNER_PRODUCT)),
        made.lines(),
    ),
    "numbered clusters": lambda made: (
        faiss_file(made, faiss.IndexIVFFlat(faiss.IndexFlatIP(256), 256, 4, faiss.METRIC_INNER_PRODUCT), ORDER),
        made.lines(),
    ),
    "numbered": lambda made: (faiss_file(made, faiss.IndexIDMap2(faiss.IndexFlatIP(256)), ORDER), made.lines()),
}


@pytest.mark.parametrize("name", READABLE)
@pytest.mark.parametrize("start", [0, 1, 13, 29, 49, 50])
def test_rows_are_the_same_from_any_start(made: Made, name: str, start: int) -> None:
    vectors, texts = read(*READABLE[name](made), start, {})
    halved = name == "parquet shards"
    np.testing.assert_array_equal(vectors, (made.vectors.astype(np.float16) if halved else made.vectors)[start:])
    assert texts == made.texts[start:]


@pytest.mark.parametrize("name", READABLE)
def test_what_is_readable_becomes_an_index(made: Made, tmp_path: Path, name: str) -> None:
    vectors, texts = READABLE[name](made)
    report = importer_into(tmp_path / "index").run(vectors, texts, {})
    assert (report.total, report.template) == (50, "the text")


def test_columns_are_named_where_they_are_unusual(made: Made, tmp_path: Path) -> None:
    table = table_of(made, "e5", title=[f"T{number}" for number in range(50)], key=list(range(50)))
    arrow.parquet.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(UsageError, match="--column vector=NAME; there are: text, e5, title, key"):
        open_sources(tmp_path / "a.parquet", None, {})
    with pytest.raises(UsageError, match=r"no column e6.*--column vector=NAME"):
        open_sources(tmp_path / "a.parquet", None, {"vector": "e6"})
    _, texts = open_sources(tmp_path / "a.parquet", None, {"vector": "e5", "id": "key"})
    assert list(texts.documents(48))[1] == ("T49", "a.parquet#49", made.texts[49])


HEADER = "{'descr': '<f4', 'fortran_order': False, 'shape': (50, 256), }"


def npy_with(header: str, data: bytes = b"\0" * 51_200, version: bytes = b"\x01\x00") -> bytes:
    padded = header.encode() + b" " * (117 - len(header)) + b"\n"
    return b"\x93NUMPY" + version + len(padded).to_bytes(2, "little") + padded + data


def faiss_head(kind: bytes, count: int) -> bytes:
    return kind + (256).to_bytes(4, "little") + count.to_bytes(8, "little")


BAD_ARRAYS: dict[str, tuple[bytes, str]] = {
    "cut short": (npy_with(HEADER, b"\0" * 51_196), "header says 50 vectors of 256 dimensions"),
    "too long": (npy_with(HEADER, b"\0" * 51_204), "header says 50 vectors of 256 dimensions"),
    "more rows than bytes": (npy_with(HEADER.replace("(50,", "(5_000_000_000,")), "header says 5,000,000,000 vectors"),
    "negative rows": (npy_with(HEADER.replace("(50,", "(-50,")), "its shape is"),
    "one dimension": (npy_with(HEADER.replace("(50, 256)", "(12800,)")), "its shape is"),
    "three dimensions": (npy_with(HEADER.replace("(50, 256)", "(50, 16, 16)")), "its shape is"),
    "no dimension": (npy_with(HEADER.replace("(50, 256)", "(50, 0)"), b""), "its shape is"),
    "whole numbers": (npy_with(HEADER.replace("<f4", "<i4")), "it holds int32, not floats"),
    "objects": (npy_with(HEADER.replace("<f4", "|O")), "it holds objects"),
    "records": (npy_with(HEADER.replace("'<f4'", "[('a', '<f4')]")), "not floats"),
    "column by column": (npy_with(HEADER.replace("False", "True")), "Fortran order"),
    "no shape": (npy_with("{'descr': '<f4'}"), "header cannot be read"),
    "an expression": (npy_with("__import__('os').abort()"), "header cannot be read"),
    "no header": (b"\x93NUMPY\x01\x00", "header cannot be read"),
    "another version": (npy_with(HEADER, version=b"\x03\x00"), "not a plain array"),
    "a pickle": (pickle.dumps([1.0]), "not a file of vectors"),
    "an archive": (b"PK\x03\x04" + b"\0" * 40, "not a file of vectors"),
    "empty": (b"", "not a file of vectors"),
    "text": (b"0.1 0.2 0.3\n", "not a file of vectors"),
    "cut parquet": (b"PAR1\0\0\0\0PAR1", "cannot be read"),
    "cut Arrow": (b"ARROW1\0\0", "cannot be read"),
    "a lying FAISS index": (
        b"IxFI" + (256).to_bytes(4, "little") + (1 << 40).to_bytes(8, "little") + b"\0" * 99,
        "header says",
    ),
    "lying clusters": (b"IwFl" + (256).to_bytes(4, "little") + (1 << 40).to_bytes(8, "little"), "its header says"),
    "a cut FAISS index": (b"IxFI" + (1).to_bytes(4, "little") + (1).to_bytes(8, "little") + b"\0" * 9, "cut short"),
}


@pytest.mark.parametrize("name", BAD_ARRAYS)
def test_what_cannot_be_read_is_refused_with_the_reason(made: Made, tmp_path: Path, name: str) -> None:
    data, said = BAD_ARRAYS[name]
    (tmp_path / "bad").write_bytes(data)
    with pytest.raises(UsageError, match=re.escape(said)):
        importer_into(tmp_path / "index").run(tmp_path / "bad", made.lines(), {})


def test_an_array_of_objects_is_not_unpickled(made: Made, tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> Any:
            return (Path.touch, (tmp_path / "sprung",))

    np.save(tmp_path / "trap.npy", np.array([[Trap()]], object), allow_pickle=True)
    with pytest.raises(UsageError, match="objects"):
        importer_into(tmp_path / "index").run(tmp_path / "trap.npy", made.lines(), {})
    assert not (tmp_path / "sprung").exists()


BAD_COLUMNS: dict[str, tuple[Any, str]] = {
    "no vector": ([[1.0, 2.0], None, [1.0, 2.0]], "row 1 has no vector"),
    "no number": ([[1.0, 2.0], [1.0, 2.0], [1.0, None]], "row 2 lacks a number"),
    "another length": ([[1.0, 2.0], [1.0, 2.0], [1.0]], "row 2 has 1 numbers"),
    "an empty list": ([[], [1.0], [1.0]], "row 0 has 0 numbers"),
    "no lists": ([[], [], []], "its lists are of null"),
    "whole numbers": ([[1], [2], [3]], "its lists are of int64"),
    "floats": ([1.0, 2.0, 3.0], "not of lists of floats"),
    "lists of lists": ([[[1.0]], [[2.0]], [[3.0]]], "its lists are of list"),
}


@pytest.mark.parametrize("name", BAD_COLUMNS)
def test_a_column_that_holds_no_vectors_is_refused_with_its_row(tmp_path: Path, name: str) -> None:
    values, said = BAD_COLUMNS[name]
    arrow.parquet.write_table(arrow.table({"text": ["a", "b", "c"], "emb": values}), tmp_path / "a.parquet")
    with pytest.raises(UsageError, match=said):
        list(open_sources(tmp_path / "a.parquet", None, {})[0].blocks(0))


@pytest.mark.parametrize("name", [name for name in READABLE if name.startswith(("flat", "HNSW", "number", "cluster"))])
def test_a_faiss_index_that_is_cut_anywhere_ends_no_process(made: Made, name: str) -> None:
    file, texts = READABLE[name](made)
    size = file.stat().st_size
    for length in range(size - 1, 0, -max(1, size // 30)):
        os.truncate(file, length)
        with pytest.raises(UsageError):
            list(open_sources(file, texts, {})[0].blocks(0))


@pytest.mark.parametrize(
    "kind",
    [
        lambda: faiss.IndexScalarQuantizer(256, faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT),
        lambda: faiss.IndexPQ(256, 4, 4),
        lambda: faiss.IndexLSH(256, 64),
        lambda: faiss.IndexIDMap2(faiss.IndexLSH(256, 64)),
    ],
    ids=["scalars", "products", "bits", "numbered bits"],
)
def test_an_index_that_holds_vectors_in_part_is_refused(made: Made, kind: Callable[[], Any]) -> None:
    index = kind()
    file = faiss_file(made, index, ORDER if isinstance(index, faiss.IndexIDMap2) else None)
    with pytest.raises(UsageError, match="does not hold its vectors in full"):
        open_sources(file, made.lines(), {})


@pytest.mark.parametrize("clustered", [True, False])
def test_numbers_that_name_no_text_are_refused(made: Made, clustered: bool) -> None:
    index = (
        faiss.IndexIVFFlat(faiss.IndexFlatIP(256), 256, 4, faiss.METRIC_INNER_PRODUCT)
        if clustered
        else faiss.IndexIDMap2(faiss.IndexFlatIP(256))
    )
    if not index.is_trained:
        index.train(made.vectors)
    index.add_with_ids(made.vectors, ORDER + 7)
    faiss.write_index(index, str(made.folder / "a.faiss"))
    with pytest.raises(UsageError, match=r"ids in|by FAISS"):
        open_sources(made.folder / "a.faiss", made.lines(), {})


def test_folders_say_what_they_lack(made: Made, tmp_path: Path) -> None:
    folder = saved(made)
    (folder / "state.json").write_text('{"_data_files": [{"filename": "gone.arrow"}]}')
    with pytest.raises(UsageError, match="lacks files"):
        open_sources(folder, None, {})
    (folder / "state.json").write_text('{"_data_files": [], "_indices_data_files": [{}]}')
    with pytest.raises(UsageError, match="flatten_indices"):
        open_sources(folder, None, {})
    (tmp_path / "dict" / "test").mkdir(parents=True)
    (tmp_path / "dict" / "test" / "state.json").write_text("{}")
    (tmp_path / "dict" / "dataset_dict.json").write_text('{"splits": ["test"]}')
    with pytest.raises(UsageError, match=r"several splits \(test\)"):
        open_sources(tmp_path / "dict", None, {})
    shards = parquet_shards(made)
    (shards / "data" / "test-00000-of-00001.parquet").write_bytes(b"PAR1")
    with pytest.raises(UsageError, match=r"several splits \(test, train\)"):
        open_sources(shards, None, {})
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match=r"no \.npy or \.parquet or \.arrow file"):
        open_sources(tmp_path / "empty", made.lines(), {})
    with pytest.raises(UsageError, match="no file or folder"):
        open_sources(tmp_path / "nowhere", None, {})
    with pytest.raises(UsageError, match="--texts"):
        open_sources(made.npy(), None, {})


def test_without_the_extra_it_is_named(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    file = parquet(made)
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(UsageError, match="scripts/install server parquet"):
        open_sources(file, None, {})
