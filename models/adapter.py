"""Reads a LoRA adapter from a GGUF file and checks that it fits its model. Does not use llama.cpp.

The checks come before llama.cpp loads the file, because llama.cpp ends the process on a key of an unexpected type,
takes a missing alpha for "no scale", and silently ignores tensors that its graph does not use.
"""

import hashlib
import math
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from models.abstention import AbstentionThreshold
from models.gguf_header import FLOAT32, STRING, Header, Malformed, Value, read_header, read_values
from shared.errors import AdapterRejected

BASE_NAME = "jackdaw.base_model.name"
"""The adapter's metadata key for the `general.name` of the model on which it was trained. Other publishers' adapters
lack the key.
"""

ASKS = "jackdaw.asks"
"""The metadata key whose value "true" says that the adapter was also trained to write questions
(`shared.prompt.to_ask`).
"""

INTERCEPT, SLOPE = "jackdaw.abstention.intercept", "jackdaw.abstention.slope"
"""The metadata keys, float32, of the adapter's AbstentionThreshold; present if it was trained to abstain."""

_ALPHA, _TOKENS = "adapter.lora.alpha", "tokenizer.ggml.tokens"
_INVOCATION = "adapter.alora.invocation_tokens"  # it is active from these tokens on: slices would differ
_TENSOR = re.compile(r"blk\.(0|[1-9]\d{0,3})\.(\w{1,20})\.weight\.lora_([ab])", re.ASCII)


@dataclass(frozen=True, slots=True)
class Adapter:
    """An adapter that fits its model. `hash` identifies the file's content: 32 hex digits. `size` is in bytes.

    `rank` is the rank of its largest pair of matrices, including any zero padding of the file's format. `description`
    is the file's own text about the training, or "". `asks`: the adapter was also trained to write questions.
    `abstention` is the threshold for abstaining, if the file contains one.
    """

    path: Path
    hash: str
    name: str
    size: int
    rank: int
    alpha: float
    description: str
    licence: str
    asks: bool = False
    abstention: AbstentionThreshold | None = None


@dataclass(frozen=True, slots=True)
class _Base:
    """The facts of a model that an adapter has to fit.

    `vocabulary` is a count of tokens, None if the file does not say; `shapes` holds the numbers of inputs and outputs
    of each part of a layer.
    """

    name: str
    architecture: str
    layers: int
    vocabulary: int | None
    shapes: Mapping[str, tuple[int, int]]


def fitting(path: Path, model: Path) -> Adapter:
    """Return the adapter in a file, after checking that it fits the model in a GGUF file. Takes 1 ms plus hashing the
    adapter.

    Raises AdapterRejected with the reason and a remedy.
    """
    try:
        return _read(path, model)
    except FileNotFoundError:
        reason = "there is no such file"
    except OSError as error:
        reason = f"the file cannot be read ({error.strerror})"
    except (Malformed, ValueError) as error:  # ValueError: a path that no file can have
        reason = str(error)
    raise rejected(path, reason)


def rejected(path: Path, reason: str) -> AdapterRejected:
    """Return the error that says why the adapter is not used."""
    return AdapterRejected(
        f"The adapter {path} is not used, the bare model answers: {reason}. "
        "Set model.adapter to another file, or to off."
    )


def _read(path: Path, model: Path) -> Adapter:
    if path.exists() and not path.is_file():
        raise Malformed("it is not a file")
    with path.open("rb") as file:
        _require_adapter(file)
        file.seek(0)
        header = read_header(file)
        alpha = _alpha(header.values)
        with model.open("rb") as weights:
            base = _base(weights)
        _compare(header.values, base)
        rank = _rank(header, base)
        size = file.tell()
        file.seek(0)
        digest = hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
    values = header.values
    return Adapter(
        path,
        digest,
        _text(values, "general.name") or path.stem,
        size,
        rank,
        alpha,
        _text(values, "general.description"),
        _text(values, "general.license"),
        _text(values, ASKS) == "true",
        _abstention(values),
    )


def _require_adapter(file: BinaryIO) -> None:
    """Raise Malformed unless the file is an adapter. Reads no tensors, because a model's tensors may have types that
    this reader does not support.
    """
    for key, value in read_values(file):
        if key == "general.type":
            kind = _text({key: value}, key)
            if kind != "adapter":
                raise Malformed(f"it is a {kind}, not an adapter")
            return
    raise Malformed("its header does not say that it is an adapter")


def _alpha(values: Mapping[str, Value]) -> float:
    if (kind := _text(values, "adapter.type")) != "lora":
        raise Malformed(f"it is an adapter of type {kind or 'unknown'}, not lora")
    if _INVOCATION in values:
        raise Malformed("it is an activated LoRA, which is not supported")
    if _ALPHA not in values:
        raise Malformed(f"it lacks the value {_ALPHA}")
    if not (alpha := _finite(values, _ALPHA)):
        raise Malformed(f"its {_ALPHA} is 0 or not a number")
    return alpha


def _abstention(values: Mapping[str, Value]) -> AbstentionThreshold | None:
    if INTERCEPT not in values and SLOPE not in values:
        return None
    intercept, slope = _finite(values, INTERCEPT), _finite(values, SLOPE)
    if intercept is None or slope is None or slope < 0:
        raise Malformed("its abstention threshold is not two valid numbers")
    return AbstentionThreshold(intercept, slope)


def _compare(values: Mapping[str, Value], base: _Base) -> None:
    architecture = _text(values, "general.architecture")
    if architecture != base.architecture:
        raise Malformed(
            f"the adapter is made for the architecture {architecture or 'unknown'}, not {base.architecture}"
        )
    trained_on = _text(values, BASE_NAME)
    if trained_on not in ("", base.name):
        raise Malformed(f"the adapter was trained on {trained_on}, not on {base.name or 'this model'}")
    vocabulary = _number(values, f"{architecture}.vocab_size")
    if vocabulary is None or vocabulary == base.vocabulary:
        return
    if base.vocabulary is None:
        raise Malformed("the model does not say how many tokens its vocabulary has")
    raise Malformed(f"the adapter is made for a vocabulary of {vocabulary:,} tokens, not {base.vocabulary:,}")


def _rank(header: Header, base: _Base) -> int:
    """Check that all LoRA pairs fit the model; return the largest rank of a pair."""
    pairs: dict[tuple[int, str], dict[str, tuple[int, ...]]] = defaultdict(dict)
    for tensor in header.tensors:
        named = _TENSOR.fullmatch(tensor.name)
        if not named or int(named[1]) >= base.layers or named[2] not in base.shapes:
            raise Malformed(f"the model has no tensor for the adapter's {tensor.name[:60]!r}")
        pairs[int(named[1]), named[2]][named[3]] = tensor.shape
    if not pairs:
        raise Malformed("it holds no LoRA tensors")
    return max(_fit(f"blk.{layer}.{part}", pair, base.shapes[part]) for (layer, part), pair in pairs.items())


def _fit(name: str, pair: Mapping[str, tuple[int, ...]], shape: tuple[int, int]) -> int:
    """Return the rank of a LoRA pair if the pair fits the shape (inputs, outputs): matrix a maps inputs to the rank,
    matrix b the rank to outputs.
    """
    if set(pair) != {"a", "b"}:
        raise Malformed(f"{name} has only one of lora_a and lora_b")
    first, second = pair["a"], pair["b"]
    if len(first) != 2 or len(second) != 2 or (first[0], second[1]) != shape:
        sizes = f"{first[0]:,} x {second[-1]:,}, the model's is {shape[0]:,} x {shape[1]:,}"
        raise Malformed(f"the adapter is made for another model: {name} is {sizes}")
    if first[1] != second[0]:
        raise Malformed(f"in {name}, lora_a has rank {first[1]:,} and lora_b rank {second[0]:,}")
    if first[1] > max(shape):
        raise Malformed(f"{name} has rank {first[1]:,}, more than the model's width")
    return first[1]


def _base(file: BinaryIO) -> _Base:
    """Read the model's facts from the header, up to its vocabulary; converters write these facts before the
    vocabulary.
    """
    said: dict[str, Value] = {}
    try:
        for key, value in read_values(file):
            said[key] = value
            if key == _TOKENS and f"{_text(said, 'general.architecture')}.embedding_length" in said:
                break
    except Malformed as error:
        raise Malformed(f"the model cannot be read ({error})") from None
    family = _text(said, "general.architecture")

    def width(key: str, otherwise: int | None = None) -> int:
        value = said.get(f"{family}.{key}")
        size = value.held if value and value.type != STRING else otherwise
        if not isinstance(size, int) or size < 1:
            raise Malformed(f"the model's header lacks its {key.replace('.', ' ').replace('_', ' ')}")
        return size

    embedding, heads = width("embedding_length"), width("attention.head_count")
    shared = width("attention.head_count_kv", heads)
    keys, values = (width(f"attention.{part}_length", embedding // heads) for part in ("key", "value"))
    inner = width("feed_forward_length")
    shapes = {
        "attn_q": (embedding, heads * keys),
        "attn_k": (embedding, shared * keys),
        "attn_v": (embedding, shared * values),
        "attn_output": (heads * values, embedding),
        "ffn_gate": (embedding, inner),
        "ffn_up": (embedding, inner),
        "ffn_down": (inner, embedding),
    }
    name = _text(said, "general.name")
    vocabulary = _number(said, f"{family}.vocab_size") or _number(said, _TOKENS)
    return _Base(name, family, width("block_count"), vocabulary, shapes)


def _number(values: Mapping[str, Value], key: str) -> int | None:
    """Return the whole number under a key or, for an array, its length; None if the key is missing."""
    value = values.get(key)
    return value.held if value and isinstance(value.held, int) else None


def _finite(values: Mapping[str, Value], key: str) -> float | None:
    """Return the float32 under a key; None if the key is missing or the number is not finite."""
    value = values.get(key)
    if value is None or value.type != FLOAT32 or not isinstance(value.held, float):
        return None
    return value.held if math.isfinite(value.held) else None


def _text(values: Mapping[str, Value], key: str) -> str:
    """Return the text under a key, or "". Raises Malformed for other types, which llama.cpp does not check."""
    value = values.get(key)
    if value is None:
        return ""
    if value.type != STRING or not isinstance(value.held, str):
        raise Malformed(f"its {key} is not a text")
    return value.held
