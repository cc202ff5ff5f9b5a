"""An engine slowed to a set pace, so that a small model has the timing of a large one. For benchmarks only.

Steps of the answer are slowed: a decode, and the few tokens prefilled after a rejection. Prompts are prefilled at full
speed, unless their pace is set, too.
"""

import time
from collections.abc import Mapping, Sequence
from multiprocessing import get_context
from multiprocessing.sharedctypes import Synchronized
from typing import Any, Final, cast

from models.engine import Engine, Logits

STEP_TOKENS: Final = 8
"""The most tokens of a prefill that count as one step: as many as a side drafts ahead at most."""

_SAME_PROMPT_S: Final = 0.02
"""The most seconds between two calls that read parts of the same prompt."""


class Pace:
    """The pace that engines in several processes share; it may change only while nothing is computed.

    `step_s` is the seconds per step, 0 for full speed; each further token prefilled in the same call costs `read_share`
    of a step. `prompt_token_s` is the seconds per token of a prompt. An `endless` engine never ends an answer.
    """

    def __init__(self, read_share: float = 0.0) -> None:
        shared = get_context("spawn").Value
        self.read_share = read_share
        self._step_s: Synchronized[float] = shared("d", 0.0)
        self._prompt_token_s: Synchronized[float] = shared("d", 0.0)
        self._endless: Synchronized[int] = shared("i", 0)

    @property
    def step_s(self) -> float:
        """Seconds per step."""
        return self._step_s.value

    @step_s.setter
    def step_s(self, seconds: float) -> None:
        self._step_s.value = seconds

    @property
    def prompt_token_s(self) -> float:
        """Seconds per token of a prompt."""
        return self._prompt_token_s.value

    @prompt_token_s.setter
    def prompt_token_s(self, seconds: float) -> None:
        self._prompt_token_s.value = seconds

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
        self.read_at = self._due = 0.0
        self._engine, self._pace = engine, pace

    def prefill(self, sequence: int, tokens: Sequence[int]) -> Logits:
        """Prefill like the engine; a few tokens take one step plus `read_share` of a step for each further token."""
        start = time.perf_counter()
        logits = self._engine.prefill(sequence, tokens)
        if len(tokens) <= STEP_TOKENS:
            self._hold(start, (1 + self._pace.read_share * (len(tokens) - 1)) * self._pace.step_s)
        else:
            # A prompt read in parts takes as long as one read at once, also where a part takes longer than its pace.
            begin = self._due if start - self.read_at < _SAME_PROMPT_S else start
            seconds = len(tokens) * self._pace.prompt_token_s
            self._hold(begin, seconds)
            self._due, self.read_at = begin + seconds, time.perf_counter()
        return logits

    def decode(self, tokens: Mapping[int, int]) -> dict[int, Logits]:
        """Decode like the engine, in the time of a step."""
        start = time.perf_counter()
        logits = self._engine.decode(tokens)
        self._hold(start, self._pace.step_s)
        return logits

    def is_end(self, token: int) -> bool:
        """Return whether the token ends an answer; False for endless answers."""
        return not self._pace.endless and self._engine.is_end(token)

    def _hold(self, start: float, seconds: float) -> None:
        if (left := start + seconds - time.perf_counter()) > 0:
            time.sleep(left)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)


def paced(engine: Engine, pace: Pace) -> Engine:
    """Return the engine slowed to the given pace."""
    return cast(Engine, Paced(engine, pace))
