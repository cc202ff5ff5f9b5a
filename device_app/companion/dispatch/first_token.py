"""When a first token comes (DiSCo §3, §4.2): the server's hardly depends on the prompt, the device's is a line in it.

Both are measured where they matter, at the client, and only while the side was really asked.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from device_app.companion.dispatch.distribution import Array, Distribution

HALF_LIFE = 256
"""Answers after which an observation weighs half: soon enough for a service that changes within days."""

RECORDS = 64
"""Measurements the device's line is fitted to; the older half of them weighs less."""

_PRIOR_PROMPT, _PRIOR_RATE, _PRIOR_START_S = 256.0, 100.0, 0.05


def server() -> Distribution:
    """Times to the first token of a server that was never asked: seconds, about half of one.

    Observe what came; observe as `censored`, with how long it was waited for, what timed out or was cancelled.
    """
    return Distribution.prior(unit=0.001, median=0.6, spread=0.8, half_life=HALF_LIFE)


def lengths(median: float) -> Distribution:
    """Lengths in tokens, of prompts or of answers, before any was seen. An answer cut at its limit is censored."""
    return Distribution.prior(unit=1.0, median=median, spread=0.8, half_life=HALF_LIFE)


@dataclass(frozen=True, slots=True)
class DeviceFirstToken:
    """T_d(l) = slope·l + start, in seconds, of one model on this device.

    `records` are (tokens prefilled, seconds), the newest last. Before the first, the line is the prior's: a prompt of
    256 tokens at `rate` tokens a second.
    """

    slope: float
    start: float
    records: tuple[tuple[float, float], ...] = ()

    @classmethod
    def prior(cls, rate: float = _PRIOR_RATE, start: float = _PRIOR_START_S) -> "DeviceFirstToken":
        """A device that prefills `rate` tokens a second, as its model's size or a benchmark has it."""
        return cls(1 / rate, start)

    def __call__(self, length: float) -> float:
        """Seconds to the first token when so many tokens are to be prefilled."""
        return self.slope * length + self.start

    def observe(self, length: float, seconds: float) -> "DeviceFirstToken":
        """With one more. Raises ValueError for what is no length or time.

        Theil and Sen's line, decayed: the median of the slopes between all pairs, weighed by how far apart their
        lengths are. Up to a quarter of the measurements may be wild: a loaded machine, a model still loading.
        """
        if not (0 <= length < float("inf") and 0 <= seconds < float("inf")):
            raise ValueError(f"no first token after {length} tokens and {seconds} s")
        records = (*self.records, (float(length), float(seconds)))[-RECORDS:]
        slope, start = _line(np.array(records), self.slope)
        return replace(self, slope=slope, start=start, records=records)

    def scenarios(self, count: int) -> Array:
        """Equally likely ratios of the real time to the line's, ascending, shape (count,); 1 before four are known."""
        if len(self.records) < 4:
            return np.ones(count)
        ratios = [seconds / max(self(length), 1e-9) for length, seconds in self.records]
        return np.quantile(ratios, (np.arange(count) + 0.5) / count)

    def as_json(self) -> dict[str, Any]:
        """All there is to it."""
        return {"slope": self.slope, "start": self.start, "records": self.records}

    def restored(self, kept: Mapping[str, Any]) -> "DeviceFirstToken":
        """From an `as_json`. Raises ValueError where that is damaged."""
        try:
            records = tuple((float(length), float(seconds)) for length, seconds in kept["records"])
            line = float(kept["slope"]), float(kept["start"])
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"no line of a device: {error!r}") from error
        if not all(0 <= number < float("inf") for number in (*line, *(number for pair in records for number in pair))):
            raise ValueError("no line of a device: a number is negative or not finite")
        return DeviceFirstToken(*line, records[-RECORDS:])


def _line(records: Array, slope: float) -> tuple[float, float]:
    """Slope and start through the records, shape (n, 2); the slope given where their lengths do not tell one."""
    lengths, seconds = records.T
    age = 0.5 ** (np.arange(len(lengths))[::-1] / (RECORDS / 2))
    first, second = np.triu_indices(len(lengths), 1)
    difference = lengths[second] - lengths[first]
    known = np.abs(difference) >= 1
    if known.any():
        slopes = (seconds[second] - seconds[first])[known] / difference[known]
        # The line before counts as a pair as far apart as a usual prompt is long.
        weights = (np.abs(difference) * age[first] * age[second])[known]
        slope = _median(np.append(slopes, slope), np.append(weights, _PRIOR_PROMPT if len(lengths) < 4 else 0.0))
    slope = max(slope, 0.0)
    return slope, max(_median(seconds - slope * lengths, age), 0.0)


def _median(values: Array, weights: Array) -> float:
    order = np.argsort(values)
    heaped = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(heaped, heaped[-1] / 2)])
