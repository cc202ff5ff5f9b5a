"""llama.cpp's C functions with their log silenced, and its error messages. Independent of models and engines.

The functions are bound by the installed `llama.h` (`models.llama_header`), which is the only way on a phone; or by
llama-cpp-python's module of C functions, if no header is found, or if `BINDINGS_VARIABLE` says so.
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

from models.llama_header import WHEEL_REMEDY, find, load, load_kernels
from shared.errors import EngineError

LOG_VARIABLE = "LLAMA_CPP_LOG"
"""The environment variable that lets llama.cpp log to stderr."""

BINDINGS_VARIABLE = "LLAMA_CPP_BINDINGS"
"""The environment variable that chooses how llama.cpp is bound: `header` or `package`."""

FOLDER_VARIABLE = "LLAMA_CPP_FOLDER"
"""The environment variable that names the folder in which the declarations read from `llama.h` are cached."""

STATE_VERSIONS = frozenset((3,))
"""The versions of llama.cpp's serialised attention state whose layout `models.llama_state` knows."""

_INSTALL = "Run: pip install llama-cpp-python (on Termux: pkg install llama-cpp)"
_PACKAGE = "llama_cpp"
_ERROR = 4  # GGML_LOG_LEVEL_ERROR


@cache
def bindings() -> Any:
    """Return llama.cpp's functions (`llama_*`), struct types and constants, initialised once.

    Raises EngineError if llama.cpp is missing, was built for another machine, or does not fit its header or Jackdaw.
    """
    return _loaded()[0]


def build() -> str:
    """Return an identifier of this build of llama.cpp: another build may compute and store attention state differently.

    It stays the same while the program runs, even if the library's file is replaced.
    """
    return _loaded()[1]


def described() -> str:
    """Return a text that names the loaded library and how it is bound."""
    api = bindings()
    return f"{api._lib._name}, bound by {getattr(api, 'header', _PACKAGE)}"


def keeps_states() -> bool:
    """Return whether attention states can be cut and joined, which requires that their layout in this build is
    known.
    """
    return bindings().LLAMA_STATE_SEQ_VERSION in STATE_VERSIONS


@cache
def arithmetic() -> str:
    """Return an identifier of the compute kernels: the library's files and the processor instructions that they use.

    Together with `build` and a model, it decides whether an exactness verdict is still valid.
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
    batch in tiles and a single token do not agree to the bit, which cached attention states rely on.
    """
    return b"AMX_INT8 = 1" in bindings().llama_print_system_info()


def why(call: Callable[[], object]) -> str:
    """Repeat a failed call and return the first error that llama.cpp logs during it; the others follow from it.

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
    return said[0] if said else "llama.cpp gave no reason"


def set_environment(folder: Path | None = None) -> None:
    """Set the environment variables that are read when llama.cpp is loaded; facts about llama.cpp are cached in
    `folder`.

    A program with threads has to call this before it starts the first one: in C, changing the environment while another
    thread reads it ends the process.
    """
    # OpenMP's threads wait for each other by spinning, by default so long that another busy process stalls them all:
    # next to three such processes, 4 threads decoded 0.7 tokens/s by default, and 32 with this value.
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")
    if folder:
        os.environ.setdefault(FOLDER_VARIABLE, str(folder))


def _silence(api: Any) -> None:
    if os.environ.get(LOG_VARIABLE):
        api.llama_log_set(ctypes.cast(0, api.llama_log_callback), None)
        return
    # Any C function that ignores its arguments and does nothing.
    nothing = ctypes.cast(ctypes.pythonapi.Py_IsInitialized, api.llama_log_callback)
    api.llama_log_set(nothing, None)


@cache
def _loaded() -> tuple[Any, str]:
    """Return the bindings and the identifier of the build."""
    set_environment()
    choice = os.environ.get(BINDINGS_VARIABLE, "")
    if choice not in ("", "header", "package"):
        raise EngineError(f"{BINDINGS_VARIABLE} is {choice!r}. Unset it, or set it to header or package.")
    installed = find() if choice != "package" else None
    if installed is None and choice == "header":
        raise EngineError(f"No installed llama.cpp has its llama.h. {_INSTALL}")
    folder = os.environ.get(FOLDER_VARIABLE)
    api = load(installed, Path(folder) if folder else None) if installed else _from_package()
    _silence(api)
    files = [api._lib._name]
    if installed and (kernels := load_kernels(api, installed)):
        files.append(kernels)  # installed by itself, it can change while the library stays
    api.llama_backend_init()
    facts = [os.stat(file) for file in files]  # noqa: PTH116 (no Path is needed for it)
    return api, " ".join([str(api.LLAMA_STATE_SEQ_VERSION), *(f"{fact.st_size} {fact.st_mtime_ns}" for fact in facts)])


def _from_package() -> ModuleType:
    """Import llama-cpp-python's module of C functions.

    Its whole package would also import chat formats, caches and server types, at 0.12 s and 15 MB.
    """
    spec = find_spec(_PACKAGE)
    if spec is None or spec.submodule_search_locations is None:
        raise EngineError(f"llama.cpp is not installed. {_INSTALL}")
    bare = ModuleType(_PACKAGE)
    bare.__path__ = list(spec.submodule_search_locations)
    package = sys.modules.setdefault(_PACKAGE, bare)
    try:
        return importlib.import_module(f"{_PACKAGE}.llama_cpp")
    except (ImportError, OSError, RuntimeError) as error:
        raise EngineError(f"llama-cpp-python cannot be loaded ({error}). {WHEEL_REMEDY}") from error
    finally:
        if package is bare:
            del sys.modules[_PACKAGE]
