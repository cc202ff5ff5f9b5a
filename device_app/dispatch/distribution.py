"""A decayed, right-censored empirical distribution on fixed bins: of times to first token, of lengths.

Each observation makes older ones weigh a little less, which is the sliding window: after ten half-lives one weighs a
thousandth. The survival function is Kaplan and Meier's, with a prior that weighs as few observations do (Susarla and
Van Ryzin 1976), so that it is defined before the first observation and beyond the last one that was not cut off.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

LINEAR, PER_OCTAVE, OCTAVES = 32, 24, 15
"""Bins one unit wide up to LINEAR units, from there on 3% wide, up to a million units."""

BINS = LINEAR + PER_OCTAVE * OCTAVES
_EDGES: Array = np.concatenate(
    [np.arange(LINEAR, dtype=float), LINEAR * 2.0 ** (np.arange(PER_OCTAVE * OCTAVES + 1) / PER_OCTAVE)]
)
_PRIOR_WEIGHT = 2.0


@dataclass(frozen=True, eq=False)
class Distribution:
    """Of a quantity ≥ 0, in multiples of `unit`. `median` and `spread` are those of the log-normal prior.

    `events` and `censored` are weights by bin, shape (BINS,); never changed in place.
    """

    unit: float
    median: float
    spread: float
    half_life: float
    events: Array
    censored: Array

    @classmethod
    def prior(cls, *, unit: float, median: float, spread: float, half_life: float) -> "Distribution":
        """Before the first observation. `median` in the quantity's own unit, `half_life` in observations."""
        return cls(unit, median, spread, half_life, np.zeros(BINS), np.zeros(BINS))

    def observe(self, value: float, *, censored: bool = False) -> "Distribution":
        """With one more: the value, or, censored, that it is not less. Raises ValueError for what is no time or size."""
        if not (value >= 0 and math.isfinite(value)):
            raise ValueError(f"an observation is finite and not negative, not {value}")
        kept = 0.5 ** (1 / self.half_life)
        events, cut = self.events * kept, self.censored * kept
        (cut if censored else events)[self._bin(value)] += 1
        return replace(self, events=events, censored=cut)

    def observe_all(self, values: npt.ArrayLike, censored: npt.ArrayLike | None = None) -> "Distribution":
        """As `observe` for each in order, the newest last; shapes (n,)."""
        seen = np.asarray(values, float)
        if seen.size and not (np.isfinite(seen).all() and seen.min() >= 0):
            raise ValueError("observations are finite and not negative")
        weight = np.exp2(np.arange(1 - seen.size, 1, dtype=np.float32) / np.float32(self.half_life))
        bins = _bins(seen / self.unit)
        older = 0.5 ** (seen.size / self.half_life)
        if censored is None:
            return replace(
                self, events=self.events * older + np.bincount(bins, weight, BINS), censored=self.censored * older
            )
        cut = np.asarray(censored, bool)
        return replace(
            self,
            events=self.events * older + np.bincount(bins[~cut], weight[~cut], BINS),
            censored=self.censored * older + np.bincount(bins[cut], weight[cut], BINS),
        )

    @property
    def weight(self) -> float:
        """How many fresh observations it is worth."""
        return float(self.events.sum() + self.censored.sum())

    @property
    def edges(self) -> Array:
        """Borders of the bins, shape (BINS + 1,), ascending from 0."""
        return self._scaled[0]

    @cached_property
    def survival(self) -> Array:
        """P(X ≥ edge), shape (BINS + 1,), from 1 down to 0; Kaplan-Meier, straight between the edges."""
        events = self.events + _prior(self.median / self.unit, self.spread)
        all_later = np.cumsum((events + self.censored)[::-1])[::-1]
        # What was cut off within a bin was at risk for half of it (the life-table form).
        at_risk = np.maximum(all_later - self.censored / 2, events)
        hazard = np.divide(events, at_risk, out=np.zeros(BINS), where=at_risk > 0)
        survival = np.concatenate([[1.0], np.cumprod(1 - hazard)])
        survival[-1] = 0.0
        return survival

    @cached_property
    def beyond(self) -> Array:
        """E[(X - edge)⁺] = ∫ S from the edge on, shape (BINS + 1,)."""
        return tail_integral(self.edges, self.survival)

    def cdf(self, value: float) -> float:
        """P(X < value)."""
        return 1 - float(np.interp(value, self.edges, self.survival))

    def quantile(self, share: float) -> float:
        """The least value that the share (0..1) of observations does not exceed."""
        return float(self.quantiles(np.array([share]))[0])

    def quantiles(self, shares: Array) -> Array:
        """`quantile` of each; any shape."""
        # From the right, since S is flat where nothing was observed.
        found: Array = np.interp(shares, *self._steps)
        return found

    def mean(self) -> float:
        """E[X]."""
        return float(self.beyond[0])

    def remaining(self, past: float, most: float = math.inf) -> float:
        """E[min(X, most) - past | X ≥ past]: what is still to come of something that has come this far."""
        if past >= most:
            return 0.0
        alive = float(np.interp(past, self.edges, self.survival))
        until = float(np.interp(most, self.edges, self.beyond)) if math.isfinite(most) else 0.0
        ahead = float(np.interp(past, self.edges, self.beyond)) - until
        return ahead / alive if alive > 1e-9 else min(most - past, self.unit)

    def as_json(self) -> dict[str, Any]:
        """All there is to it, small: the bins that hold something."""
        return {
            "unit": self.unit,
            "events": {str(at): round(float(self.events[at]), 6) for at in np.flatnonzero(self.events > 1e-6)},
            "censored": {str(at): round(float(self.censored[at]), 6) for at in np.flatnonzero(self.censored > 1e-6)},
        }

    def restored(self, kept: Mapping[str, Any]) -> "Distribution":
        """This prior with the observations of an `as_json`. Raises ValueError where that is damaged or in another unit."""
        try:
            if kept["unit"] != self.unit:
                raise ValueError(f"kept in units of {kept['unit']}")
            return replace(self, events=_filled(kept["events"]), censored=_filled(kept["censored"]))
        except (KeyError, TypeError, AttributeError, IndexError) as error:
            raise ValueError(f"no distribution: {error!r}") from error

    def _bin(self, value: float) -> int:
        scaled = value / self.unit
        if scaled < LINEAR:
            return int(scaled)
        return min(LINEAR + int(PER_OCTAVE * math.log2(scaled / LINEAR)), BINS - 1)

    @cached_property
    def _scaled(self) -> tuple[Array]:
        return (_EDGES * self.unit,)

    @cached_property
    def _steps(self) -> tuple[Array, Array]:
        """Shares and the least values with them, for interpolation."""
        shares = 1 - self.survival
        rises = np.flatnonzero(np.diff(shares) > 0)
        at = np.unique(np.concatenate([rises, rises + 1]))
        return shares[at], self.edges[at]


def tail_integral(edges: Array, heights: Array) -> Array:
    """∫ of the line through the heights, from each edge to the last; same shape."""
    areas = np.diff(edges) * (heights[1:] + heights[:-1]) / 2
    return np.concatenate([np.cumsum(areas[::-1])[::-1], [0.0]])


def _bins(scaled: Array) -> npt.NDArray[np.intp]:
    near = scaled.astype(np.float32)
    logs = LINEAR + PER_OCTAVE * np.log2(np.maximum(near, LINEAR) / LINEAR)
    return np.minimum(np.minimum(near, logs), BINS - 1).astype(np.intp)


@lru_cache(maxsize=8)
def _prior(median: float, spread: float) -> Array:
    """Weights of a log-normal, its tail in the last bin; shape (BINS,)."""
    scale = spread * math.sqrt(2)
    below = [0.5 + math.erf(math.log(edge / median) / scale) / 2 for edge in _EDGES[1:-1]]
    return _PRIOR_WEIGHT * np.diff([0.0, *below, 1.0])


def _filled(held: Mapping[str, float]) -> Array:
    weights = np.zeros(BINS)
    for at, weight in held.items():
        if not (int(at) >= 0 and math.isfinite(weight) and weight >= 0):
            raise ValueError(f"bin {at} cannot weigh {weight}")
        weights[int(at)] = weight
    return weights


def token_quantiles(lengths: Distribution, count: int) -> Array:
    """Lengths that stand for equal shares of all *tokens*, ascending, shape (count,), each at least one unit."""
    mass = -np.diff(lengths.survival) * (lengths.edges[1:] + lengths.edges[:-1]) / 2
    shares = np.concatenate([[0.0], np.cumsum(mass)])
    middles = (np.arange(count) + 0.5) / count * shares[-1]
    return np.maximum(np.interp(middles, shares, lengths.edges), lengths.unit)
