"""llama.cpp's C functions with their log silenced, and its error messages. Knows no model and no engine.

Importing llama-cpp-python's package would also import its chat formats, caches and server types, at 0.12 s and 15 MB.
So only its module of C functions is loaded.
"""

import ctypes
import hashlib
import importlib
import os
import sys
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from shared.errors import EngineError

LOG_VARIABLE = "LLAMA_CPP_LOG"
"""The environment variable that lets llama.cpp log to stderr."""

_PACKAGE = "llama_cpp"
_ERROR = 4  # GGML_LOG_LEVEL_ERROR


@cache
def bindings() -> Any:
    """Return the module of C functions (`llama_*`), initialised once.

    Raises EngineError if llama-cpp-python is missing or was built for another machine.
    """
    api = _functions()
    _silence(api)
    api.llama_backend_init()
    return api


def build() -> str:
    """Identify this build of llama.cpp: another build may compute and store attention state differently."""
    library = os.stat(bindings()._lib._name)  # noqa: PTH116 (no Path is needed for it)
    return f"{bindings().LLAMA_STATE_SEQ_VERSION} {library.st_size} {library.st_mtime_ns}"


@cache
def arithmetic() -> str:
    """Identify the compute kernels: the library's files and the processor instructions that they use.

    Together with `build` and a model, this decides whether an exactness verdict is still valid.
    """
    folder = Path(bindings()._lib._name).resolve().parent
    kernels = sorted(
        f"{file.name} {file.stat().st_size} {file.stat().st_mtime_ns}" for file in folder.glob("*ggml-cpu*")
    )
    used = "\n".join([bindings().llama_print_system_info().decode(), *kernels])
    return hashlib.blake2b(used.encode(), digest_size=8).hexdigest()


def offloads() -> bool:
    """Return whether this build can compute layers on a GPU."""
    return bool(bindings().llama_supports_gpu_offload())


def has_tiles() -> bool:
    """Return whether this build would multiply in AMX tiles, which must not be used.

    GCC before version 13 writes an incomplete tile configuration, and the process dies at its first prefill. Also, a
    batch in tiles and a single token do not agree to the bit, which slices rely on.
    """
    return b"AMX_INT8 = 1" in bindings().llama_print_system_info()


def why(call: Callable[[], object]) -> str:
    """Repeat a failed call and return the errors that llama.cpp logs meanwhile.

    The log is not read during the first call, as Ctrl-C during a callback from C would be lost.
    """
    api = bindings()
    said: list[str] = []

    def listen(level: int, text: bytes, _: object) -> None:
        if level == _ERROR:
            said.append(text.decode("utf-8", "replace").strip())

    callback = api.llama_log_callback(listen)
    api.llama_log_set(callback, None)
    try:
        call()
    finally:
        _silence(api)
    return "; ".join(said) or "llama.cpp gave no reason"


def set_environment() -> None:
    """Set the environment variables that llama.cpp reads when it is loaded.

    A program with threads calls this before it starts the first one: in C, changing the environment while another
    thread reads it ends the process.
    """
    # OpenMP's threads wait for each other by spinning, by default so long that another busy process stalls them all:
    # next to three such processes, 4 threads decoded 0.7 tokens/s by default, and 32 with this value.
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")


def _silence(api: Any) -> None:
    if os.environ.get(LOG_VARIABLE):
        api.llama_log_set(ctypes.cast(0, api.llama_log_callback), None)
        return
    # Any C function that ignores its arguments and does nothing.
    nothing = ctypes.cast(ctypes.pythonapi.Py_IsInitialized, api.llama_log_callback)
    api.llama_log_set(nothing, None)


def _functions() -> ModuleType:
    set_environment()
    spec = find_spec(_PACKAGE)
    if spec is None or spec.submodule_search_locations is None:
        raise EngineError("llama-cpp-python is not installed. Run: pip install llama-cpp-python")
    bare = ModuleType(_PACKAGE)
    bare.__path__ = list(spec.submodule_search_locations)
    package = sys.modules.setdefault(_PACKAGE, bare)
    try:
        return importlib.import_module(f"{_PACKAGE}.llama_cpp")
    except (ImportError, OSError, RuntimeError) as error:
        raise EngineError(
            f"llama-cpp-python cannot be loaded ({error}). Build it on this machine: "
            "pip install --force-reinstall --no-binary llama-cpp-python --no-cache-dir llama-cpp-python"
        ) from error
    finally:
        if package is bare:
            del sys.modules[_PACKAGE]
