"""An engine held to a pace, so that a small model keeps the time of a large one. For benchmarks alone.

Only steps of the answer are held: a decode, and the few tokens that are read at once after a rejection. A prompt is
read as fast as it can be.
"""

import time
from collections.abc import Mapping, Sequence
from multiprocessing import get_context
from multiprocessing.sharedctypes import Synchronized
from typing import Any, Final, cast

from models.engine import Engine, Logits

STEP_TOKENS: Final = 8
"""No more tokens than these are read in one step: what a side drafts ahead at most."""


class Pace:
    """What engines of several processes are held to; change it while nothing is computed.

    `step_s` are seconds of a step, 0 for as fast as it goes; each token that is read in the same call takes
    `read_share` of one more. An `endless` engine never ends an answer of itself.
    """

    def __init__(self, read_share: float = 0.0) -> None:
        shared = get_context("spawn").Value
        self.read_share = read_share
        self._step_s: Synchronized[float] = shared("d", 0.0)
        self._endless: Synchronized[int] = shared("i", 0)

    @property
    def step_s(self) -> float:
        """Seconds of a step."""
        return self._step_s.value

    @step_s.setter
    def step_s(self, seconds: float) -> None:
        self._step_s.value = seconds

    @property
    def endless(self) -> bool:
        """Whether no token ends an answer."""
        return bool(self._endless.value)

    @endless.setter
    def endless(self, endless: bool) -> None:
        self._endless.value = endless


class Paced:
    """An engine at a pace. `read_at` is when a prompt was last read to its end."""

    def __init__(self, engine: Engine, pace: Pace) -> None:
        self.read_at = 0.0
        self._engine, self._pace = engine, pace

    def prefill(self, sequence: int, tokens: Sequence[int]) -> Logits:
        """As the engine's; a few tokens are a step and a bit."""
        start = time.perf_counter()
        logits = self._engine.prefill(sequence, tokens)
        if len(tokens) <= STEP_TOKENS:
            self._hold(start, 1 + self._pace.read_share * (len(tokens) - 1))
        else:
            self.read_at = time.perf_counter()
        return logits

    def decode(self, tokens: Mapping[int, int]) -> dict[int, Logits]:
        """As the engine's, in the time of a step."""
        start = time.perf_counter()
        logits = self._engine.decode(tokens)
        self._hold(start)
        return logits

    def is_end(self, token: int) -> bool:
        """As the engine's, unless answers are to have no end."""
        return not self._pace.endless and self._engine.is_end(token)

    def _hold(self, start: float, steps: float = 1.0) -> None:
        if (left := start + steps * self._pace.step_s - time.perf_counter()) > 0:
            time.sleep(left)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)


def paced(engine: Engine, pace: Pace) -> Engine:
    """The engine at this pace."""
    return cast(Engine, Paced(engine, pace))
