"""Forecasts the memory and disk space that a model takes, before it is downloaded and before it is used."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from models.catalog import Entry, Shape, Weights, find
from models.kv import bytes_per_token
from shared.memory import available

if TYPE_CHECKING:
    from models.engine import KVType

SPARE = 2
"""Memory is short if less than this multiple of the model file's size is free.

The model is then loaded only once the user types.
"""

_FIRST_PART = re.compile(r"-00001-of-(\d{5})\.gguf$")
"""The end of the file name of a split model's first part; llama.cpp opens all parts together."""


@dataclass(frozen=True, slots=True)
class Room:
    """The settings that decide how much memory an engine takes in addition to its weights.

    `context` is the number of tokens, at most those for which the model was trained unless sequences share them
    (`shared`). `kv` is the number format of attention states. `kept` is the bytes of states cached outside the context.
    """

    context: int
    kv: KVType
    shared: bool = False
    kept: int = 0

    def tokens(self, trained: int) -> int:
        """Return the number of tokens of context that a model gets if it was trained for `trained` tokens."""
        return self.context if self.shared else min(self.context, trained)


@dataclass(frozen=True, slots=True)
class Inside:
    """The facts in a model file. `file` is its size in bytes, `parameters` and `vocabulary` are counts of weights and
    of tokens; `vocabulary_fingerprint` is a hash of all tokens; `chat_template`: the file has one. `kv_values` and
    `context` are as in a Shape.
    """

    file: int
    parameters: int
    context: int
    vocabulary: int
    vocabulary_fingerprint: str
    chat_template: bool
    kv_values: int


@dataclass(frozen=True, slots=True)
class Forecast:
    """A forecast of memory and disk space, in bytes. `weights`, `attention` (the states of `tokens` tokens of context)
    and `kept` (the states cached outside the context) are memory; `weights` is None if the file's contents are unknown.
    `fetch` is disk space, 0 for a model that is on this machine. `free_memory` and `free_disk` are available now.
    """

    weights: int | None
    attention: int
    tokens: int
    fetch: int
    free_memory: int
    free_disk: int
    kept: int = 0

    @property
    def memory(self) -> int | None:
        """The approximate memory that the model takes while it runs; None if unknown."""
        return None if self.weights is None else self.weights + self.attention + self.kept

    def times(self, count: int) -> Forecast:
        """Return the forecast for `count` processes that load this model on one machine."""
        weights = None if self.weights is None else self.weights * count
        return replace(self, weights=weights, attention=self.attention * count, kept=self.kept * count)

    @property
    def needs(self) -> str:
        """A clause for the user that names the memory the model needs, its parts, and the free memory."""
        if self.weights is None or self.memory is None:
            return f"needs memory that is known only after its download; {megabytes(self.free_memory)} are free"
        parts = [f"{megabytes(self.weights)} of weights"]
        if self.attention:
            parts.append(f"{megabytes(self.attention)} for {self.tokens:,} tokens of context")
        if self.kept:
            parts.append(f"{megabytes(self.kept)} for kept states")
        free = megabytes(self.free_memory)
        return f"needs about {megabytes(self.memory)} of memory ({', '.join(parts)}), and {free} are free"

    @property
    def fits_memory(self) -> bool:
        """Whether the free memory is enough; true if the needed memory is unknown."""
        return (self.memory or 0) <= self.free_memory

    @property
    def fits_disk(self) -> bool:
        """Whether the disk has room to download the model."""
        return self.fetch <= self.free_disk


def forecast(weights: Weights, entry: Entry, room: Room) -> Forecast:
    """Forecast the memory and disk space of a catalog entry. Opens the file if it is the user's own.

    Raises WeightsDamaged or EngineError if that file is not a model.
    """
    missing = weights.state(entry) == "missing"
    shape = entry.shape
    if entry.kind == "engine" and shape is None and not missing:
        inside = looked_into(weights, entry)
        shape = Shape(inside.file, inside.kv_values, inside.context)
    known = entry.size if entry.kind == "embedder" else None
    tokens = room.tokens(shape.context) if shape else 0
    home = next(folder for folder in (weights.folder, *weights.folder.parents) if folder.exists())
    return Forecast(
        weights=shape.file if shape else known,
        attention=bytes_per_token(shape.kv_values, room.kv) * tokens if shape else 0,
        tokens=tokens,
        fetch=entry.space if missing else 0,
        free_memory=available(),
        free_disk=shutil.disk_usage(home).free,
        kept=room.kept if shape else 0,
    )


def memory_of(entry: Entry, room: Room) -> int:
    """Return the approximate bytes of memory that a model of the catalog takes while it runs with the settings in
    `room`; the model's shape has to be known.
    """
    assert entry.shape
    return entry.shape.file + bytes_per_token(entry.shape.kv_values, room.kv) * room.tokens(entry.shape.context)


def megabytes(size: int) -> str:
    """Return a size in bytes as text in megabytes."""
    return f"{size / 1e6:,.0f} MB"


def is_memory_short(weights: Weights, entry: Entry) -> bool:
    """Return whether loading the engine from its file would leave less memory free than it takes."""
    size = entry.shape.file if entry.shape else model_size(weights.path(entry))
    return available() < SPARE * size


def model_size(path: Path) -> int:
    """Return the size of a model file in bytes, including its other parts if it is the first part of a split model."""
    split = _FIRST_PART.search(path.name)
    if split is None:
        return path.stat().st_size
    parts = (
        path.with_name(f"{path.name[: split.start()]}-{number:05}-of-{split[1]}.gguf")
        for number in range(1, 1 + int(split[1]))
    )
    return sum(part.stat().st_size for part in parts if part.is_file())  # opening the model finds what is missing


def opened(weights: Weights, name: str) -> tuple[str, Entry]:
    """Return the key of the setting that chooses the named model, and the model's catalog entry, after opening the
    model as a check. An embedder is not opened.

    Raises UsageError, WeightsMissing, WeightsDamaged or EngineError.
    """
    entry = find(name)
    if entry.kind == "embedder":
        return "embedder.name", entry
    looked_into(weights, entry)
    return "model.name", entry


def looked_into(weights: Weights, entry: Entry) -> Inside:
    """Return the facts in a model file. Raises WeightsDamaged or EngineError if the model cannot write answers."""
    from models.llama_model import LlamaModel
    from models.soundness import require_sound

    path = weights.path(entry)
    require_sound(path)
    model = LlamaModel(path)
    try:
        return Inside(
            file=model_size(path),
            parameters=model.parameters(),
            context=model.trained_context(),
            vocabulary=model.vocabulary,
            vocabulary_fingerprint=model.vocabulary_hash(),
            chat_template=model.chat_template() is not None,
            kv_values=model.kv_values_per_token(),
        )
    finally:
        model.close()
