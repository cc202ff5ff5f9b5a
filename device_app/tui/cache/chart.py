"""Draws small bar charts in block characters, readable without colours. Pure; uses no widget.

Textual's Sparkline has no scale and no second series, and plotext draws in colours that no theme defines.
"""

from collections.abc import Sequence

_EIGHTHS = " ▁▂▃▄▅▆▇█"
REST = "░"
"""The character that fills a bar of the chart from its value up to the whole of which the value is a part."""


def columns(values: Sequence[float], whole: Sequence[float], height: int) -> list[str]:
    """Return a bar chart as `height` lines from the top: one column per value, scaled to the largest number in `whole`.

    `whole` has a number for each value, of which the value is a part: light shade fills the column from the value up to
    that number. Every value above zero is visible.
    """
    top = max(whole, default=0.0)
    parts = [_column(value, full, top, height) for value, full in zip(values, whole, strict=True)]
    return ["".join(part[row] for part in parts) for row in reversed(range(height))]


def spread(line: str, wide: int) -> str:
    """Return the chart's line with each column widened to `wide` characters, the last of which is a gap."""
    return "".join(mark * (wide - 1) + " " for mark in line) if wide > 1 else line


def rounded(value: float) -> str:
    """Return a number in at most four characters: 940, 1.2k, 35k, 1.2M."""
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= limit:
            scaled = value / limit
            return f"{scaled:.1f}{unit}" if scaled < 9.95 else f"{scaled:.0f}{unit}"
    return f"{value:.0f}" if value >= 9.95 or value == int(value) else f"{value:.1f}"


def _column(value: float, full: float, top: float, height: int) -> list[str]:
    """Return the characters of one column of the chart, `height` of them, from the bottom up."""
    if top <= 0 or full <= 0:
        return [" "] * height
    shade = max(1, round(full / top * height))
    if value >= full:  # no shade above the value, so eighths of a cell can be used
        eighths = max(1, round(full / top * height * 8))
        return [_EIGHTHS[max(0, min(8, eighths - 8 * row))] for row in range(height)]
    filled = max(min(round(value / top * height), shade - 1), 1 if value > 0 else 0)
    return ["█" if row < filled else REST if row < shade else " " for row in range(height)]
