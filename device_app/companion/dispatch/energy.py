"""Learns the joules per billion operations on this device from its battery's readings between answers.

During a period on battery: joules drawn = idle watts · seconds + joules per GFLOP · GFLOPs. Both unknowns follow from
decayed least squares; the prior, which is the setting, does not decay. Pure: uses no clock and no file.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from device_app.system.battery import Reading

LEAST_S, MOST_S = 60.0, 1800.0
"""The fewest and the most seconds of a usable period.

It is long enough to average the screen's power, and short enough to be uniform.
"""

LEAST_STEPS = 5
"""The fewest steps of the battery's counter in a usable period; a smaller difference is mostly rounding."""

HALF_LIFE = 256
"""The number of periods after which a period's weight is halved."""

RANGE = 8.0
"""The largest factor by which the estimate may be above or below the setting."""

MOVE = 1.2
"""The largest factor by which one period changes the estimate."""

_IDLE_W, _MOST_IDLE_W = 6.0, 60.0
_WANDERS_W = 2.0
"""The assumed variation of other programs' consumption, in watts."""

_NOTHING = 1e-9
_MOST_W = 200.0
"""A power in watts that no laptop draws; a higher measurement means that the battery's counter is broken."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """A period between two readings of the battery: the energy drawn and the work done.

    `step_joules` is one step of the battery's counter.
    """

    seconds: float
    gflops: float
    joules: float
    step_joules: float

    @property
    def tells(self) -> bool:
        """Whether the period is long enough, and the battery's counter moved far enough, to learn from."""
        return self.seconds >= LEAST_S and self.joules >= LEAST_STEPS * self.step_joules


def between(before: Reading, after: Reading, gflops: float) -> Stretch | None:
    """Return the period between two readings, in which this device computed `gflops`; None if it cannot be used.

    A period is not used if the device was charged or suspended, a battery was added or removed, or the counter is
    implausible.
    """
    seconds = after.at_s - before.at_s
    pairs = list(zip(before.batteries, after.batteries, strict=False))
    same = [battery.name for battery in before.batteries] == [battery.name for battery in after.batteries]
    if not same or not 0 < seconds <= MOST_S or after.asleep_s - before.asleep_s > 1 or gflops < 0:
        return None
    joules = sum((battery.left - other.left) * (battery.volts + other.volts) / 2 for battery, other in pairs)
    step = sum(battery.step * battery.volts for battery in before.batteries)
    return Stretch(seconds, gflops, joules, step) if 0 <= joules <= _MOST_W * seconds else None


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimate in joules per GFLOP. Its share `measured`, 0 to 1, comes from periods, the rest from the setting.

    `stretches` is the number of the periods measured.
    """

    joules_per_gflop: float
    measured: float = 0.0
    stretches: int = 0


@dataclass(frozen=True, slots=True)
class Energy:
    """The state of the estimate: sums over all periods.

    `held` is the estimate in joules per GFLOP, 0 before the first period; `count` is the number of periods. `sums` are
    of s·s, s·g, g·g, s·j and g·j over seconds s, GFLOPs g and joules j of each period, weighted by its certainty and
    age.
    """

    sums: tuple[float, ...] = (0.0,) * 5
    held: float = 0.0
    count: int = 0

    def after(self, stretch: Stretch, prior: float) -> "Energy":
        """Return the estimate updated by a period. `prior` is the setting, in joules per GFLOP; 0 means that energy
        costs nothing.
        """
        if prior < _NOTHING:
            return self
        weight = 1 / ((_WANDERS_W * stretch.seconds) ** 2 + stretch.step_joules**2 / 6)
        s, g, j = stretch.seconds, stretch.gflops, stretch.joules
        new = (s * s, s * g, g * g, s * j, g * j)
        fades = 0.5 ** (1 / HALF_LIFE)
        sums = tuple(fades * before + weight * added for before, added in zip(self.sums, new, strict=True))
        held = self.estimate(prior).joules_per_gflop
        learned = Energy(sums, held, self.count + 1)
        solved = min(max(learned._solved(prior), held / MOVE), held * MOVE)
        return replace(learned, held=_within(solved, prior))

    def estimate(self, prior: float) -> Estimate:
        """Return the estimate, which equals the setting `prior` before the first period."""
        if not self.count or prior < _NOTHING:
            return Estimate(prior)
        ss, sg, gg, _, _ = self.sums
        known = max(gg - sg**2 / (ss + _IDLE_W**-2), 0.0)  # information on joules per GFLOP, idle watts aside
        return Estimate(_within(self.held, prior), known / (known + prior**-2), self.count)

    def _solved(self, prior: float) -> float:
        """Return the least-squares joules per GFLOP; prior terms draw it to `prior` and the idle watts to `_IDLE_W`."""
        a, b, d, e, f = self.sums
        a, d, e, f = a + _IDLE_W**-2, d + prior**-2, e + 1 / _IDLE_W, f + 1 / prior
        idle = min(max((d * e - b * f) / (a * d - b * b), 0.0), _MOST_IDLE_W)
        return (f - b * idle) / d

    def as_json(self) -> dict[str, Any]:
        """Return the state as JSON."""
        return asdict(self)

    @classmethod
    def restored(cls, kept: Mapping[str, Any]) -> "Energy":
        """Restore the sums from the result of `as_json`. Raises ValueError if the data is damaged."""
        try:
            ss, sg, gg, sj, gj = (float(total) for total in kept["sums"])
            energy = cls((ss, sg, gg, sj, gj), float(kept["held"]), int(kept["count"]))
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"the stored energy estimate is not valid: {error!r}") from error
        sound = all(0 <= total < 1e12 for total in (*energy.sums, energy.held)) and sg**2 <= ss * gg * (1 + 1e-9)
        if not sound or energy.count < 0 or (energy.count and not energy.held):
            raise ValueError(f"the stored energy estimate is out of range: {energy}")
        return energy


def _within(joules: float, prior: float) -> float:
    return min(max(joules, prior / RANGE), prior * RANGE)
