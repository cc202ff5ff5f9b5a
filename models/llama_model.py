"""A GGUF file in llama.cpp: its weights, vocabulary and metadata. Independent of contexts and sequences.

The C functions end the process on a token id out of range, so ids are checked here. numpy is imported on first use: its
import takes as long as loading the weights and can run meanwhile.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from models.llama_bindings import bindings, has_tiles, offloads, why
from shared.errors import AdapterRejected, EngineError, WeightsDamaged, WeightsError, WeightsMissing

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from models.adapter import Adapter

_MOST_CHARACTERS = 200_000  # more than a context holds; some tokenizers recurse on long runs
_SAMPLES, _SAMPLE_BYTES = 64, 4096
_MROPE = 8  # the bit shared by LLAMA_ROPE_TYPE_MROPE and its variants


class LlamaModel:
    """Model weights in memory. `handle` is llama.cpp's pointer, None once closed.

    `gpu_layers` is the number of layers that a GPU computes, -1 for all; a build without a GPU ignores it. `repacks`
    says whether weights may be laid out again for this processor's kernels, which is faster but may round differently.

    Raises WeightsMissing, WeightsDamaged, or EngineError for an unsupported kind of model.
    """

    def __init__(self, path: Path, gpu_layers: int = 0, *, repacks: bool = True) -> None:
        check_file(path)
        self.path = path
        self.gpu_layers = gpu_layers if gpu_layers and offloads() else 0
        self.repacks = repacks
        self._api = bindings()
        parameters = self._api.llama_model_default_params()
        parameters.n_gpu_layers = gpu_layers
        parameters.use_extra_bufts = repacks and not has_tiles()
        load = partial(self._api.llama_model_load_from_file, os.fsencode(path), parameters)
        self.handle: Any = load()
        if not self.handle:
            raise WeightsDamaged(
                f"{path} cannot be loaded ({why(load)}). Pull or copy it again, or choose another model."
            )
        self._adapter: Any = None
        self._vocabulary = self._api.llama_model_get_vocab(self.handle)
        self.vocabulary: int = self._api.llama_vocab_n_tokens(self._vocabulary)
        self._pieces: dict[int, bytes] = {}
        self._refuse_unusable()

    def close(self) -> None:
        """Free the weights and those of the adapter. The object cannot be used afterwards."""
        handle, self.handle = self.handle, None
        if handle:
            self._api.llama_model_free(handle)

    def load_adapter(self, path: Path) -> Adapter:
        """Load an adapter's weights, before a context is made. If AdapterRejected is raised, the model is as before."""
        from models.adapter import fitting, rejected

        adapter = fitting(path, self.path)
        load = partial(self._api.llama_adapter_lora_init, self.handle, os.fsencode(path))
        self._adapter = load()
        if not self._adapter:
            raise rejected(path, why(load))
        return adapter

    def adapted(self, path: Path | None) -> tuple[Adapter | None, str]:
        """Load an adapter; return it, or None and why it was rejected ("" if no adapter is named)."""
        if path is None:
            return None, ""
        try:
            return self.load_adapter(path), ""
        except AdapterRejected as error:
            return None, str(error)

    def set_adapter(self, context: Any) -> None:
        """Apply the loaded adapter, if any, to all computations of the context."""
        if self._adapter:
            self._api.llama_set_adapters_lora(context, ctypes.pointer(self._adapter), 1, (ctypes.c_float * 1)(1.0))

    def tokenize(self, text: str, special: bool) -> list[int]:
        """Return the token ids of the text by itself; control tokens are parsed only if `special`."""
        if len(text) > _MOST_CHARACTERS:
            raise EngineError(
                f"A text of {len(text):,} characters is too long for the model; the limit is {_MOST_CHARACTERS:,}."
            )
        data = text.encode("utf-8", "replace")
        room = len(data) + 8
        tokens = (ctypes.c_int32 * room)()
        count = self._api.llama_tokenize(self._vocabulary, data, len(data), tokens, room, False, special)
        if count < 0:
            raise EngineError("The model's tokenizer failed on the text. Try another model.")
        return tokens[:count]

    def detokenize(self, tokens: Sequence[int]) -> bytes:
        """Return the bytes of the tokens; control tokens give none.

        Each token is converted alone: llama.cpp's own function for several tokens cleans up spaces and drops the one
        before the first word.
        """
        return b"".join([self._piece(token) for token in self.ids(tokens).tolist()])

    def is_end(self, token: int) -> bool:
        """Return whether the token ends a generation."""
        self.ids([token])
        return bool(self._api.llama_vocab_is_eog(self._vocabulary, token))

    def ids(self, tokens: Sequence[int]) -> npt.NDArray[np.int32]:
        """Return the tokens as an array, shape (n,). Raises EngineError for invalid token ids."""
        import numpy as np

        given = np.asarray(tokens) if len(tokens) else np.empty(0, np.int32)
        if given.dtype.kind not in "iu" or (given.size and not 0 <= given.min() <= given.max() < self.vocabulary):
            raise EngineError(f"Token ids are whole numbers between 0 and {self.vocabulary - 1}.")
        return given.astype(np.int32)

    def vocabulary_hash(self) -> str:
        """Return a hash of all token texts in order; 32 hex digits. Takes some 40 ms."""
        digest = hashlib.blake2b(digest_size=16)
        for token in range(self.vocabulary):
            digest.update(self._api.llama_vocab_get_text(self._vocabulary, token) + b"\0")
        return digest.hexdigest()

    def model_hash(self) -> str:
        """Return an identifier of the weights, by the function `model_hash`."""
        return model_hash(self.path)

    def trained_context(self) -> int:
        """Return the number of tokens of context for which the model was trained."""
        return int(self._api.llama_model_n_ctx_train(self.handle))

    def parameters(self) -> int:
        """Return the number of weights."""
        return int(self._api.llama_model_n_params(self.handle))

    def width(self) -> int:
        """Return the length of a token's hidden state."""
        return int(self._api.llama_model_n_embd(self.handle))

    def chat_template(self) -> str | None:
        """Return the model's chat template, an untrusted jinja program, or None."""
        template = self._api.llama_model_chat_template(self.handle, None)
        return template.decode("utf-8", "replace") if template else None

    def bos(self) -> str:
        """Return the text of the beginning-of-text token, or ""."""
        token = self._api.llama_vocab_bos(self._vocabulary)
        return (
            "" if token < 0 else str(self._api.llama_vocab_get_text(self._vocabulary, token).decode("utf-8", "replace"))
        )

    def kv_values_per_token(self) -> int:
        """Return the number of values of attention state (K and V of every layer) per token."""
        api, model = self._api, self.handle
        head = api.llama_model_n_embd(model) // api.llama_model_n_head(model)
        family = self._metadata("general.architecture")
        widths = [self._metadata(f"{family}.attention.{part}_length") for part in ("key", "value")]
        both = sum(int(width) if width else head for width in widths)
        return int(api.llama_model_n_layer(model) * api.llama_model_n_head_kv(model) * both)

    def window(self) -> int:
        """Return how many earlier tokens its sliding-window layers attend to; 0 if it has no such layers."""
        return int(self._api.llama_model_n_swa(self.handle))

    def sliceable(self) -> bool:
        """Return whether a range of its attention state can be kept: only without sliding windows, and with one
        position per token.
        """
        rope = self._api.llama_model_rope_type(self.handle)
        return self.window() == 0 and (rope < 0 or not rope & _MROPE)

    def rotates(self) -> bool:
        """Return whether keys encode their position as a rotation, so that they can be moved."""
        return bool(self._api.llama_model_rope_type(self.handle) >= 0)

    def _metadata(self, key: str) -> str | None:
        value = ctypes.create_string_buffer(128)
        length = self._api.llama_model_meta_val_str(self.handle, key.encode(), value, len(value))
        return value.value.decode("utf-8", "replace") if length >= 0 else None

    def _piece(self, token: int) -> bytes:
        if token not in self._pieces:
            room = 256
            text = ctypes.create_string_buffer(room)
            count = self._api.llama_token_to_piece(self._vocabulary, token, text, room, 0, False)
            if count < 0:  # the size that is needed
                room = -count
                text = ctypes.create_string_buffer(room)
                count = self._api.llama_token_to_piece(self._vocabulary, token, text, room, 0, False)
            self._pieces[token] = text.raw[:count]
        return self._pieces[token]

    def _refuse_unusable(self) -> None:
        api, model = self._api, self.handle
        if (
            not api.llama_model_has_decoder(model)
            or api.llama_model_has_encoder(model)
            or api.llama_model_is_recurrent(model)
            or api.llama_model_is_hybrid(model)
            or api.llama_model_is_diffusion(model)
        ):
            self.close()
            raise EngineError(
                f"{self.path.name} keeps a state that cannot be rolled back token by token, which Jackdaw needs. "
                "Choose another model."
            )


def model_hash(path: Path) -> str:
    """Return an identifier of the weights in a file; 32 hex digits.

    It is cheap enough for every start, as it hashes the size, the beginning and blocks spread over the file. The
    weights of two models differ in every block. A flipped bit is detected by the SHA-256 of the whole file, which is
    compared when the file is pulled and by `doctor`.
    """
    size = path.stat().st_size
    digest = hashlib.blake2b(str(size).encode(), digest_size=16)
    with path.open("rb") as file:
        digest.update(file.read(_SAMPLES * _SAMPLE_BYTES))
        for sample in range(_SAMPLES):
            file.seek(max(0, size - _SAMPLE_BYTES) * (sample + 1) // _SAMPLES)
            digest.update(file.read(_SAMPLE_BYTES))
    return digest.hexdigest()


def check_file(path: Path) -> None:
    """Raise WeightsMissing, WeightsDamaged or WeightsError unless the file exists and begins like a GGUF file."""
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except FileNotFoundError:
        raise WeightsMissing(f"There is no file {path}. Pull the model, or check the path.") from None
    except (OSError, ValueError) as error:
        raise WeightsError(f"{path} cannot be read ({error}). Check the file's permissions.") from None
    if magic != b"GGUF":
        raise WeightsDamaged(f"{path} is not a GGUF file. Pull or copy it again, or choose another model.")
