"""Times to the first token (DiSCo §3, §4.2): the server's hardly depends on the prompt, the device's grows linearly.

Both times are measured on the device, and only if the side was asked.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from device_app.companion.dispatch.distribution import Array, Distribution

HALF_LIFE = 256
"""The number of answers after which an observation's weight is halved: services change within days."""

RECORDS = 64
"""The most measurements to which the device's line is fitted; the older half of them weighs less."""

_PRIOR_PROMPT, _PRIOR_RATE, _PRIOR_START_S = 256.0, 100.0, 0.05


def server() -> Distribution:
    """Return the prior of a server's times to the first token, in seconds; the median is about half a second.

    The caller observes each arrival, and timeouts and cancellations as `censored`, with the time waited.
    """
    return Distribution.prior(unit=0.001, median=0.6, spread=0.8, half_life=HALF_LIFE)


def lengths(median: float) -> Distribution:
    """Return the prior of the lengths of prompts or answers, around `median` tokens.

    The length of an answer that was cut is observed as censored, a lower bound.
    """
    return Distribution.prior(unit=1.0, median=median, spread=0.8, half_life=HALF_LIFE)


@dataclass(frozen=True, slots=True)
class DeviceFirstToken:
    """The device's time to the first token, T_d(l) = slope·l + start, in seconds, for one model on this device.

    `records` are (tokens prefilled, seconds), the newest last. Before the first record, the line is the prior's: a
    prompt of 256 tokens at `rate` tokens a second.
    """

    slope: float
    start: float
    records: tuple[tuple[float, float], ...] = ()

    @classmethod
    def prior(cls, rate: float = _PRIOR_RATE, start: float = _PRIOR_START_S) -> "DeviceFirstToken":
        """Return the prior of a device that prefills `rate` tokens a second after `start` seconds."""
        return cls(1 / rate, start)

    def __call__(self, length: float) -> float:
        """Return the seconds to the first token after prefilling `length` tokens."""
        return self.slope * length + self.start

    def observe(self, length: float, seconds: float) -> "DeviceFirstToken":
        """Return the line fitted with one more measurement. Raises ValueError for an invalid length or time.

        The line is a decayed Theil-Sen fit: the median of the slopes between all pairs, weighted by the difference of
        their lengths. Up to a quarter of the measurements may be outliers: a loaded machine, a model still loading.
        """
        if not (0 <= length < float("inf") and 0 <= seconds < float("inf")):
            raise ValueError(
                f"a first token's length and time must be finite and not negative, not {length} tokens and {seconds} s"
            )
        records = (*self.records, (float(length), float(seconds)))[-RECORDS:]
        slope, start = _line(np.array(records), self.slope)
        return replace(self, slope=slope, start=start, records=records)

    def scenarios(self, count: int) -> Array:
        """Return equally likely ratios of measured to predicted time, ascending, shape (count,); all 1 for fewer than 4
        records.
        """
        if len(self.records) < 4:
            return np.ones(count)
        ratios = [seconds / max(self(length), 1e-9) for length, seconds in self.records]
        return np.quantile(ratios, (np.arange(count) + 0.5) / count)

    def as_json(self) -> dict[str, Any]:
        """Return the state as JSON."""
        return {"slope": self.slope, "start": self.start, "records": self.records}

    def restored(self, kept: Mapping[str, Any]) -> "DeviceFirstToken":
        """Restore the line from the result of `as_json`. Raises ValueError if the data is damaged."""
        try:
            records = tuple((float(length), float(seconds)) for length, seconds in kept["records"])
            line = float(kept["slope"]), float(kept["start"])
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"the device's stored speed is not valid: {error!r}") from error
        if not all(0 <= number < float("inf") for number in (*line, *(number for pair in records for number in pair))):
            raise ValueError("the device's stored speed has a negative or infinite number")
        return DeviceFirstToken(*line, records[-RECORDS:])


def _line(records: Array, slope: float) -> tuple[float, float]:
    """Return slope and start of a line fitted to the records, shape (n, 2); keep `slope` if all lengths are alike."""
    lengths, seconds = records.T
    age = 0.5 ** (np.arange(len(lengths))[::-1] / (RECORDS / 2))
    first, second = np.triu_indices(len(lengths), 1)
    difference = lengths[second] - lengths[first]
    known = np.abs(difference) >= 1
    if known.any():
        slopes = (seconds[second] - seconds[first])[known] / difference[known]
        # The old line counts as a pair whose lengths differ by a usual prompt.
        weights = (np.abs(difference) * age[first] * age[second])[known]
        slope = _median(np.append(slopes, slope), np.append(weights, _PRIOR_PROMPT if len(lengths) < 4 else 0.0))
    slope = max(slope, 0.0)
    return slope, max(_median(seconds - slope * lengths, age), 0.0)


def _median(values: Array, weights: Array) -> float:
    order = np.argsort(values)
    heaped = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(heaped, heaped[-1] / 2)])
