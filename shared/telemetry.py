"""Switches off what libraries report about the people who use them, before any of them is imported.

onnxruntime starts its telemetry when it is imported: it keeps a device id and events in a folder of its own and sends
them to its maker. The others here report, or ask a model hub, unless they are told not to. Each package calls
`switch_off` in its `__init__`, so that it comes first whoever starts the process; child processes inherit it.
"""

import os
from collections.abc import Mapping, MutableMapping
from pathlib import Path

OFF: Mapping[str, str] = {
    "ORT_DISABLE_TELEMETRY": "1",  # onnxruntime; once it is imported, its own call to switch it off comes too late
    "RAY_USAGE_STATS_ENABLED": "0",
    "HF_HUB_DISABLE_TELEMETRY": "1",  # the hub's client, which tokenizers and transformers may import
    "HF_HUB_OFFLINE": "1",  # models are pulled by `jackdaw models pull` alone, which does not use that client
    "DO_NOT_TRACK": "1",  # whatever else heeds it
}
"""Environment variables, with the value that switches a report off."""

LEFT_BEHIND = "holds a device id and events that onnxruntime keeps for its maker; nothing adds to it from here"

_ONNXRUNTIME = Path("Microsoft", "DeveloperTools", ".onnxruntime")


def switch_off(environment: MutableMapping[str, str] = os.environ) -> None:
    """Set each variable of OFF, whatever it was set to."""
    environment.update(OFF)


def left_behind(environment: Mapping[str, str]) -> list[Path]:
    """The folders that onnxruntime keeps for its telemetry and that exist.

    Jackdaw left them before it switched telemetry off; another program that uses onnxruntime may have, too.
    """
    home = Path(environment.get("HOME") or "~").expanduser()
    caches = [
        Path(environment.get("XDG_CACHE_HOME") or home / ".cache"),
        home / ".cache",
        home / "Library" / "Application Support",  # macOS
        home / "Library" / "Caches",
    ]
    return [folder for folder in dict.fromkeys(cache / _ONNXRUNTIME for cache in caches) if folder.is_dir()]
