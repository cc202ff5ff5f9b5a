"""An engine slowed to a set pace, so that a small model has the timing of a large one. For benchmarks only.

Only steps of the answer are slowed: a decode, and the few tokens prefilled after a rejection. Prompts are prefilled at
full speed.
"""

import time
from collections.abc import Mapping, Sequence
from multiprocessing import get_context
from multiprocessing.sharedctypes import Synchronized
from typing import Any, Final, cast

from models.engine import Engine, Logits

STEP_TOKENS: Final = 8
"""The most tokens of a prefill that count as one step: as many as a side drafts ahead at most."""


class Pace:
    """The pace that engines in several processes share; it may change only while nothing is computed.

    `step_s` is the seconds per step, 0 for full speed; each further token prefilled in the same call costs `read_share`
    of a step. An `endless` engine never ends an answer.
    """

    def __init__(self, read_share: float = 0.0) -> None:
        shared = get_context("spawn").Value
        self.read_share = read_share
        self._step_s: Synchronized[float] = shared("d", 0.0)
        self._endless: Synchronized[int] = shared("i", 0)

    @property
    def step_s(self) -> float:
        """Seconds per step."""
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
    """An engine slowed to a pace. `read_at` is the time at which a prompt was last completely prefilled."""

    def __init__(self, engine: Engine, pace: Pace) -> None:
        self.read_at = 0.0
        self._engine, self._pace = engine, pace

    def prefill(self, sequence: int, tokens: Sequence[int]) -> Logits:
        """Prefill like the engine; a few tokens take one step plus `read_share` of a step for each further token."""
        start = time.perf_counter()
        logits = self._engine.prefill(sequence, tokens)
        if len(tokens) <= STEP_TOKENS:
            self._hold(start, 1 + self._pace.read_share * (len(tokens) - 1))
        else:
            self.read_at = time.perf_counter()
        return logits

    def decode(self, tokens: Mapping[int, int]) -> dict[int, Logits]:
        """Decode like the engine, in the time of a step."""
        start = time.perf_counter()
        logits = self._engine.decode(tokens)
        self._hold(start)
        return logits

    def is_end(self, token: int) -> bool:
        """Return whether the token ends an answer; False for endless answers."""
        return not self._pace.endless and self._engine.is_end(token)

    def _hold(self, start: float, steps: float = 1.0) -> None:
        if (left := start + steps * self._pace.step_s - time.perf_counter()) > 0:
            time.sleep(left)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)


def paced(engine: Engine, pace: Pace) -> Engine:
    """Return the engine slowed to the given pace."""
    return cast(Engine, Paced(engine, pace))
