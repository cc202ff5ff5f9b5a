"""An adapter as llama.cpp reads it: GGUF, with the base model's names for what is adapted, and what it was made of."""

import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from gguf import GGUFReader, GGUFWriter

from models.adapter import BASE_NAME

_LEARNT = re.compile(r"(blk\.\d+\.\w+)\.lora_([AB])\.default\.weight")


def write(path: Path, adapter: Mapping[str, torch.Tensor], alpha: int, base: Path, said: Mapping[str, str]) -> Path:
    """The adapter in float16. `said` becomes `general.KEY` of the file, which appears whole or not at all.

    Raises OSError; ValueError for what is no part of an adapter.
    """
    fresh = path.with_suffix(".part")
    reader = GGUFReader(base)
    writer = GGUFWriter(fresh, str(_said(reader, "general.architecture")))
    writer.add_string("general.type", "adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", float(alpha))
    writer.add_string(BASE_NAME, str(_said(reader, "general.name")))
    for key, value in said.items():
        writer.add_string(f"general.{key}", value)
    for name, weight in adapter.items():
        found = _LEARNT.fullmatch(name)
        if not found:
            raise ValueError(f"{name} is no part of an adapter.")
        writer.add_tensor(f"{found[1]}.weight.lora_{found[2].lower()}", weight.numpy().astype(np.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return fresh.replace(path)


def _said(reader: GGUFReader, key: str) -> object:
    field = reader.get_field(key)
    return field.contents() if field else ""
