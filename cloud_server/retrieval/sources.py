"""Reads public texts from JSON Lines and plain text, resuming at any position. Independent of vectors and the index.

A line of JSON is a document with `text`, or with `contents`, whose first line may be the title; `title` and `id` are
used if present. A text file is one document of paragraphs. Holds no more than a few megabytes at a time.
"""

import os
import re
import textwrap
from codecs import BOM_UTF8, utf_8_decode
from collections.abc import Iterator, Sequence, Set
from pathlib import Path
from typing import BinaryIO

from msgspec import DecodeError, Struct, ValidationError, field, json

from shared import text
from shared.errors import UsageError
from shared.printable import printable, safe_line
from shared.types import Block
from storage.public_passages import PassageText

MOST_LINE = 16 << 20
"""The most bytes of a JSON line."""

_PIECE = 1 << 18
"""Bytes of a text file that are cut into passages at a time; a piece has a few bytes more, so that it ends with a
paragraph.
"""

# The protocol's limits for a public passage.
_TITLE, _PATH = 300, 500

MOST_TEXT = 2500
"""The most characters of a passage, by the protocol's limit."""

_LINES = {".jsonl", ".ndjson"}
_EMPTY_LINES = re.compile(r"\r?\n[^\S\n]*\r?\n\s*")


class SourceFile(Struct, frozen=True):
    """A source file of an index. Devices see only `name`: its path below the file or folder named to the command."""

    path: str
    name: str
    size: int
    modified_ns: int


class Skipped(Struct, frozen=True):
    """A skipped file, or skipped lines of a file, and the reason. `lines` counts the lines, `first_line` is the number
    of the first one, from 1; both are 0 for a whole file.
    """

    path: str
    reason: str
    lines: int = 0
    first_line: int = 0


class Position(Struct, frozen=True):
    """A position in the sources: the file's number, and the bytes and lines of the file before the position."""

    file: int = 0
    offset: int = 0
    line: int = 0


class Record(Struct, frozen=True):
    """Consecutive passages of a source, or the reason why there are none, and the position in the source after them."""

    passages: tuple[PassageText, ...]
    skipped: Skipped | None
    after: Position


def find(sources: Sequence[Path], held: Sequence[SourceFile] = ()) -> tuple[list[SourceFile], list[Skipped]]:
    """Return the source files at the given paths and in the given folders, in a fixed order without repetition, and the
    files that were skipped.

    No two files get the same name, nor the name of another file in `held`; files in `held` keep their names. Hidden
    files and folders are left out, and links that lead out of a named folder or to another folder. Raises UsageError
    for a path that does not exist.
    """
    files: dict[str, SourceFile] = {}
    skipped: list[Skipped] = []
    kept = {file.path: file.name for file in held}
    taken = set(kept.values())
    for source in sources:
        if not source.exists():
            raise UsageError(f"There is no file or folder {source}. Check the name.")
        for path, name in _files(source.absolute(), skipped):
            try:
                facts = path.stat()
                str(path).encode()
            except OSError as error:
                skipped.append(Skipped(_shown(path), _reason(error)))
            except UnicodeEncodeError:
                skipped.append(Skipped(_shown(path), "its name is not UTF-8"))
            else:
                if str(path) not in files:
                    own = kept.get(str(path)) or _free(safe_line(name), taken)
                    taken.add(own)
                    files[str(path)] = SourceFile(str(path), own, facts.st_size, facts.st_mtime_ns)
    return list(files.values()), skipped


def _files(source: Path, skipped: list[Skipped]) -> Iterator[tuple[Path, str]]:
    if not source.is_dir():
        if source.is_file():
            yield source, source.name
        else:
            skipped.append(Skipped(_shown(source), "no regular file"))
        return

    def unreadable(error: OSError) -> None:
        skipped.append(Skipped(_shown(Path(error.filename)), _reason(error)))

    root = source.resolve()
    for folder, folders, names in os.walk(source, onerror=unreadable):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in (*folders, *sorted(names)):
            path = Path(folder, name)
            if path.is_symlink() and not name.startswith(".") and not (name in names and _leads_into(root, path)):
                skipped.append(Skipped(_shown(path), "a link that leads elsewhere: name its target"))
            elif name in names and not name.startswith(".") and path.is_file():
                yield path, str(path.relative_to(source.parent))


def _free(name: str, taken: Set[str]) -> str:
    """Return the name or, if it is taken, the name with the next free number, as in "notes (2).txt". Names could also
    be distinguished by their parent folders, but these stay private.
    """
    path, number = Path(name), 2
    while name in taken:
        name, number = str(path.with_name(f"{path.stem} ({number}){path.suffix}")), number + 1
    return name


def _leads_into(folder: Path, link: Path) -> bool:
    try:
        return link.resolve(strict=True).is_relative_to(folder)
    except OSError:
        return False


def records(files: Sequence[SourceFile], start: Position) -> Iterator[Record]:
    """Yield the content of the files from a position on. Raises UsageError if a file has changed since `find`."""
    for number in range(start.file, len(files)):
        place = start if number == start.file else Position(number)
        file, end = files[number], Position(number + 1)
        try:
            with Path(file.path).open("rb") as stream:
                facts = os.fstat(stream.fileno())
                if (facts.st_size, facts.st_mtime_ns) != (file.size, file.modified_ns):
                    raise UsageError(f"{file.path} has changed since the start. Run the command again.")
                as_lines = Path(file.path).suffix.lower() in _LINES or stream.read(512).lstrip()[:1] == b"{"
                stream.seek(place.offset)
                yield from (_json_lines if as_lines else _paragraphs)(stream, file, place)
        except OSError as error:
            yield Record((), Skipped(file.path, _reason(error)), end)
        except UnicodeDecodeError:
            yield Record((), Skipped(file.path, "not UTF-8 text"), end)


class _Line(Struct):
    """A document in JSON, with the field names that collections use."""

    text: str | None = None
    contents: str | None = None
    title: str | None = None
    id: str | int | None = None
    pid: str | int | None = None
    docid: str | int | None = None
    underscored: str | int | None = field(default=None, name="_id")


_decoder = json.Decoder(_Line)


def _json_lines(stream: BinaryIO, file: SourceFile, place: Position) -> Iterator[Record]:
    offset, number = place.offset, place.line
    while line := stream.readline(MOST_LINE + 1):
        offset, number = offset + len(line), number + 1
        read: tuple[PassageText, ...] | str = ()
        if len(line) > MOST_LINE:
            while line and not line.endswith(b"\n"):
                line = stream.readline(MOST_LINE)
                offset += len(line)
            read = f"longer than {MOST_LINE >> 20} MB"
        elif line.strip():
            read = _document(line, file, number)
        after = Position(place.file, offset, number)
        if isinstance(read, str):
            yield Record((), Skipped(file.path, read, 1, number), after)
        else:
            yield Record(read, None, after)


def _document(data: bytes, file: SourceFile, number: int) -> tuple[PassageText, ...] | str:
    """Return the passages of a JSON line, or the reason why there are none."""
    read = json_line(data, file.name, number)
    if isinstance(read, str):
        return read
    return _cut([Block(read.text)], read.title, read.path) or "no text"


def json_line(data: bytes, name: str, number: int) -> PassageText | str:
    """Return the document in a line of JSON, uncut, or the reason why there is none.

    `name` is the part of the file's path that devices see; `number` is the line's number, from 1.
    """
    try:
        line = _decoder.decode(data.removeprefix(BOM_UTF8))
    except ValidationError as error:
        return f"not in the expected form: {str(error).lower()}"
    except (DecodeError, UnicodeDecodeError):
        return "not valid JSON"
    title, body = line.title or "", line.text or line.contents or ""
    if not title and not line.text:
        first, _, rest = body.partition("\n")
        if rest.strip() and len(first) <= _TITLE:
            title, body = first.strip().strip('"'), rest
    names = (line.id, line.pid, line.docid, line.underscored)
    identity = next((str(given) for given in names if given is not None), str(number))
    return PassageText(title or Path(name).stem, f"{name}#{identity}", body)


def whole(document: PassageText) -> PassageText:
    """Return a document as one passage: its text cut to the protocol's limit, and made printable."""
    text = printable(document.text).strip()[:MOST_TEXT]
    return PassageText(safe_line(document.title)[:_TITLE], safe_line(document.path)[:_PATH], text)


def _paragraphs(stream: BinaryIO, file: SourceFile, place: Position) -> Iterator[Record]:
    offset, number = place.offset, place.line
    while data := _piece(stream):
        if b"\0" in data:
            yield Record((), Skipped(file.path, "binary content"), Position(place.file + 1))
            return
        # A piece without a line break may end within a character, whose first bytes are then read again with the next
        # piece.
        decoded, used = utf_8_decode(data, "strict", offset + len(data) >= file.size)
        where = f"{file.name}#{number + 1}" if offset else file.name
        offset, number = offset + used, number + data.count(b"\n", 0, used)
        stream.seek(offset)
        blocks = [Block(block) for block in _EMPTY_LINES.split(decoded) if block.strip()]
        yield Record(_cut(blocks, Path(file.name).stem, where), None, Position(place.file, offset, number))
    if not file.size:
        yield Record((), Skipped(file.path, "empty"), Position(place.file + 1))


def _piece(stream: BinaryIO) -> bytes:
    """Return the lines up to the first empty line beyond `_PIECE` bytes; text without empty lines is cut at twice that
    size.
    """
    lines: list[bytes] = []
    size = 0
    while size < 2 * _PIECE and (line := stream.readline(_PIECE)):
        lines.append(line)
        size += len(line)
        if size > _PIECE and not line.strip():
            break
    return b"".join(lines)


def _cut(blocks: Sequence[Block], title: str, path: str) -> tuple[PassageText, ...]:
    title, path = safe_line(title)[:_TITLE], safe_line(path)[:_PATH]
    return tuple(
        PassageText(title, path, part)
        for passage in text.passages(blocks)
        for part in (
            [passage.text]
            if len(passage.text) <= MOST_TEXT
            else textwrap.wrap(passage.text, MOST_TEXT, replace_whitespace=False, expand_tabs=False)
        )
    )


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


def _shown(path: Path) -> str:
    return safe_line(str(path))
