"""Switches off the telemetry of libraries before any of them is imported.

onnxruntime starts its telemetry on import: it keeps a device id and events in a folder of its own and sends them to its
maker. The other libraries report to their makers, or contact a model hub, unless disabled. Each package calls
`switch_off` in its `__init__`, so that it runs first in every process; child processes inherit the variables.
"""

import os
from collections.abc import Mapping, MutableMapping

OFF: Mapping[str, str] = {
    "ORT_DISABLE_TELEMETRY": "1",  # onnxruntime; its own call to switch telemetry off comes too late, after the import
    "RAY_USAGE_STATS_ENABLED": "0",
    "HF_HUB_DISABLE_TELEMETRY": "1",  # the Hugging Face client, which tokenizers and transformers may import
    "HF_HUB_OFFLINE": "1",  # only `jackdaw models pull` downloads models, and it does not use that client
    "DO_NOT_TRACK": "1",  # any other library that honours it
}
"""Environment variables, each with the value that switches off a library's reports."""

LEFT_BEHIND = "contains a device id and events that onnxruntime collected for its maker; Jackdaw no longer adds to them"


def switch_off(environment: MutableMapping[str, str] = os.environ) -> None:
    """Set each variable of OFF, replacing other values."""
    environment.update(OFF)


def is_off(environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether each variable of OFF has its value."""
    return all(environment.get(name) == value for name, value in OFF.items())


def left_behind(environment: Mapping[str, str]) -> list[str]:
    """Return the existing folders of onnxruntime's telemetry.

    Earlier versions of Jackdaw created them; other programs that use onnxruntime may have, too.
    """
    caches = [environment.get("XDG_CACHE_HOME")]
    if home := environment.get("HOME"):
        caches += [f"{home}/.cache", f"{home}/Library/Application Support", f"{home}/Library/Caches"]
    folders = [f"{cache}/Microsoft/DeveloperTools/.onnxruntime" for cache in caches if cache]
    # Every process imports this module, and importing pathlib would delay the app's first frame by 10 ms.
    return [folder for folder in dict.fromkeys(folders) if os.path.isdir(folder)]  # noqa: PTH112
