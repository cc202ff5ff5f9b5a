"""Writes an adapter as GGUF for llama.cpp, with the base model's tensor names and the adapter's origin.

The format is Q8_0, with the rank padded to that format's block size. With float tensors, llama.cpp would multiply a
single token differently from several, so that a sequence in a batch would no longer give the same logits, to the bit,
as alone.
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
    """Write the adapter (tensors by peft's names), for the model in `base`, as a GGUF file. The file says that the
    adapter was also trained to ask questions and to abstain. Its output is scaled by `scale`, LoRA's alpha over its
    rank. Each entry of `said` becomes `general.KEY` of the file. Writes atomically.

    Raises OSError; ValueError for a tensor that is not part of an adapter.
    """
    arrays = {_name(name): _filled(name, weight.cpu().float().numpy()) for name, weight in adapter.items()}
    model = GGUFReader(base)
    fresh = path.with_suffix(".part")
    writer = GGUFWriter(fresh, _text(model, "general.architecture"))
    writer.add_string("general.type", "adapter")
    writer.add_string("adapter.type", "lora")
    rank = max(array.shape[0] for name, array in arrays.items() if name.endswith("lora_a"))
    writer.add_float32("adapter.lora.alpha", scale * rank)  # llama.cpp divides by the padded rank
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
    """Return LoRA's matrix A, shape (rank, inputs), or B, shape (outputs, rank), padded with zeros to a rank of whole
    blocks.
    """
    axis = 0 if ".lora_A." in name else 1
    missing = -weight.shape[axis] % _BLOCK
    return np.pad(weight, [(0, missing if axis == side else 0) for side in (0, 1)])


def _name(learnt: str) -> str:
    match = _LEARNT.fullmatch(learnt)
    if not match:
        raise ValueError(f"{learnt} is not part of an adapter.")
    return f"{match[1]}.weight.lora_{match[2].lower()}"


def _text(model: GGUFReader, key: str) -> str:
    field = model.get_field(key)
    return str(field.contents()) if field else ""
