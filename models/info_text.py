"""Writes the facts about a model as text for `models info`."""

from collections.abc import Callable, Mapping
from typing import Any

from models.forecast import megabytes
from shared.printable import safe_line


def spelled_size(size: int) -> str:
    """Return a size in bytes as text in megabytes; 0 stands for an unknown size."""
    return megabytes(size) if size else "unknown"


def spelled(title: str, value: object) -> str:
    """Return a fact's value as text for `models info`; `title` is the fact's key, such as "size"."""
    if value is None and title != "adapter":
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if title in _LINES:
        return _LINES[title](value) if isinstance(value, dict) else "none"
    if title in ("size", "memory"):
        return spelled_size(int(str(value)))
    if isinstance(value, dict):
        return (
            "\n".join(f"{name}\n  {digest}" for name, digest in value.items()) or "known once the model is downloaded"
        )
    return f"{value:,}" if isinstance(value, int) else str(value)


def _adapter_lines(adapter: dict[str, Any]) -> str:
    lines = []
    if "hash" in adapter:
        size = f"{adapter['size'] / 1e6:,.1f} MB"
        lines.append(", ".join(filter(None, (adapter["name"], f"rank {adapter['rank']}", size, adapter["licence"]))))
        lines.append(adapter["description"])
    lines.append("used" if adapter["in_force"] else f"not used: {adapter['why_not']}")
    return "\n".join(safe_line(line) for line in lines if line)


def _draft_line(draft: dict[str, Any]) -> str:
    not_used = f" (not used: {draft['why_not']})" if draft["why_not"] else ""
    return safe_line(draft["setting"] + not_used)


def _exactness_line(exactness: dict[str, Any]) -> str:
    return str(exactness["said"])


_LINES: Mapping[str, Callable[[dict[str, Any]], str]] = {
    "adapter": _adapter_lines,
    "draft": _draft_line,
    "exactness": _exactness_line,
}
