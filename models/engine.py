"""The interface of model runtimes. Implementations: `llama_cpp`, and the deterministic `fake` for tests.

A *sequence* is one row of the batch: its own tokens, its own attention state, identified by a small integer in
`range(EngineInfo.sequences)`. Positions count from 0. Engines work on tokens and logits; apart from the tokenizer, they
are independent of prompts and text.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from models.abstention import AbstentionThreshold
from models.verdict import EXACT, Verdict

Logits = npt.NDArray[np.float32]
"""Raw next-token logits before any sampling rule, shape (vocabulary,)."""

KVType = Literal["f16", "q8_0"]


@dataclass(frozen=True, slots=True)
class EngineInfo:
    """The facts about an engine. `context` is the number of tokens that all sequences share.

    `longest` is the most tokens of one sequence, if fewer than `context`: the model's training length.

    `kv_key` identifies model, adapter, KV type, attention setting, slice format and the build of llama.cpp: an
    engine joins only slices with its own key.

    `sliceable` says whether parts of a sequence's state can be kept: not with sliding windows, nor where that is not
    exact. `movable` says whether they can be moved to other positions as well. `verdict` is the result of the
    self-tests in `models.exactness`: the engine does not use the features that failed.

    `repacks` says whether weights may be laid out again for this processor's kernels.

    `verifies` is the most tokens that one `verify` takes.

    `bos` is the text of the beginning-of-text token, which some chat templates insert; "" if there is none.

    `adapter` is the hash of the adapter in use, or ""; `refused` says why a named adapter is not used; `asks` whether
    it was trained to write questions; `abstention` is its threshold for abstaining from an answer; None if it contains
    none.
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
    verifies: int = 1
    bos: str = ""
    sliceable: bool = True
    movable: bool = True
    verdict: Verdict = EXACT
    repacks: bool = True
    adapter: str = ""
    refused: str = ""
    asks: bool = False
    abstention: AbstentionThreshold | None = None
    longest: int | None = None

    @property
    def prompt_room(self) -> int:
        """The most tokens that one sequence may hold."""
        return min(self.context, self.longest or self.context)


@dataclass(frozen=True, slots=True)
class KVSlice:
    """Attention state (K and V of every layer) for positions [start, start + len(tokens)) of one sequence.

    Valid only after the same tokens as when it was cut (`prefix` is their hash), and in an engine with the same
    `kv_key`. `checksum`, the CRC-32 of `data`, detects damage. It is no protection against forgery, which would need a
    secret; a slower hash would cost a large share of the time saved. `planes` names the parts of `data`, in order, with
    their sizes in bytes: `k` and `v`, `q` if the engine keeps it, and a description of the cells.
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
        """The position after the last token whose attention state the slice holds."""
        return self.start + len(self.tokens)


class Engine(Protocol):
    """The interface of a loaded model. Not thread-safe: one caller at a time. Invalid calls raise EngineError, never
    abort.

    `computed` counts the tokens computed in all sequences since the model was loaded.
    """

    computed: int

    @property
    def info(self) -> EngineInfo:
        """The facts about this engine."""

    def vocabulary_hash(self) -> str:
        """Return a hash of all token texts in order: engines with equal hashes may exchange token ids."""

    def tokenize(self, text: str, *, special: bool = False) -> list[int]:
        """Return the token ids of one segment by itself, without BOS; drop bytes that the vocabulary lacks.

        With `special=True`, control tokens such as <|im_end|> are parsed; use it for our own templates only. Other text
        needs `special=False`, which treats such strings as ordinary characters.
        """

    def detokenize(self, tokens: Sequence[int]) -> bytes:
        """Return the bytes of the given tokens; control tokens give none. The end may split a UTF-8 character."""

    def is_end(self, token: int) -> bool:
        """Return whether the token ends a generation."""

    def length(self, sequence: int) -> int:
        """Return the number of tokens in the sequence."""

    def tokens(self, sequence: int) -> tuple[int, ...]:
        """Return the token ids in the sequence, in order."""

    def prefill(self, sequence: int, tokens: Sequence[int]) -> Logits:
        """Append the tokens to the sequence; return the logits after the last one.

        States and logits do not depend on how a text is divided into calls. Raises ContextFull if the tokens do not
        fit; a single token may need room for two. After that, or any other exception, KeyboardInterrupt included, the
        sequence is as before.
        """

    def decode(self, tokens: Mapping[int, int]) -> dict[int, Logits]:
        """Append one token to each named sequence, all in one batch; return the logits of each sequence.

        This is for tokens that are drawn: the states of a prefilled token may be rounded in another way. Raises
        ContextFull if the tokens do not fit; no sequence has changed then.
        """

    def verify(self, tokens: Mapping[int, Sequence[int]]) -> dict[int, list[Logits]]:
        """Append one or several tokens to each named sequence, all in one batch; return the logits after each token.

        At most `EngineInfo.verifies` tokens in all. Raises ContextFull if the tokens do not fit; no sequence has
        changed then. The caller rolls back drafted tokens that the logits do not confirm.
        """

    def rollback(self, sequence: int, count: int) -> None:
        """Cut the last `count` tokens off the sequence; the remaining tokens are not computed again."""

    def fork(self, source: int, target: int) -> None:
        """Make `target` (emptied first) a copy of `source`."""

    def clear(self, sequence: int) -> None:
        """Empty the sequence."""

    def exact(self, sequence: int) -> int:
        """Return the number of leading tokens with exact attention state: those before the first token whose state was
        moved (`join_moved`).
        """

    def slice(self, sequence: int, start: int, stop: int) -> KVSlice:
        """Copy the attention state of positions [start, stop) of a sequence. Raises EngineError if part of it is not
        exact.
        """

    def join(self, sequence: int, slices: Sequence[KVSlice]) -> None:
        """Append cached slices of attention state, in order, to the sequence; each must start where the one before it
        ends.

        Raises SliceRejected, with the sequence as before, for a slice of another engine, prefix or position or with a
        wrong checksum.
        """

    def join_moved(self, sequence: int, kv_slice: KVSlice, skip: int = 0) -> None:
        """Append a slice, without its first `skip` tokens, at a position other than the one at which it was cut.

        Keys are rotated to their new positions, but the state lacks attention to the tokens that now come before it
        (EPIC's position-independent caching; CacheBlend). Raises SliceRejected, with the sequence as before, for a
        slice of another engine or with a wrong checksum.
        """

    def close(self) -> None:
        """Free the model. Any later call raises EngineError."""


class Ends:
    """The set of tokens that end a generation; membership is tested through the engine. Any thread may use it."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def __contains__(self, token: object) -> bool:
        return isinstance(token, int) and self._engine.is_end(token)


class Embedder(Protocol):
    """A model that turns texts into unit vectors."""

    @property
    def fingerprint(self) -> str:
        """An identifier of model, pooling and length limit: vectors can be compared only between equal fingerprints."""

    @property
    def dimensions(self) -> int:
        """The length of a vector."""

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return unit vectors, shape (len(texts), dimensions), in the order of the texts, within bounded memory."""
