"""A decayed, right-censored empirical distribution on fixed bins, of times to first token or of lengths.

Each observation lowers the weight of older ones, in place of a sliding window: an observation `WINDOW` half-lives ago
weighs a millionth. The survival function is Kaplan and Meier's, with a prior worth a few observations (Susarla and Van
Ryzin 1976), so that it is defined before the first observation and beyond the last uncensored one.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

_STEPS, _OCTAVES = 32, 15
"""Bins are 1 unit wide up to 32 units, 2 up to 96, and so on; the leading bits of value + 32 are the bin's index."""

BINS = _STEPS * _OCTAVES
_EDGES: Array = np.array(
    [_STEPS * (2.0**octave - 1) + step * 2.0**octave for octave in range(_OCTAVES) for step in range(_STEPS)]
    + [_STEPS * (2.0**_OCTAVES - 1)]
)
_TYPICAL: Array = (_EDGES[:-1] + _EDGES[1:] - 1) / 2
"""The typical value in each bin of whole numbers, as a multiple of the unit."""

_TYPICAL[0] = 0.5
_PRIOR_WEIGHT = 2.0

WINDOW = 20


@dataclass(frozen=True, eq=False)
class Distribution:
    """The distribution of a quantity ≥ 0, in multiples of `unit`. `median` and `spread` are of the log-normal prior.

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
        """Return the prior distribution. `median` is in the quantity's own unit, `half_life` in observations."""
        return cls(unit, median, spread, half_life, np.zeros(BINS), np.zeros(BINS))

    def observe(self, value: float, *, censored: bool = False) -> "Distribution":
        """Return the distribution with one more value or, with `censored`, a lower bound of a value.

        Raises ValueError if the value is negative or not finite.
        """
        if not (value >= 0 and math.isfinite(value)):
            raise ValueError(f"an observation must be finite and not negative, not {value}")
        kept = 0.5 ** (1 / self.half_life)
        events, cut = self.events * kept, self.censored * kept
        (cut if censored else events)[self.bin(value)] += 1
        return replace(self, events=events, censored=cut)

    def observe_all(self, values: npt.ArrayLike, censored: npt.ArrayLike | None = None) -> "Distribution":
        """Return the distribution with these values, in order, the newest last; shapes (n,).

        Values older than `WINDOW` half-lives are left out.
        """
        window = math.ceil(WINDOW * self.half_life)
        seen = np.asarray(values, float)[-window:]
        if seen.size and not (seen.min() >= 0 and seen.max() < math.inf):
            raise ValueError("observations must be finite and not negative")
        weights = np.exp2(-np.arange(seen.size)[::-1] / self.half_life)
        bins = _bins(seen, self.unit)
        off = np.zeros(seen.size) if censored is None else np.asarray(censored, float)[-window:]
        older = 0.5 ** (seen.size / self.half_life)
        events = self.events * older + np.bincount(bins, weights * (1 - off), BINS)
        return replace(self, events=events, censored=self.censored * older + np.bincount(bins, weights * off, BINS))

    @property
    def weight(self) -> float:
        """The total weight of the observations, of which a new one weighs 1."""
        return float(self.events.sum() + self.censored.sum())

    @property
    def edges(self) -> Array:
        """The ascending edges of the bins, shape (BINS + 1,), from 0."""
        return self._scaled[0]

    @cached_property
    def survival(self) -> Array:
        """The probabilities P(X ≥ edge), shape (BINS + 1,), from 1 down to 0; Kaplan-Meier, linear between edges."""
        events = self.events + _prior(self.median / self.unit, self.spread)
        all_later = np.cumsum((events + self.censored)[::-1])[::-1]
        # A value censored within a bin was at risk for half of it (the life-table form).
        at_risk = np.maximum(all_later - self.censored / 2, events)
        hazard = np.divide(events, at_risk, out=np.zeros(BINS), where=at_risk > 0)
        survival = np.concatenate([[1.0], np.cumprod(1 - hazard)])
        survival[-1] = 0.0
        return survival

    @cached_property
    def beyond(self) -> Array:
        """The expected excess E[(X - edge)⁺] = ∫ S from each edge on, shape (BINS + 1,)."""
        return tail_integral(self.edges, self.survival)

    def quantile(self, share: float) -> float:
        """Return the smallest value that the share (0..1) of observations does not exceed."""
        return float(self.quantiles(np.array([share]))[0])

    def quantiles(self, shares: Array) -> Array:
        """Return the `quantile` of each share, in the same shape."""
        # Interpolate from the right, since S is flat where nothing was observed.
        values: Array = np.interp(shares, *self._steps)
        return values

    def mean(self) -> float:
        """Return the mean E[X]."""
        return float(self.beyond[0])

    def remaining(self, past: float, most: float = math.inf) -> float:
        """Return E[min(X, most) - past | X ≥ past]: the expected remainder of a quantity that has reached `past`."""
        if past >= most:
            return 0.0
        alive = float(np.interp(past, self.edges, self.survival))
        until = float(np.interp(most, self.edges, self.beyond)) if math.isfinite(most) else 0.0
        ahead = float(np.interp(past, self.edges, self.beyond)) - until
        return ahead / alive if alive > 1e-9 else min(most - past, self.unit)

    def bin(self, value: float) -> int:
        """Return the index of the bin that holds the value."""
        mantissa, exponent = math.frexp(value / self.unit + _STEPS)  # mantissa within 1/2..1
        return min(int((exponent - 6) * _STEPS + (2 * mantissa - 1) * _STEPS), BINS - 1)

    @property
    def typicals(self) -> Array:
        """The typical value in each bin; shape (BINS,)."""
        return self._scaled[1]

    def as_json(self) -> dict[str, Any]:
        """Return the state as JSON, with only the bins of non-zero weight."""
        return {
            "unit": self.unit,
            "events": {str(at): round(float(self.events[at]), 6) for at in np.flatnonzero(self.events > 1e-6)},
            "censored": {str(at): round(float(self.censored[at]), 6) for at in np.flatnonzero(self.censored > 1e-6)},
        }

    def restored(self, kept: Mapping[str, Any]) -> "Distribution":
        """Return this prior with the observations stored by `as_json`. Raises ValueError if the data is damaged."""
        try:
            if kept["unit"] != self.unit:
                raise ValueError(f"the stored distribution has another unit: {kept['unit']}")
            return replace(self, events=_filled(kept["events"]), censored=_filled(kept["censored"]))
        except (KeyError, TypeError, AttributeError, IndexError) as error:
            raise ValueError(f"the stored distribution is not valid: {error!r}") from error

    @cached_property
    def _scaled(self) -> tuple[Array, Array]:
        return _EDGES * self.unit, _TYPICAL * self.unit

    @cached_property
    def _steps(self) -> tuple[Array, Array]:
        """Return ascending shares and the smallest value for each share, for interpolation."""
        shares = 1 - self.survival
        rises = np.flatnonzero(np.diff(shares) > 0)
        at = np.unique(np.concatenate([rises, rises + 1]))
        return shares[at], self.edges[at]


def tail_integral(edges: Array, heights: Array) -> Array:
    """Return the integral of the line through the heights, from each edge to the last; same shape."""
    areas = np.diff(edges) * (heights[1:] + heights[:-1]) / 2
    return np.concatenate([np.cumsum(areas[::-1])[::-1], [0.0]])


def _bins(values: Array, unit: float) -> npt.NDArray[np.int32]:
    """Return each value's `Distribution.bin`, shape (n,), from the float's exponent and leading mantissa bits."""
    leading = (values / unit + _STEPS).astype(np.float32).view(np.int32) >> 18
    bins: npt.NDArray[np.int32] = np.minimum(leading - _FIRST, BINS - 1)
    return bins


_FIRST = int(np.array(_STEPS, np.float32).view(np.int32)) >> 18


@lru_cache(maxsize=8)
def _prior(median: float, spread: float) -> Array:
    """Return the weights of a log-normal distribution in each bin, its tail in the last bin; shape (BINS,)."""
    scale = spread * math.sqrt(2)
    below = [0.5 + math.erf(math.log(edge / median) / scale) / 2 for edge in _EDGES[1:-1]]
    return _PRIOR_WEIGHT * np.diff([0.0, *below, 1.0])


def _filled(held: Mapping[str, float]) -> Array:
    weights = np.zeros(BINS)
    for at, weight in held.items():
        if not (int(at) >= 0 and 0 <= weight < math.inf):
            raise ValueError(f"the stored distribution's bin {at} has an invalid weight: {weight}")
        weights[int(at)] = weight
    return weights


def token_shares(lengths: Distribution) -> Array:
    """Return the share of all tokens in prompts shorter than each edge; shape (BINS + 1,), from 0 to 1."""
    shares = np.concatenate([[0.0], np.cumsum(-np.diff(lengths.survival) * _TYPICAL)])
    whole: Array = shares / shares[-1]
    return whole
