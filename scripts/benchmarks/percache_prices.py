"""The prices of an answer's parts on this machine, measured once, so that a long replay computes each answer only once.

Prefilling n tokens takes `quadratic`·n² + `linear`·n ms. Cached states save all of a token's prefill (`Prices.prefill`)
or, as PerCache publishes it, only the projections of Q, K and V (section 4.2.2).
"""

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Literal

import numpy as np

from shared.trace import Trace

Skips = Literal["prefix", "projections"]
"""The computation that cached states save: all of the cached tokens' computation, or only their projections."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The measurements of one computed answer: the prompt's tokens and the number of sequences among which its passages
    were divided (rows), the answer's tokens, and the ms of each part.
    """

    prefilled: int
    rows: int
    decoded: int
    prefill_ms: float
    decode_ms: float


@dataclass(frozen=True, slots=True)
class Prices:
    """The prices, in ms: of prefill by its two coefficients, of a decoded token in one sequence and in several at once,
    of joining a token's K and V. `projections` is the share of a token's prefill that its projections take, and
    `planes` the size of Q, K and V relative to K and V.
    """

    linear: float
    quadratic: float
    decoded: float
    decoded_in_rows: float
    joined: float
    projections: float
    planes: float

    def prefill(self, cached: int, computed: int, skips: Skips = "prefix") -> float:
        """Return the ms of prefilling a prompt with `cached` tokens joined and `computed` tokens not cached."""
        whole = self._prefill(cached + computed)
        if skips == "projections":
            join = self.joined * self.planes * cached
            return join + whole - self.projections * whole * cached / max(cached + computed, 1)
        return self.joined * cached + whole - self._prefill(cached)

    def decode(self, tokens: int, rows: int = 1) -> float:
        """Return the ms of decoding an answer."""
        return tokens * (self.decoded if rows == 1 else self.decoded_in_rows)

    def answer(self, trace: Trace, rows: int, skips: Skips) -> tuple[float, float]:
        """Return the ms to the first and to the last token of an answer that cost what its trace says."""
        first = self.prefill(trace.tokens_cached, trace.tokens_prefilled, skips)
        return first, first + self.decode(trace.tokens_decoded, rows)

    def as_json(self) -> dict[str, float]:
        """Return the prices by name, rounded."""
        return {name: round(value, 6) for name, value in asdict(self).items()}

    def _prefill(self, tokens: int) -> float:
        return self.quadratic * tokens * tokens + self.linear * tokens


@dataclass(slots=True)
class Samples:
    """The measured computations to which prices are fitted."""

    answers: list[Measured] = field(default_factory=list)

    def prices(self, joined: float, projections: float, planes: float) -> Prices:
        """Return the prices that fit the measured answers best."""
        linear, quadratic = fitted([answer for answer in self.answers if answer.rows == 1])
        in_one, in_rows = self._decoded(several=False), self._decoded(several=True)
        return Prices(linear, quadratic, in_one, in_rows or in_one, joined, projections, planes)

    def error(self, prices: Prices) -> float:
        """Return the share by which the prices of all answers from a single prompt differ from the measurements."""
        own = [answer for answer in self.answers if answer.rows == 1]
        said = sum(prices.prefill(0, answer.prefilled) + prices.decode(answer.decoded) for answer in own)
        return said / sum(answer.prefill_ms + answer.decode_ms for answer in own) - 1

    def _decoded(self, *, several: bool) -> float:
        each = [
            answer.decode_ms / answer.decoded
            for answer in self.answers
            if answer.decoded > 1 and (answer.rows > 1) == several
        ]
        return statistics.median(each) if each else 0.0


def fitted(answers: Sequence[Measured]) -> tuple[float, float]:
    """Return the two coefficients of prefill, neither below 0, with the least squared relative error."""
    tokens = np.array([answer.prefilled for answer in answers], float)
    ms = np.array([answer.prefill_ms for answer in answers])
    of_both = np.stack([tokens, tokens**2], 1) / ms[:, None]
    linear, quadratic = np.linalg.lstsq(of_both, np.ones(len(ms)), rcond=None)[0].tolist()
    if quadratic < 0 or linear < 0:
        linear, quadratic = float(np.linalg.lstsq(of_both[:, :1], np.ones(len(ms)), rcond=None)[0][0]), 0.0
    return linear, quadratic
