"""An adapter as llama.cpp reads it: GGUF, with the base model's names for what is adapted, and what it was made of.

Written in Q8_0, its rank filled up to that format's blocks. Floats would be multiplied one way for a token alone and
another for several, and rows written side by side would no longer agree to the bit with each by itself.
"""

import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from gguf import GGMLQuantizationType, GGUFReader, GGUFWriter
from gguf.quants import quantize

from models.adapter import ASKS, BASE_NAME, INTERCEPT, SLOPE
from scripts.answerer.recipe import ABSTENTION

_LEARNT = re.compile(r"(blk\.\d+\.\w+)\.lora_([AB])\.default\.weight")
_BLOCK = 32


def write(path: Path, adapter: Mapping[str, torch.Tensor], scale: float, base: Path, said: Mapping[str, str]) -> Path:
    """The adapter, by peft's names, taught to ask and to abstain too, for the model in `base`; what it computes counts
    `scale` times, LoRA's alpha over its rank. `said` becomes `general.KEY` of the file, which appears whole or not at
    all.

    Raises OSError; ValueError for what is no part of an adapter.
    """
    arrays = {_name(name): _filled(name, weight.cpu().float().numpy()) for name, weight in adapter.items()}
    model = GGUFReader(base)
    fresh = path.with_suffix(".part")
    writer = GGUFWriter(fresh, _text(model, "general.architecture"))
    writer.add_string("general.type", "adapter")
    writer.add_string("adapter.type", "lora")
    rank = max(array.shape[0] for name, array in arrays.items() if name.endswith("lora_a"))
    writer.add_float32("adapter.lora.alpha", scale * rank)  # llama.cpp divides by the rank that it finds
    writer.add_string(BASE_NAME, _text(model, "general.name"))
    writer.add_string(ASKS, "true")
    writer.add_float32(INTERCEPT, ABSTENTION.intercept)
    writer.add_float32(SLOPE, ABSTENTION.slope)
    for key, value in said.items():
        writer.add_string(f"general.{key}", value)
    for name, array in arrays.items():
        writer.add_tensor(name, quantize(array, GGMLQuantizationType.Q8_0), raw_dtype=GGMLQuantizationType.Q8_0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return fresh.replace(path)


def _filled(name: str, weight: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """A pair's half with zeros up to a rank of whole blocks: of A, shape (rank, inputs), of B (outputs, rank)."""
    axis = 0 if ".lora_A." in name else 1
    missing = -weight.shape[axis] % _BLOCK
    return np.pad(weight, [(0, missing if axis == side else 0) for side in (0, 1)])


def _name(learnt: str) -> str:
    match = _LEARNT.fullmatch(learnt)
    if not match:
        raise ValueError(f"{learnt} is no part of an adapter.")
    return f"{match[1]}.weight.lora_{match[2].lower()}"


def _text(model: GGUFReader, key: str) -> str:
    field = model.get_field(key)
    return str(field.contents()) if field else ""
