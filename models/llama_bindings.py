"""llama.cpp's C functions, silenced, and how to learn why one of them failed. Knows no model and no engine.

llama-cpp-python's package imports its chat formats, caches and types of server messages on the way: 0.12 s and 15 MB
that nothing here needs. So its module of C functions is loaded alone.
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
"""Set in the environment, it lets llama.cpp log to stderr."""

_PACKAGE = "llama_cpp"
_ERROR = 4  # GGML_LOG_LEVEL_ERROR


@cache
def bindings() -> Any:
    """The module of C functions (`llama_*`), made ready once.

    Raises EngineError where llama-cpp-python is missing or was built for another machine.
    """
    api = _functions()
    _silence(api)
    api.llama_backend_init()
    return api


def build() -> str:
    """Names this build of llama.cpp: another one may compute and lay out attention state otherwise."""
    library = os.stat(bindings()._lib._name)  # noqa: PTH116 (no Path is needed for it)
    return f"{bindings().LLAMA_STATE_SEQ_VERSION} {library.st_size} {library.st_mtime_ns}"


def arithmetic() -> str:
    """Names what computes: the library with the kernels, and the instructions of this processor that it uses.

    `build` and a model named, this tells whether what was found exact still is.
    """
    folder = Path(bindings()._lib._name).resolve().parent
    kernels = sorted(
        f"{file.name} {file.stat().st_size} {file.stat().st_mtime_ns}" for file in folder.glob("*ggml-cpu*")
    )
    used = "\n".join([bindings().llama_print_system_info().decode(), *kernels])
    return hashlib.blake2b(used.encode(), digest_size=8).hexdigest()


def has_tiles() -> bool:
    """Whether this build would multiply in AMX tiles, which it must not.

    GCC before version 13 leaves the tiles' configuration half written, and the process dies at its first prefill; nor
    do a batch in tiles and a single token agree to the bit, which slices rely on.
    """
    return b"AMX_INT8 = 1" in bindings().llama_print_system_info()


def why(call: Callable[[], object]) -> str:
    """The errors that llama.cpp logs while a call that failed is made once more.

    Python does not listen the first time: Ctrl-C during a callback from C would be lost.
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
    return "; ".join(said) or "llama.cpp gives no reason"


def set_environment() -> None:
    """What llama.cpp reads from the environment when it is loaded.

    A program with threads calls this before the first of them: in C, changing the environment while another thread
    reads it ends the process.
    """
    # OpenMP's threads wait for each other by spinning, by default for so long that another busy process stalls them
    # all: beside three such, 4 threads decoded 0.7 tokens/s, and 32 with this.
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")


def _silence(api: Any) -> None:
    if os.environ.get(LOG_VARIABLE):
        api.llama_log_set(ctypes.cast(0, api.llama_log_callback), None)
        return
    # A C function that ignores what it is given and does nothing.
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
