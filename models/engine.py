"""What the rest of Jackdaw asks of a model runtime. Two implementations: `llama_cpp` and the deterministic `fake`.

A *sequence* is one row of the batch: its own tokens, its own attention state, named by a small integer in
`range(EngineInfo.sequences)`. Positions count from 0. Engines know tokens and logits; they know no prompt and no text
beyond the tokenizer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from models.abstention import AbstentionThreshold

Logits = npt.NDArray[np.float32]
"""Shape (vocabulary,), raw, before any sampling rule."""

KVType = Literal["f16", "q8_0"]

Check = Literal["slices", "rollback"]
"""What `models.exactness` tests: that it gives the logits of computing from the start, to the bit."""


@dataclass(frozen=True, slots=True)
class EngineInfo:
    """What an engine is. `context` is its room in tokens, which all sequences share; one of them alone holds at most
    `longest`, where that is less: what the model was trained for.

    `kv_key` names model, adapter, KV type, attention setting and slice format: an engine joins slices of the same key
    alone.
    `sliceable` says whether parts of a sequence's state can be kept; with sliding windows they cannot, nor where that
    is not exact. `movable` says whether they can be turned to other positions as well. `inexact` names the checks of
    `models.exactness` that failed, and that the engine does without.
    `bos` is the text of the token that begins a text, which some chat templates insert; "" where there is none.
    `adapter` is the hash of the adapter in force, "" without one; `refused` says why one that was named is not; `asks`
    whether it taught the model to write questions too, and `abstention` from where on an answer from the person's own
    files is to be none, where it taught that and says so.
    """

    model: str
    model_hash: str
    vocabulary: int
    context: int
    sequences: int
    kv_type: KVType
    kv_bytes_per_token: int
    kv_key: str
    parameters: int
    chat_template: str | None
    bos: str = ""
    sliceable: bool = True
    movable: bool = True
    inexact: frozenset[Check] = frozenset()
    adapter: str = ""
    refused: str = ""
    asks: bool = False
    abstention: AbstentionThreshold | None = None
    longest: int | None = None

    @property
    def prompt_room(self) -> int:
        """Tokens that one sequence may hold."""
        return min(self.context, self.longest or self.context)


@dataclass(frozen=True, slots=True)
class KVSlice:
    """Attention state (K and V of every layer) for positions [start, start + len(tokens)) of one sequence.

    Valid only behind the very tokens that stood before it when it was cut (`prefix` is their hash), and only in an
    engine with the same `kv_key`. `checksum` is the CRC-32 of `data`: it finds damage. Against a forger no hash without
    a secret would help, and one that is slower would cost a large share of what joining saves. `planes` name the parts
    of `data`, in order, with their bytes: `k` and `v`, `q` where an engine keeps it, and what describes the cells.
    """

    kv_key: str
    prefix: str
    start: int
    tokens: tuple[int, ...]
    data: bytes | memoryview
    checksum: int
    planes: tuple[tuple[str, int], ...]

    @property
    def stop(self) -> int:
        """The position behind the slice."""
        return self.start + len(self.tokens)


class Engine(Protocol):
    """A model that is loaded. Not thread-safe: one caller at a time. A wrong call raises EngineError, never aborts.

    `computed` counts the tokens it has computed, in all sequences, since it was loaded.
    """

    computed: int

    @property
    def info(self) -> EngineInfo:
        """What this engine is."""

    def vocabulary_hash(self) -> str:
        """Fingerprint of all token texts and their order: engines that agree in it may exchange token ids."""

    def tokenize(self, text: str, *, special: bool = False) -> list[int]:
        """Token ids of one segment by itself, no BOS added. Bytes that the vocabulary lacks are left out.

        `special=True` reads control tokens such as <|im_end|> and is for our own templates alone; text that did not
        come from us is tokenised with `special=False`, where such a string is ordinary characters.
        """

    def detokenize(self, tokens: Sequence[int]) -> bytes:
        """The bytes of these tokens; control tokens give none. May end inside a UTF-8 character."""

    def is_end(self, token: int) -> bool:
        """Whether the token ends a generation."""

    def length(self, sequence: int) -> int:
        """Tokens held by the sequence."""

    def tokens(self, sequence: int) -> tuple[int, ...]:
        """The ids held by the sequence, in order."""

    def prefill(self, sequence: int, tokens: Sequence[int]) -> Logits:
        """Append the tokens to the sequence; return the logits after the last one.

        Raises ContextFull when they do not fit. After that, or any other exception, KeyboardInterrupt included, the
        sequence is as before.
        """

    def decode(self, tokens: Mapping[int, int]) -> dict[int, Logits]:
        """Append one token to each named sequence, all in one batch; return the logits of each.

        Raises ContextFull when they do not fit; no sequence has changed then.
        """

    def rollback(self, sequence: int, count: int) -> None:
        """Cut the last `count` tokens off the sequence, without recomputing what is left."""

    def fork(self, source: int, target: int) -> None:
        """Make `target` (emptied first) a copy of `source`."""

    def clear(self, sequence: int) -> None:
        """Empty the sequence."""

    def exact(self, sequence: int) -> int:
        """Tokens from the start whose state is what prefilling them computes: those before the first that was moved."""

    def slice(self, sequence: int, start: int, stop: int) -> KVSlice:
        """Copy out the attention state of positions [start, stop), which is exact; of any other, none is given."""

    def join(self, sequence: int, slices: Sequence[KVSlice]) -> None:
        """Append slices, in order, to the sequence; each must start where the one before it ends.

        Raises SliceRejected, with the sequence as before, for a slice of another engine, prefix or position or with a
        wrong checksum.
        """

    def join_moved(self, sequence: int, kv_slice: KVSlice, skip: int = 0) -> None:
        """Append a slice less its first `skip` tokens to the sequence, wherever it was cut: keys turn to the positions
        they get here, and lack what they would have read of other tokens before them (EPIC's position-independent
        caching; CacheBlend).

        Raises SliceRejected, with the sequence as before, for a slice of another engine or with a wrong checksum.
        """

    def close(self) -> None:
        """Free the model. Any later call raises EngineError."""


class Ends:
    """The tokens that end a generation, without a list of them; any thread may ask."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def __contains__(self, token: object) -> bool:
        return isinstance(token, int) and self._engine.is_end(token)


class Embedder(Protocol):
    """Text to unit vectors."""

    @property
    def fingerprint(self) -> str:
        """Names model, pooling and length limit: vectors of two embedders may be compared only if these agree."""

    @property
    def dimensions(self) -> int:
        """Length of a vector."""

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Unit vectors, shape (len(texts), dimensions), in the order of the texts, within a memory bound."""
