"""Checks a model's header before llama.cpp reads the file, because llama.cpp ends the process on some contradictions in
it.
"""

import math
import re
from collections.abc import Iterator
from pathlib import Path

from models.gguf_header import Header, Malformed, read_outline
from models.llama_model import check_file
from shared.errors import WeightsDamaged

_MOST = {"block_count": 512, "expert_count": 512, "context_length": 2**31 - 1}
"""llama.cpp's limits for numbers in the header: beyond the first two it ends the process, and the third would become
negative.
"""

_LAYER = re.compile(r"blk\.(\d+)\.")


def require_sound(path: Path) -> None:
    """Raise WeightsDamaged, naming the file, if its header is malformed or contradicts itself or its tensors.

    Also raises WeightsMissing and WeightsError. Takes some 50 ms, most of it for the vocabulary.
    """
    check_file(path)
    try:
        with path.open("rb") as file:
            reason = next(contradictions(read_outline(file)), "")
    except Malformed as error:
        reason = str(error)
    if reason:
        raise WeightsDamaged(f"{path} is damaged, or no model: {reason}. Get the file again, or choose another model.")


def contradictions(header: Header) -> Iterator[str]:
    """Yield a clause for each contradiction in a model's header, such as "it names no architecture"."""
    named = header.values.get("general.architecture")
    if named is None or not isinstance(named.held, str):
        yield "it names no architecture"
        return
    prefix = f"{named.held}."
    own = {key.removeprefix(prefix): value.held for key, value in header.values.items() if key.startswith(prefix)}
    for name, most in _MOST.items():
        count = own.get(name, 0)
        least = 1 if name == "block_count" else 0
        if not (isinstance(count, int) and least <= count <= most):
            yield f"{prefix}{name} is {_spelled(count)}"
    for name, epsilon in own.items():
        if name.endswith("_epsilon") and not (isinstance(epsilon, float) and math.isfinite(epsilon) and epsilon >= 0):
            yield f"{prefix}{name} is {_spelled(epsilon)}"
    used, experts = own.get("expert_used_count", 0), own.get("expert_count", 0)
    if isinstance(used, int) and isinstance(experts, int) and used > experts:
        yield f"{prefix}expert_used_count is {used:,}, and {prefix}expert_count is {experts:,}"
    yield from _against_tensors(header, prefix, own)


def _against_tensors(header: Header, prefix: str, own: dict[str, str | float]) -> Iterator[str]:
    named = filter(None, (_LAYER.match(tensor.name) for tensor in header.tensors))
    layers = 1 + max((int(layer[1]) for layer in named), default=-1)
    blocks = own.get("block_count")
    if isinstance(blocks, int) and layers > blocks:
        yield f"it has {layers:,} layers of tensors, and {prefix}block_count is {blocks:,}"
    for tensor in header.tensors:
        if tensor.name == "token_embd.weight" and len(tensor.shape) == 2:
            for name, extent in zip(("embedding_length", "vocab_size"), tensor.shape, strict=True):
                claimed = own.get(name, extent)
                if claimed != extent:
                    yield f"{prefix}{name} is {_spelled(claimed)}, and its tensors have {extent:,}"


def _spelled(value: str | float) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)
