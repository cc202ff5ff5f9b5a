"""Fake engines whose results are inexact, each in its own way, which the self-test of exactness has to detect."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from models.engine import KVSlice, Logits
from models.exact_loading import Setting
from models.fake import FakeEngine
from models.verdict import Check, Verdict


class Inexact(FakeEngine):
    """A fake engine that is exact until `off` is set; from then on its logits differ in the last bit."""

    def __init__(self, setting: Setting = Setting("f16")) -> None:  # noqa: B008 (a frozen value)
        super().__init__()
        key = f"fake {setting}"
        self._info = replace(self._info, kv_type=setting.kv, repacks=setting.repacks, kv_key=key)
        self.off = False

    def restrict(self, verdict: Verdict) -> None:
        self._info = replace(self._info, verdict=verdict, sliceable=verdict.keeps_states)

    def clear(self, sequence: int) -> None:
        super().clear(sequence)
        self.off = False

    def prefill(self, sequence: int, tokens: Sequence[int]) -> Logits:
        return self._rounded(super().prefill(sequence, tokens))

    def _rounded(self, logits: Logits) -> Logits:
        return np.nextafter(logits, np.float32(9)) if self.off else logits


class JoinsOff(Inexact):
    """A fake engine that becomes inexact when cached states are joined."""

    def join(self, sequence: int, slices: Sequence[KVSlice]) -> None:
        super().join(sequence, slices)
        self.off = True


class RollbackOff(Inexact):
    """A fake engine that becomes inexact when more than sixteen tokens are rolled back at once."""

    def rollback(self, sequence: int, count: int) -> None:
        super().rollback(sequence, count)
        self.off = count > 16


class PassesOff(Inexact):
    """A fake engine whose passes over eleven tokens round differently."""

    def prefill(self, sequence: int, tokens: Sequence[int]) -> Logits:
        self.off = len(tokens) == 11
        return super().prefill(sequence, tokens)


class OrderOff(Inexact):
    """A fake engine that becomes inexact when several states are joined of which the last was not also cut last."""

    _last: KVSlice | None = None

    def slice(self, sequence: int, start: int, stop: int) -> KVSlice:
        self._last = super().slice(sequence, start, stop)
        return self._last

    def join(self, sequence: int, slices: Sequence[KVSlice]) -> None:
        super().join(sequence, slices)
        self.off = len(slices) > 1 and slices[-1] is not self._last


class RowsOff(Inexact):
    """A fake engine that is inexact in a pass over several sequences that hold nothing but joined states."""

    _whole = False

    def prefill(self, sequence: int, tokens: Sequence[int]) -> Logits:
        self._whole |= self.length(sequence) == 0
        return super().prefill(sequence, tokens)

    def clear(self, sequence: int) -> None:
        super().clear(sequence)
        self._whole = False

    def decode(self, tokens: Mapping[int, int]) -> dict[int, Logits]:
        self.off = len(tokens) > 1 and not self._whole
        return {sequence: self._rounded(logits) for sequence, logits in super().decode(tokens).items()}


INEXACT: Mapping[type[Inexact], set[Check]] = {
    Inexact: set(),
    JoinsOff: {"slices", "reordered"},
    RollbackOff: {"rollback"},
    PassesOff: {"passes"},
    OrderOff: {"reordered"},
    RowsOff: {"rows"},
}
