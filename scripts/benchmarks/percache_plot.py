"""Draws the figures of the benchmark `percache` as an SVG file: latency by arm and user, and the effect of the swept
settings.
"""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

WIDTH, ROW, LABEL, PANEL = 900, 18, 190, 160
_INK, _BAR, _OWN = "#333333", "#8aa4c8", "#d0782a"


def drawn(figures: Mapping[str, Any]) -> str:
    """Return the complete drawing of the figures, as SVG."""
    parts: list[str] = []
    top = 10
    for users in ("lihuaworld", "qmsum"):
        if users in figures:
            parts += _bars(top, f"{users}: mean ms from question to answer", figures[users])
            top += ROW * (len(figures[users]) + 2) + 10
    sweeps = figures.get("sweep", {})
    for number, (name, values) in enumerate(sweeps.items()):
        left = 10 + number % 2 * (WIDTH // 2)
        parts += _line(left, top + number // 2 * (PANEL + 40), f"mean ms by {name}", values)
    height = top + (len(sweeps) + 1) // 2 * (PANEL + 40)
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" font-family="sans-serif" '
        f'font-size="12" fill="{_INK}"><rect width="100%" height="100%" fill="white"/>\n{body}\n</svg>\n'
    )


def _bars(top: int, title: str, arms: Mapping[str, Mapping[str, Any]]) -> Iterable[str]:
    longest = max(arm["mean_ms"] for arm in arms.values())
    yield _text(10, top + ROW, title, weight="bold")
    for number, (name, arm) in enumerate(arms.items(), 1):
        y = top + ROW * number + 6
        length = (WIDTH - LABEL - 240) * arm["mean_ms"] / longest
        color = _OWN if name.startswith("jackdaw") else _BAR
        yield _text(10, y + 13, name)
        yield f'<rect x="{LABEL}" y="{y}" width="{length:.1f}" height="{ROW - 4}" fill="{color}"/>'
        note = f"{arm['mean_ms']:.0f} ms, {arm['qa_hit']:.0%} served ({arm['false_hit']:.0%} false)"
        yield _text(LABEL + length + 6, y + 13, note)


def _line(left: int, top: int, title: str, values: Mapping[str, Mapping[str, Any]]) -> Iterable[str]:
    times = [row["mean_ms"] for row in values.values()]
    width, highest = WIDTH // 2 - 80, max(times)
    points = [
        (left + 20 + width * number / max(len(times) - 1, 1), top + PANEL - (PANEL - 40) * ms / highest)
        for number, ms in enumerate(times)
    ]
    yield _text(left, top + 14, title, weight="bold")
    yield f'<polyline fill="none" stroke="{_OWN}" stroke-width="2" points="{_points(points)}"/>'
    for (x, y), (value, row) in zip(points, values.items(), strict=True):
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{_OWN}"/>'
        yield _text(x - 10, y - 8, f"{row['mean_ms']:.0f}")
        yield _text(x - 10, top + PANEL + 16, value)


def _points(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _text(x: float, y: float, text: str, weight: str = "normal") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-weight="{weight}">{escape(text)}</text>'
