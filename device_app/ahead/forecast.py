"""What a model will take of memory and of the disk, before it is fetched and before it is used."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from models.catalog import Entry, Shape, Weights
from models.kv import bytes_per_token

if TYPE_CHECKING:
    from device_app.settings import Model


@dataclass(frozen=True, slots=True)
class Inside:
    """What a file says of itself. `file` is its bytes; `kv_values` and `context` as a Shape has them."""

    file: int
    parameters: int
    context: int
    vocabulary: int
    vocabulary_fingerprint: str
    chat_template: bool
    kv_values: int


@dataclass(frozen=True, slots=True)
class Forecast:
    """Bytes. `weights` and `attention` are of memory, None where nothing is known of the file; `fetch` of the disk, 0
    for what is here; `free_memory` and `free_disk` are what there is.
    """

    weights: int | None
    attention: int
    tokens: int
    fetch: int
    free_memory: int
    free_disk: int

    @property
    def memory(self) -> int | None:
        """What it takes while it runs, about; None where that is not known."""
        return None if self.weights is None else self.weights + self.attention

    @property
    def fits_memory(self) -> bool:
        """Whether there is memory for it now, as far as that is known."""
        return (self.memory or 0) <= self.free_memory

    @property
    def fits_disk(self) -> bool:
        """Whether the disk has room to fetch it."""
        return self.fetch <= self.free_disk


def forecast(weights: Weights, entry: Entry, model: Model) -> Forecast:
    """What the entry takes under the settings of the model section. A file of one's own is looked into.

    Raises WeightsDamaged or EngineError for such a file that is no model.
    """
    import psutil

    missing = weights.state(entry) == "missing"
    shape = entry.shape
    if entry.kind == "engine" and shape is None and not missing:
        inside = looked_into(weights, entry)
        shape = Shape(inside.file, inside.kv_values, inside.context)
    known = entry.size if entry.kind == "embedder" else None
    tokens = min(model.context, shape.context) if shape else 0
    home = next(folder for folder in (weights.folder, *weights.folder.parents) if folder.exists())
    return Forecast(
        weights=shape.file if shape else known,
        attention=bytes_per_token(shape.kv_values, model.kv) * tokens if shape else 0,
        tokens=tokens,
        fetch=entry.space if missing else 0,
        free_memory=psutil.virtual_memory().available,
        free_disk=shutil.disk_usage(home).free,
    )


def looked_into(weights: Weights, entry: Entry) -> Inside:
    """What the file says of itself. Raises WeightsDamaged or EngineError where it is no model to answer with."""
    from models.llama_model import LlamaModel

    path = weights.path(entry)
    model = LlamaModel(path)
    try:
        return Inside(
            file=path.stat().st_size,
            parameters=model.parameters(),
            context=model.trained_context(),
            vocabulary=model.vocabulary,
            vocabulary_fingerprint=model.vocabulary_hash(),
            chat_template=model.chat_template() is not None,
            kv_values=model.kv_values_per_token(),
        )
    finally:
        model.close()
