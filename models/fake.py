"""A deterministic engine and embedder without weights, for tests only.

The engine's tokens are bytes. Its logits are noise that depends on all previous tokens, with one token far ahead: it
answers a prompt by repeating the first passage's last line. Its attention state is the running hash of the tokens; a
moved state also contains the distance of its move.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from models import kv
from models.abstention import AbstentionThreshold
from models.engine import EngineInfo, KVSlice, Logits
from models.token_tree import ComputedTree, TokenTree
from shared.errors import EngineError, SliceRejected

END = 256
CONTROL = {"<|im_start|>": 257, "<|im_end|>": END}
VOCABULARY = 258
_STATE_BYTES = 16


class FakeEngine:
    """A deterministic engine without weights, see `models.engine.Engine`."""

    def __init__(
        self,
        *,
        context: int = 8192,
        sequences: int = 4,
        asks: bool = False,
        abstention: AbstentionThreshold | None = None,
        shouts: bool = False,
    ) -> None:
        """`shouts`: it writes its answers in capitals."""
        self._shouts = shouts
        self._info = EngineInfo(
            model="fake",
            model_hash="fake",
            vocabulary=VOCABULARY,
            context=context,
            sequences=sequences,
            kv_type="f16",
            kv_bytes_per_token=_STATE_BYTES,
            kv_key="fake",
            parameters=0,
            chat_template=None,
            verifies=16,
            asks=asks,
            abstention=abstention,
        )
        self._cells = kv.Cells(context, sequences)
        self._states: list[list[bytes]] = [[] for _ in range(sequences)]
        self._closed = False
        self.computed = 0

    @property
    def info(self) -> EngineInfo:
        return self._info

    def vocabulary_hash(self) -> str:
        self._open()
        return "fake"

    def tokenize(self, text: str, *, special: bool = False) -> list[int]:
        self._open()
        if not special:
            return list(text.encode("utf-8", "replace"))
        parts = re.split("(" + "|".join(map(re.escape, CONTROL)) + ")", text)
        return [token for part in parts for token in ([CONTROL[part]] if part in CONTROL else part.encode())]

    def detokenize(self, tokens: Sequence[int]) -> bytes:
        return bytes(token for token in self._checked(tokens) if token < END)

    def is_end(self, token: int) -> bool:
        return self._checked([token]) == [END]

    def length(self, sequence: int) -> int:
        return self._cells.length(self._row(sequence))

    def tokens(self, sequence: int) -> tuple[int, ...]:
        return self._cells.tokens(self._row(sequence))

    def prefill(self, sequence: int, tokens: Sequence[int]) -> Logits:
        self._row(sequence)
        if not self._checked(tokens):
            raise EngineError("There is nothing to prefill.")
        self._cells.require(len(tokens))
        return self._append(sequence, tokens)

    def decode(self, tokens: Mapping[int, int]) -> dict[int, Logits]:
        rows = [self._row(sequence) for sequence in sorted(tokens)]
        if not self._checked(list(tokens.values())):
            raise EngineError("There is no sequence to decode.")
        self._cells.require(len(tokens))
        return {sequence: self._append(sequence, [tokens[sequence]]) for sequence in rows}

    def verify(self, tokens: Mapping[int, Sequence[int]]) -> dict[int, list[Logits]]:
        rows = [self._row(sequence) for sequence in sorted(tokens)]
        count = sum(map(len, tokens.values()))
        if not all(map(self._checked, tokens.values())) or not 0 < count <= self._info.verifies:
            raise EngineError(f"{count} tokens cannot be verified at once, only 1 to {self._info.verifies}.")
        self._cells.require(count)
        return {sequence: [self.decode({sequence: token})[sequence] for token in tokens[sequence]] for sequence in rows}

    branches = 7

    def verify_tree(self, sequence: int, tree: TokenTree) -> ComputedTree:
        start, chains = self.length(sequence), tree.chains()
        if len(self._checked(tree.tokens)) > self._info.verifies or len(chains) > 1 + self.branches:
            raise EngineError(f"{len(tree.tokens)} tokens in {len(chains)} chains cannot be verified at once.")
        self._cells.require(len(tree.tokens))
        rows, states = dict[int, Logits](), dict[int, KVSlice]()
        for chain in reversed(chains):  # the main path last, as it stays
            before = tree.path(chain[0])[:-1]
            for node in before:
                self._append(sequence, [tree.tokens[node]])
            for node in chain:
                rows[node] = self._append(sequence, [tree.tokens[node]])
            self.computed -= len(before)
            if chain[0]:
                data, begin = b"".join(self._states[sequence][start + len(before) :]), start + len(before)
                held = self.tokens(sequence)
                states[chain[0]] = kv.cut("fake", held, begin, len(held), data, (("k", len(data)),))
                self.rollback(sequence, len(before) + len(chain))
        return ComputedTree([rows[node] for node in range(len(tree.tokens))], states)

    def rollback(self, sequence: int, count: int) -> None:
        length = self.length(sequence)
        if not 0 <= count <= length:
            raise EngineError(f"{count} of {length} tokens cannot be rolled back.")
        self._cells.truncate(sequence, length - count)
        del self._states[sequence][length - count :]

    def fork(self, source: int, target: int) -> None:
        self._row(source)
        self._row(target)
        if source == target:
            raise EngineError("A sequence cannot be forked onto itself.")
        self._cells.share(source, target)
        self._states[target] = self._states[source].copy()

    def clear(self, sequence: int) -> None:
        self.rollback(sequence, self.length(sequence))

    def slice(self, sequence: int, start: int, stop: int) -> KVSlice:
        tokens = self.tokens(sequence)
        if not 0 <= start < stop <= len(tokens):
            raise EngineError(f"There is no slice [{start}, {stop}) of {len(tokens)} tokens.")
        if stop > self._cells.exact(sequence):
            raise EngineError("The attention state after a moved slice cannot be kept.")
        data = b"".join(self._states[sequence][start:stop])
        return kv.cut(self._info.kv_key, tokens, start, stop, data, (("k", len(data)),))

    def join(self, sequence: int, slices: Sequence[KVSlice]) -> None:
        tokens = kv.check(self._info.kv_key, self.tokens(sequence), slices)
        self._checked(tokens)
        self._cells.require(len(tokens))
        data = b"".join(bytes(kv_slice.data) for kv_slice in slices)
        if len(data) != len(tokens) * _STATE_BYTES:
            raise SliceRejected("Cached attention state has the wrong size.")
        self._cells.append(sequence, tokens)
        self._states[sequence] += _states(data)

    def join_moved(self, sequence: int, kv_slice: KVSlice, skip: int = 0) -> None:
        delta = self.length(sequence) - kv_slice.start - skip
        kv.check_alone(self._info.kv_key, kv_slice)
        tokens = self._checked(kv_slice.tokens)[skip:]
        if not 0 <= skip < len(kv_slice.tokens):
            raise EngineError(f"A slice of {len(kv_slice.tokens)} tokens cannot be joined without its first {skip}.")
        self._cells.require(len(kv_slice.tokens))
        states = _states(bytes(kv_slice.data))[skip:]
        if len(states) != len(tokens):
            raise SliceRejected("Cached attention state has the wrong size.")
        self._cells.append(sequence, tokens, moved=True)
        self._states[sequence] += [_hashed(state + b"moved %d" % delta) if delta else state for state in states]

    def exact(self, sequence: int) -> int:
        return self._cells.exact(self._row(sequence))

    def close(self) -> None:
        self._closed = True

    def _append(self, sequence: int, tokens: Sequence[int]) -> Logits:
        states = self._states[sequence]
        for token in tokens:
            before = states[-1] if states else b""
            states.append(_hashed(before + token.to_bytes(2, "little")))
        self._cells.append(sequence, tokens)
        self.computed += len(tokens)
        logits: Logits = np.random.default_rng(list(states[-1])).random(VOCABULARY, np.float32)
        likeliest = _next(self._cells.tokens(sequence))
        logits[bytes([likeliest]).upper()[0] if self._shouts and likeliest < END else likeliest] += 20
        return logits

    def _row(self, sequence: int) -> int:
        self._open()
        if not 0 <= sequence < self._info.sequences:
            raise EngineError(f"There is no sequence {sequence}; there are {self._info.sequences}.")
        return sequence

    def _checked(self, tokens: Sequence[int]) -> list[int]:
        self._open()
        if any(not isinstance(token, int) or not 0 <= token < VOCABULARY for token in tokens):
            raise EngineError(f"Token ids are whole numbers between 0 and {VOCABULARY - 1}.")
        return list(tokens)

    def _open(self) -> None:
        if self._closed:
            raise EngineError("The engine is closed.")


def _hashed(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_STATE_BYTES).digest()


def _states(data: bytes) -> list[bytes]:
    return [data[place : place + _STATE_BYTES] for place in range(0, len(data), _STATE_BYTES)]


def _next(held: Sequence[int]) -> int:
    """Return the next byte of the answer, or END. The answer is the line before the question, or the prompt's last
    line.
    """
    text = bytes(token if token < END else 0 for token in held)
    prompt, _, said = text.rpartition(b"assistant\n")
    before, asked, _ = prompt.rpartition(b"Question: ")
    lines = [line for line in re.split(rb"[\n\0]", before if asked else prompt) if line.strip()]
    lines = lines if asked else lines[:-1]
    answer = lines[-1] if lines else b"?"
    return answer[len(said)] if len(said) < len(answer) else END


class FakeEmbedder:
    """A deterministic embedder that hashes words into dimensions: texts that share words get similar vectors."""

    fingerprint = "fake"
    dimensions = 256

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        vectors = np.full((len(texts), self.dimensions), 1e-3, np.float32)
        for row, text in enumerate(texts):
            for word in re.findall(r"\w+", text.lower()):
                vectors[
                    row, int.from_bytes(hashlib.blake2b(word.encode(), digest_size=2).digest()) % self.dimensions
                ] += 1
        normalised: npt.NDArray[np.float32] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return normalised
