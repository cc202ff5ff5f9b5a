"""Switches off what libraries report about the people who use them, before any of them is imported.

onnxruntime starts its telemetry when it is imported: it keeps a device id and events in a folder of its own and sends
them to its maker. The others here report, or ask a model hub, unless they are told not to. Each package calls
`switch_off` in its `__init__`, so that it comes first whoever starts the process; child processes inherit it.
"""

import os
from collections.abc import Mapping, MutableMapping

OFF: Mapping[str, str] = {
    "ORT_DISABLE_TELEMETRY": "1",  # onnxruntime; once it is imported, its own call to switch it off comes too late
    "RAY_USAGE_STATS_ENABLED": "0",
    "HF_HUB_DISABLE_TELEMETRY": "1",  # the hub's client, which tokenizers and transformers may import
    "HF_HUB_OFFLINE": "1",  # models are pulled by `jackdaw models pull` alone, which does not use that client
    "DO_NOT_TRACK": "1",  # whatever else heeds it
}
"""Environment variables, with the value that switches a report off."""

LEFT_BEHIND = "holds a device id and events that onnxruntime keeps for its maker; nothing adds to it from here"


def switch_off(environment: MutableMapping[str, str] = os.environ) -> None:
    """Set each variable of OFF, whatever it was set to."""
    environment.update(OFF)


def is_off(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether each variable of OFF is set."""
    return all(environment.get(name) == value for name, value in OFF.items())


def left_behind(environment: Mapping[str, str]) -> list[str]:
    """The folders that onnxruntime keeps for its telemetry, as far as they exist and can be seen.

    Jackdaw left them before it switched telemetry off; another program that uses onnxruntime may have, too.
    """
    caches = [environment.get("XDG_CACHE_HOME")]
    if home := environment.get("HOME"):
        caches += [f"{home}/.cache", f"{home}/Library/Application Support", f"{home}/Library/Caches"]
    folders = [f"{cache}/Microsoft/DeveloperTools/.onnxruntime" for cache in caches if cache]
    # Every process imports this module: pathlib would take 10 ms from the app's first frame.
    return [folder for folder in dict.fromkeys(folders) if os.path.isdir(folder)]  # noqa: PTH112
