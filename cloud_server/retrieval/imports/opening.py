"""Opens the files to import, with a reader chosen by their first bytes or by a folder's content."""

import re
from collections.abc import Sequence
from pathlib import Path

from msgspec import MsgspecError, Struct, field, json

from cloud_server.retrieval.imports import tables
from cloud_server.retrieval.imports.tables import Columns, Table, TableTexts, TableVectors
from cloud_server.retrieval.imports.texts import JsonTexts, TextSource
from cloud_server.retrieval.imports.vectors import FAISS, PLAIN, FaissFile, PlainFiles, VectorSource, compressed
from shared.errors import UsageError

_LINES = (".jsonl", ".ndjson")
_TABLES = (tables.PARQUET, tables.ARROW_FILE, tables.ARROW_STREAM)
_SHARD = re.compile(r"(.+)-\d{5}-of-\d{5}.*")


class _State(Struct):
    """The metadata that the library `datasets` stores beside a data set's Arrow files: only the fields used here."""

    data_files: list[dict[str, str]] = field(name="_data_files")
    indices: list[object] | None = field(name="_indices_data_files", default=None)


def open_sources(vectors: Path, texts: Path | None, columns: Columns) -> tuple[VectorSource, TextSource]:
    """Return a reader of the vectors and a reader of the texts; if `texts` is None, the texts are in the tables of the
    vectors.

    Raises UsageError for files that cannot be imported.
    """
    try:
        files = _files(vectors, (".npy", ".parquet", ".arrow"))
        is_table = _head(files[0]) in _TABLES
        if texts is not None:
            named = _files(texts, (*_LINES, ".parquet"))
            return _vectors(files, columns), _texts(named, columns)
        if not is_table:
            raise UsageError(
                f"{vectors} holds no texts. Name the file that does, in the same order: --texts FILE.jsonl"
            )
        table = Table(files)
        return TableVectors(table, columns), TableTexts(table, columns)
    except OSError as error:
        raise UsageError(f"{error.filename} cannot be read ({(error.strerror or str(error)).lower()}).") from error


def _vectors(files: Sequence[Path], columns: Columns) -> VectorSource:
    head = _head(files[0])
    if head in _TABLES:
        return TableVectors(Table(files), columns)
    if all(_head(file) in PLAIN for file in files):
        return PlainFiles(files)
    if head in FAISS:
        return FaissFile(files[0])
    if head[:2] in (b"Ix", b"Iw", b"IH", b"Il", b"Ib"):
        raise compressed(files[0], head.decode("ascii", "replace"))
    raise UsageError(
        f"{files[0]} is not a file of vectors. These can be imported: npy, parquet, a folder that `datasets` saved, "
        "and FAISS indexes that hold their vectors in full."
    )


def _texts(files: Sequence[Path], columns: Columns) -> TextSource:
    if _head(files[0]) in _TABLES:
        return TableTexts(Table(files), columns)
    return JsonTexts(files)


def _files(path: Path, endings: Sequence[str]) -> list[Path]:
    """Return the file, or the folder's files with the first of the given endings that occurs, ordered by their numbers.

    Raises UsageError for a folder of several splits, or without such files.
    """
    path = path.absolute()
    if not path.exists():
        raise UsageError(f"There is no file or folder {path}. Check the name.")
    if not path.is_dir():
        return [path]
    if (path / "dataset_dict.json").is_file():
        splits = sorted(part.name for part in path.iterdir() if (part / "state.json").is_file())
        raise UsageError(
            f"{path} holds several splits ({', '.join(splits)}). Name one: {path / (splits or ['train'])[0]}"
        )
    if (path / "state.json").is_file():
        return _saved(path)
    for ending in endings:
        if files := sorted((file for file in path.rglob(f"*{ending}") if _is_plain(path, file)), key=_by_number):
            splits = sorted({match[1] for file in files if (match := _SHARD.fullmatch(file.stem))})
            if len(splits) > 1:
                raise UsageError(f"{path} holds several splits ({', '.join(splits)}). Name a folder with one of them.")
            return files
    raise UsageError(f"{path} holds no {' or '.join(endings)} file. Name the files, or their folder.")


def _saved(folder: Path) -> list[Path]:
    """Return the Arrow files of a data set that `save_to_disk` wrote. Raises UsageError."""
    try:
        state = json.decode((folder / "state.json").read_bytes(), type=_State)
        names = [entry["filename"] for entry in state.data_files]
    except (MsgspecError, KeyError) as error:
        raise UsageError(f"{folder / 'state.json'} cannot be read ({error}). Save the data set again.") from error
    if state.indices:
        raise UsageError(f"{folder} holds a selection of rows. Save it again after dataset.flatten_indices().")
    files = [folder / Path(name).name for name in names]
    if not files or not all(file.is_file() for file in files):
        raise UsageError(f"{folder} lacks files that its state.json names. Save the data set again.")
    return files


def _is_plain(folder: Path, file: Path) -> bool:
    return file.is_file() and not any(part.startswith(".") for part in file.relative_to(folder).parts)


def _by_number(file: Path) -> list[tuple[int, str]]:
    """Return a sort key that puts `part-9` before `part-10`."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", str(file))]


def _head(file: Path) -> bytes:
    with file.open("rb") as stream:
        return stream.read(4)
