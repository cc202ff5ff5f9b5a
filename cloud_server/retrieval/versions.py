"""The versions of an index in a folder. The file `current` names the version that is searched; renaming it switches
versions.

A version never changes. A process that has a deleted version open can still read it; the disk space is freed when the
last such process closes it.
"""

import os
import secrets
import shutil
from pathlib import Path

from msgspec import MsgspecError, Struct, json

from cloud_server.retrieval.sources import SourceFile
from shared.errors import NothingFound, StoreCorrupt
from storage.durable import settle, write_durably
from storage.private import private_folder, to_be_written, write_private

_CURRENT = "current"
_VERSIONS = "versions"
_FACTS = "index.json"


class EmbedderSource(Struct, frozen=True, omit_defaults=True):
    """A sentence-transformers model by its folder or hub name, and the prefixes that it puts before texts."""

    name: str
    query_prefix: str = ""
    passage_prefix: str = ""


class IndexMetadata(Struct, frozen=True, omit_defaults=True):
    """The metadata of a version. `built_at` is ISO 8601; `series` is a number that changes when passage numbers get new
    meanings.

    `trained_on` is the number of passages in the index when its clusters were trained; `files` are the names of the
    files with the texts; `skipped` counts skipped files and lines. `embedder` is the embedder's fingerprint. `model`
    names the embedder's weights; None means the catalog's embedder. `relevance` is the least cosine to the question at
    which a passage may be a source; None leaves that to the setting `retrieval.relevance`.
    """

    passages: int
    clusters: int
    dimensions: int
    embedder: str
    built_at: str
    trained_on: int
    series: int
    files: tuple[str, ...]
    sources: tuple[SourceFile, ...]
    skipped: int
    model: EmbedderSource | None = None
    relevance: float | None = None


class Versions:
    """The versions in a folder, which is created when the first version is published."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def version(self, name: str) -> Path:
        """Return the folder of the version with this name."""
        return self.folder / _VERSIONS / Path(name).name

    def current(self) -> Path:
        """Return the folder of the current version. Raises NothingFound, StoreCorrupt."""
        try:
            name = (self.folder / _CURRENT).read_text(encoding="utf-8").strip()
        except FileNotFoundError:
            raise NothingFound(
                f"There is no index in {self.folder}. Make one: jackdaw-server index build SOURCE"
            ) from None
        except (OSError, UnicodeDecodeError) as error:
            raise StoreCorrupt(f"{self.folder / _CURRENT} cannot be read ({error}). Build the index again.") from None
        return self.version(name)

    def mark(self) -> tuple[int, int] | None:
        """Return a value that changes whenever another version becomes current; None if none is current."""
        try:
            facts = (self.folder / _CURRENT).stat()
        except OSError:
            return None
        return facts.st_ino, facts.st_mtime_ns

    def publish(self, folder: Path) -> Path:
        """Make a finished folder the current version, and delete the other versions. Raises NotWritable."""
        target = private_folder(self.folder / _VERSIONS) / secrets.token_hex(4)
        with to_be_written(f"write {target}"):
            folder.rename(target)
        settle(target.parent)
        write_private(self.folder / _CURRENT, target.name + "\n")
        settle(self.folder)
        for version in target.parent.iterdir():
            if version != target:
                shutil.rmtree(version, ignore_errors=True)
        return target


def read_facts(version: Path) -> IndexMetadata:
    """Return a version's metadata. Raises StoreCorrupt."""
    try:
        return json.decode((version / _FACTS).read_bytes(), type=IndexMetadata)
    except (OSError, MsgspecError) as error:
        raise StoreCorrupt(f"{version / _FACTS} cannot be read ({error}). Build the index again.") from error


def write_facts(version: Path, facts: IndexMetadata) -> None:
    """Write a version's metadata into its folder. Raises NotWritable."""
    write_durably(version / _FACTS, [json.format(json.encode(facts))])


def size(version: Path) -> int:
    """Return the total size of a version's files in bytes."""
    return sum(entry.stat().st_size for entry in os.scandir(version))
