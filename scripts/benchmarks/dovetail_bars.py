"""The limits that the figures of the benchmark `dovetail` have to keep."""

from collections.abc import Mapping
from typing import Any, Final

from scripts.benchmarks.dovetail_arms import Arm
from scripts.inflation.targets import SMALL, TARGETS

BARS: Final[Mapping[Arm, Mapping[str, float]]] = {
    "auto": {SMALL: 1.2, "1.7b-q8_0": 1.55, "1.7b-q4_0": 1.70, "3b-q8_0": 1.65},
    "trained": {"1.7b-q8_0": 1.65, "1.7b-q4_0": 1.88, "3b-q8_0": 1.83},
}
"""The required speedup of an arm for each target, as computed from the costs of passes."""

MERGED: Final = 1.06
"""The required speedup of `trained` relative to `auto`, on the targets of `BARS`."""

SLOWEST: Final = 1.03
"""The greatest allowed time of `auto`, relative to `none`, on any target and kind of prompt."""


def missed(figures: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each required limit that is missed by the speedups computed from the costs of passes."""
    misses = []
    for target in (target for target in TARGETS if target in figures):
        own = figures[target]
        for arm in (arm for arm in BARS if arm in own):
            if own[arm]["speedup"] < BARS[arm].get(target, 0):
                misses.append(f"{target}: {arm} {own[arm]['speedup']} times as fast, not {BARS[arm][target]}")
            for kind, speedup in own[arm]["kinds"].items():
                if speedup < 1 / SLOWEST:
                    misses.append(
                        f"{target}, {kind}: `{arm}` takes {1 / speedup:.3f} times as long as `none`, not {SLOWEST}"
                    )
        if target in BARS["trained"] and "trained" in own:
            ratio = own["trained"]["speedup"] / own["auto"]["speedup"]
            if ratio < MERGED:
                misses.append(f"{target}: trained {ratio:.3f} times as fast as auto, not {MERGED}")
    return misses
