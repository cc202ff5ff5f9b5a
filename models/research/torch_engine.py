"""A torch implementation of the Engine protocol, to compare PerCache's published method with llama.cpp. For research.

Its slices hold Q, K and V (§4.1.1). The paper's prototype skips the projections of cached positions and computes the
rest of the layers for them; under causal attention, cached K and V make all of that unnecessary. Needs the research
extra.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

import torch

from models import kv
from models.engine import EngineInfo, KVSlice, Logits
from models.llama_model import LlamaModel
from models.research.torch_llama import TorchLlama
from shared.errors import EngineError, SliceRejected

Reuse = Literal["prefix", "projections", "none"]
"""The work that prefill skips for tokens already in the sequence: all of it, only their projections (the paper), or
none.
"""

_FORMAT = "torch 1"


class TorchEngine:
    """A torch engine, see `models.engine.Engine`. All reuse modes share slices and differ in rounding only.

    `model` is the GGUF that `network` was made from; its vocabulary is used, and it is closed with the engine. A
    network may serve several engines. The number of threads is torch's own setting.
    """

    def __init__(
        self,
        model: LlamaModel,
        network: TorchLlama,
        *,
        context: int = 4096,
        sequences: int = 4,
        reuse: Reuse = "prefix",
    ) -> None:
        self._model: LlamaModel | None = model
        self._network = network
        self._reuse = reuse
        context = min(context, model.trained_context() or context)
        self._cells = kv.Cells(context, sequences)
        self.computed = 0
        self._states = [network.state(context) for _ in range(sequences)]  # memory is used only once written
        self._info = EngineInfo(
            model=model.path.name.removesuffix(".gguf"),
            model_hash=model.model_hash(),
            vocabulary=model.vocabulary,
            context=context,
            sequences=sequences,
            kv_type="f16",
            kv_bytes_per_token=sum(size for _, size in self._planes(1)),
            kv_key=f"{_FORMAT} {model.model_hash()} f16",
            parameters=model.parameters(),
            chat_template=model.chat_template(),
            verifies=context,
            bos=model.bos(),
            movable=False,
        )

    @property
    def info(self) -> EngineInfo:
        return self._info

    def vocabulary_hash(self) -> str:
        return self._open().vocabulary_hash()

    def tokenize(self, text: str, *, special: bool = False) -> list[int]:
        return self._open().tokenize(text, special)

    def detokenize(self, tokens: Sequence[int]) -> bytes:
        return self._open().detokenize(tokens)

    def is_end(self, token: int) -> bool:
        return self._open().is_end(token)

    def length(self, sequence: int) -> int:
        return self._cells.length(self._checked(sequence))

    def tokens(self, sequence: int) -> tuple[int, ...]:
        return self._cells.tokens(self._checked(sequence))

    def prefill(self, sequence: int, tokens: Sequence[int]) -> Logits:
        held = self.tokens(sequence)
        ids = self._open().ids(tokens).tolist()
        if not ids:
            raise EngineError("There is nothing to prefill.")
        self._cells.require(len(ids))
        start = len(held) if self._reuse == "prefix" else 0
        known = 0 if self._reuse == "none" else len(held)
        logits = self._run(sequence, [*held[start:], *ids], start, known)
        self._cells.append(sequence, ids)
        self.computed += len(ids)
        return logits

    def decode(self, tokens: Mapping[int, int]) -> dict[int, Logits]:
        sequences = sorted(tokens)
        lengths = [self.length(sequence) for sequence in sequences]
        ids = self._open().ids([tokens[sequence] for sequence in sequences]).tolist()
        if not ids:
            raise EngineError("There is no sequence to decode.")
        self._cells.require(len(ids))
        rows = zip(sequences, ids, lengths, strict=True)
        logits = {sequence: self._run(sequence, [token], length, length) for sequence, token, length in rows}
        for sequence, token in zip(sequences, ids, strict=True):
            self._cells.append(sequence, [token])
        self.computed += len(ids)
        return logits

    def verify(self, tokens: Mapping[int, Sequence[int]]) -> dict[int, list[Logits]]:
        parts = {row: self._open().ids(tokens[self._checked(row)]).tolist() for row in sorted(tokens)}
        if not parts or not all(parts.values()):
            raise EngineError("There is nothing to verify.")
        self._cells.require(sum(map(len, parts.values())))
        return {row: [self.decode({row: token})[row] for token in part] for row, part in parts.items()}

    def rollback(self, sequence: int, count: int) -> None:
        length = self.length(sequence)
        if not 0 <= count <= length:
            raise EngineError(f"{count} of {length} tokens cannot be rolled back.")
        self._cells.truncate(sequence, length - count)

    def fork(self, source: int, target: int) -> None:
        length = self.length(source)
        self._checked(target)
        if source == target:
            raise EngineError("A sequence cannot be forked onto itself.")
        self.clear(target)
        self._states[target][:, :, :length] = self._states[source][:, :, :length]
        self._cells.share(source, target)

    def clear(self, sequence: int) -> None:
        self.rollback(sequence, self.length(sequence))

    def slice(self, sequence: int, start: int, stop: int) -> KVSlice:
        tokens = self.tokens(sequence)
        if not 0 <= start < stop <= len(tokens):
            raise EngineError(f"There is no slice [{start}, {stop}) of {len(tokens)} tokens.")
        state = self._states[sequence][:, :, start:stop].cpu()
        parts = torch.split(state, list(self._network.planes.values()), dim=1)
        data = b"".join(part.numpy().tobytes() for part in parts)
        return kv.cut(self._info.kv_key, tokens, start, stop, data, self._planes(stop - start))

    def join(self, sequence: int, slices: Sequence[KVSlice]) -> None:
        tokens = kv.check(self._info.kv_key, self.tokens(sequence), slices)
        self._open().ids(tokens)
        self._cells.require(len(tokens))
        for kv_slice in slices:
            planes = self._planes(len(kv_slice.tokens))
            if kv_slice.planes != planes or len(kv_slice.data) != sum(size for _, size in planes):
                raise SliceRejected("Cached attention state has the wrong parts; it has to be computed again.")
        for kv_slice in slices:
            self._load(kv_slice, self._states[sequence][:, :, kv_slice.start : kv_slice.stop])
        self._cells.append(sequence, tokens)

    def exact(self, sequence: int) -> int:
        return self.length(sequence)

    def join_moved(self, sequence: int, kv_slice: KVSlice, skip: int = 0) -> None:  # noqa: ARG002
        raise EngineError("The attention state of the torch engine cannot be moved.")

    def close(self) -> None:
        model, self._model = self._model, None
        if model:
            model.close()
            self._states.clear()

    def _run(self, sequence: int, tokens: list[int], start: int, known: int) -> Logits:
        # State written after a sequence's end counts only once its cells are taken.
        logits: Logits = self._network.run(tokens, self._states[sequence], start=start, known=known).cpu().numpy()
        return logits

    def _load(self, kv_slice: KVSlice, target: torch.Tensor) -> None:
        values = torch.frombuffer(bytearray(kv_slice.data), dtype=torch.float16)
        planes = torch.split(target, list(self._network.planes.values()), dim=1)
        for plane, part in zip(planes, torch.split(values, [plane.numel() for plane in planes]), strict=True):
            plane.copy_(part.view(plane.shape))

    def _planes(self, count: int) -> tuple[tuple[str, int], ...]:
        """Return a slice's parts and their bytes: each of shape (layers, heads, `count` tokens, head width), in f16."""
        shape, planes = self._network.shape, self._network.planes.items()
        return tuple((name, 2 * shape.layers * heads * count * shape.head) for name, heads in planes)

    def _checked(self, sequence: int) -> int:
        self._open()
        if not 0 <= sequence < self._info.sequences:
            raise EngineError(f"There is no sequence {sequence}; there are {self._info.sequences}.")
        return sequence

    def _open(self) -> LlamaModel:
        if not self._model:
            raise EngineError("The engine is closed.")
        return self._model
