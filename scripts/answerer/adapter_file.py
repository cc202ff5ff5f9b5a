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
    """The adapter, by peft's names, in float16, for the model in `base`. `said` becomes `general.KEY` of the file,
    which appears whole or not at all.

    Raises OSError; ValueError for what is no part of an adapter.
    """
    arrays = {_name(name): weight.cpu().numpy().astype(np.float16) for name, weight in adapter.items()}
    model = GGUFReader(base)
    fresh = path.with_suffix(".part")
    writer = GGUFWriter(fresh, _text(model, "general.architecture"))
    writer.add_string("general.type", "adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", float(alpha))
    writer.add_string(BASE_NAME, _text(model, "general.name"))
    for key, value in said.items():
        writer.add_string(f"general.{key}", value)
    for name, array in arrays.items():
        writer.add_tensor(name, array)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return fresh.replace(path)


def _name(learnt: str) -> str:
    found = _LEARNT.fullmatch(learnt)
    if not found:
        raise ValueError(f"{learnt} is no part of an adapter.")
    return f"{found[1]}.weight.lora_{found[2].lower()}"


def _text(model: GGUFReader, key: str) -> str:
    field = model.get_field(key)
    return str(field.contents()) if field else ""
