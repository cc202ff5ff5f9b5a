"""Collects facts about a device that help Jackdaw's developers: versions, hardware, exactness, speed.

Nothing private is included: no path, file name, question, person or server. Of a check, only its name and level are
included; of a model that the person configured by its path, only that fact.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from device_app.commands.phone import ASKED, NEEDED
from device_app.system import phone, termux
from models.threads import big_cores, threads
from shared.errors import EngineError, JackdawError
from shared.memory import available

if TYPE_CHECKING:
    from device_app.device import Device

Result = TypeVar("Result")

_READ, _WRITTEN = 64, 16
"""The numbers of tokens read and written to measure the model's speed."""

_STARTS, _START_S = 3, 60.0
_MOST_REASON = 400
_CORES = Path("/sys/devices/system/cpu")
_SIZES = ("cpu_capacity", "cpufreq/cpuinfo_max_freq")
_PROPERTIES = {"android": "ro.build.version.release", "api": "ro.build.version.sdk", "chip": "ro.soc.model"}
_PLAIN = re.compile(r"[\w.+:@/() -]{1,60}")
"""Matches values that are harmless in a report: versions, and names of hardware and software."""


def gathered(device: Device, levels: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Return the report; `levels` are the checks of `jackdaw doctor`, each with its level. Loads the model."""
    return {
        "versions": _versions(),
        "platform": _platform(os.environ),
        "processor": _processor(),
        "memory": _memory(device),
        "terminal": _terminal(os.environ),
        "commands": _commands(),
        "model": _model(device),
        "start_ms": _start_ms(),
        "checks": [{"check": check, "level": level} for check, level in levels],
    }


def _versions() -> dict[str, str]:
    """Return the versions of Jackdaw, Python and the libraries; missing libraries are left out."""
    versions = {"python": platform.python_version()}
    with suppress(metadata.PackageNotFoundError):
        versions["jackdaw"] = metadata.version("jackdaw")
        names = {re.split(r"[^\w-]", need)[0] for need in metadata.requires("jackdaw") or () if "extra ==" not in need}
        for name in sorted(names):
            with suppress(metadata.PackageNotFoundError):
                versions[name] = metadata.version(name)
    return versions


def _platform(environment: Mapping[str, str]) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "system": sys.platform,
        "machine": platform.machine(),
        "kernel": _plain(platform.release()),
    }
    if phone.is_phone(environment):
        for name, key in _PROPERTIES.items():
            facts[name] = _plain(termux.call("getprop", key).printed.decode("utf-8", "replace").strip())
        facts["termux"] = _plain(environment.get("TERMUX_VERSION", ""))
        facts["termux_from"] = termux.flavour(environment)
        facts["apps"] = {_plain(source.app): _plain(source.installer) for source in termux.sources()}
    return facts


def _processor() -> dict[str, Any]:
    usable = sorted(os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1))
    cores = Counter(tuple(_number(_CORES / f"cpu{core}" / name) for name in _SIZES) for core in usable)
    listed = [{"cores": count, "capacity": size[0], "khz": size[1]} for size, count in cores.items()]
    return {"cores": listed, "big": len(big_cores(usable)), "threads": threads(0), "features": _features()}


def _features() -> str:
    """Return the processor's instructions, as Linux names them ("Features" on ARM, "flags" elsewhere)."""
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines():
            name, _, listed = line.partition(":")
            if name.strip() in ("Features", "flags"):
                return " ".join(re.findall(r"\b\w{1,30}\b", listed))
    return ""


def _memory(device: Device) -> dict[str, int]:
    import psutil

    folder = device.paths.data
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    sizes = {"total": psutil.virtual_memory().total, "available": available(), "disk_free": free}
    return {name: size // 1_000_000 for name, size in sizes.items()}


def _terminal(environment: Mapping[str, str]) -> dict[str, Any]:
    columns, rows = shutil.get_terminal_size()
    names = ("TERM", "COLORTERM", "TERM_PROGRAM")
    kinds = {name.lower(): _plain(environment.get(name, "")) for name in names}
    return {"columns": columns, "rows": rows, "is_terminal": sys.stdout.isatty(), **kinds}


def _commands() -> dict[str, str]:
    """Say whether each of Termux's commands is installed and, for some, how many milliseconds it takes."""
    if not phone.is_phone():
        return {}
    said = {name: "is there" if termux.find(name) else "is missing" for name in NEEDED}
    for name in filter(termux.find, ASKED):
        reply = termux.call(name)
        said[name] = f"{'answers in' if reply.is_answer else 'fails after'} {reply.ms:,.0f} ms"
        if not reply.ms:
            said[name] = "is silent: it did not answer another check in time"
    return said


def _model(device: Device) -> dict[str, Any]:
    """Load the model and the embedder, and measure them.

    A part that cannot be loaded is reported by its error's class. llama.cpp's reasons, which name libraries, are added,
    unless the person configured the model by its path.
    """
    name = device.settings.model.name
    facts: dict[str, Any] = {"name": "a file" if name.startswith("file:") else name, "kv": device.settings.model.kv}
    try:
        source, facts["load_ms"] = _timed(lambda: device.begin_loading().result())
        engine = source.engine
        tokens = [place * 7919 % engine.info.vocabulary for place in range(_READ)]
        _, read_ms = _timed(lambda: engine.prefill(0, tokens))
        _, write_ms = _timed(lambda: [engine.decode({0: token}) for token in tokens[:_WRITTEN]])
        engine.clear(0)
        facts["read_tokens_per_s"] = round(_READ / read_ms * 1000, 1)
        facts["written_tokens_per_s"] = round(_WRITTEN / write_ms * 1000, 1)
        facts["exact"] = not engine.info.verdict.inexact
        facts["inexact"] = sorted(engine.info.verdict.inexact)
        facts["build"] = engine.info.kv_key
        device.embedder.embed(["warm"])
        _, facts["embed_ms"] = _timed(lambda: device.embedder.embed(["When is the dentist?"]))
    except JackdawError as error:
        facts["error"] = type(error).__name__
        if isinstance(error, EngineError) and not name.startswith("file:"):
            facts["reason"] = str(error).replace(str(Path.home()), "~")[:_MOST_REASON]
    return facts


def _start_ms() -> float | None:
    """Return the least time that `jackdaw --version` takes as a process, in milliseconds."""
    command = [sys.executable, "-c", "from device_app.cli import main; main()", "--version"]
    with suppress(OSError, subprocess.SubprocessError):
        return min(
            _timed(lambda: subprocess.run(command, capture_output=True, check=True, timeout=_START_S))[1]
            for _ in range(_STARTS)
        )
    return None


def _timed(work: Callable[[], Result]) -> tuple[Result, float]:
    """Return the result of the work and how long it took, in milliseconds."""
    began = time.monotonic()
    result = work()
    return result, round((time.monotonic() - began) * 1000, 1)


def _number(file: Path) -> int | None:
    with suppress(OSError, ValueError):
        return int(file.read_text("ascii"))
    return None


def _plain(text: str) -> str:
    """Return a short text unchanged; "" if it may be more than a version or a name of software."""
    return text if _PLAIN.fullmatch(text) else ""
