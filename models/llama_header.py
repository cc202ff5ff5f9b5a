"""Binds an installed llama.cpp at start-up, by the `llama.h` that was installed with it; no compiler is needed.

llama.cpp changes its structs every few weeks, sometimes without changing their size. So the offset of each field is
taken from the header and verified with the library: the library's default parameters are read by these offsets and
checked.
"""

import ctypes
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from models.c_declarations import Field, HeaderError, Signature
from models.c_types import CTypes
from models.facts import FactsFile
from models.llama_calls import CALLS, CONSTANTS, Declarations, declarations
from shared.errors import EngineError

FILE = "llama-header.json"
"""The name of the file, in a folder of the caller's choice, that caches the declarations read from the headers."""

HEADERS = ("llama.h", "ggml.h", "ggml-backend.h")
"""The headers that are read. The first one includes the others."""

_LIBRARIES = ("libllama.so", "libllama.dylib")
_MOST_BYTES = 4_000_000  # of a file; llama.cpp's headers have a tenth of a million
_FORMAT = b"1"  # to be raised when the reader, or what is kept of its results, changes
_SPARE = ctypes.c_ubyte * 512
_F16 = 1  # in GGUF files, too
_DEFAULTS: Mapping[str, Mapping[str, object]] = {
    "llama_context_default_params": {
        **{"n_ctx": 512, "n_batch": 2048, "n_ubatch": 512, "n_seq_max": 1, "type_k": _F16, "type_v": _F16},
        **dict.fromkeys(("cb_eval", "cb_eval_user_data", "abort_callback", "abort_callback_data")),
        **{"embeddings": False, "offload_kqv": True, "no_perf": True, "kv_unified": False},
    },
    "llama_model_default_params": {"progress_callback": None, "vocab_only": False, "use_extra_bufts": True},
    "llama_model_quantize_default_params": {"nthread": 0, "allow_requantize": False, "quantize_output_tensor": True},
}
_BATCH = ("token", "embd", "pos", "n_seq_id", "seq_id", "logits")
WHEEL_REMEDY = (
    "Build it on this machine: pip install --force-reinstall --no-binary llama-cpp-python "
    "--no-cache-dir llama-cpp-python"
)
_PACKAGE_REMEDY = "Run: pkg upgrade. If that does not help, update Jackdaw, which is older than this llama.cpp."


@dataclass(frozen=True, slots=True)
class Installed:
    """An installed library and the folder of its headers; `remedy` tells the user what to do if they do not fit each
    other.
    """

    library: Path
    headers: Path
    remedy: str


def find() -> Installed | None:
    """Return the llama.cpp that llama-cpp-python installed, else that of Termux's package; None if there is neither.

    llama-cpp-python itself is not imported: it raises an error on Android.
    """
    return _from_wheel() or _from_package(os.environ.get("PREFIX", ""))


def load(installed: Installed, folder: Path | None = None) -> Any:
    """Return the functions, struct types and constants of llama.cpp by name; declarations are cached in `folder`.

    Raises EngineError, without having called anything but functions that return defaults, if headers and library do not
    fit each other or Jackdaw.
    """
    try:
        needed = declared(installed, FactsFile(folder, FILE) if folder else None)
        library = ctypes.CDLL(str(installed.library))
        api = _bound(library, needed)
        api.header = installed.headers / HEADERS[0]
        _check(library, api)
    except HeaderError as error:
        header = installed.headers / HEADERS[0]
        raise EngineError(f"{header} {error}, so {installed.library} is not used. {installed.remedy}") from error
    except OSError as error:
        raise EngineError(f"llama.cpp cannot be loaded ({error}). {installed.remedy}") from error
    return api


def load_kernels(api: Any, installed: Installed) -> Path | None:
    """Load the library with the compute kernels, if llama.cpp was built to load it at run time; return its path, else
    None.

    The library is named by its full path, as llama.cpp's own search includes the current directory. Raises EngineError.
    """
    if api.ggml_backend_reg_count():
        return None
    kernels = installed.library.with_name(f"libggml-cpu{installed.library.suffix}")
    if not api.ggml_backend_load(os.fsencode(kernels)):
        raise EngineError(f"llama.cpp cannot load its compute kernels, {kernels}. {installed.remedy}")
    return kernels


def declared(installed: Installed, file: FactsFile | None) -> Declarations:
    """Return the headers' declarations, from the cache file as long as the headers are unchanged. Raises HeaderError
    and OSError.
    """
    texts = [_read(installed.headers / name) for name in HEADERS]
    kept = file.load().get(HEADERS[0]) if file else None
    if (
        isinstance(kept, list)
        and len(kept) == 2
        and kept[0] == _digest(*texts, str(kept[1]).encode("utf-8", "replace"))
    ):
        return _decoded(kept[1])
    from models.c_header import Header  # only now: its patterns take some ms to compile

    read = declarations(Header(*(text.decode("utf-8", "replace") for text in texts)))
    if file:
        text = json.dumps(read)
        file.keep(HEADERS[0], [_digest(*texts, text.encode()), text])
    return read


def _from_wheel() -> Installed | None:
    """Return the llama.cpp that llama-cpp-python's wheel installed, located by the wheel's record of files; None if
    there is none.
    """
    spec = find_spec("llama_cpp")
    if spec is None or not spec.submodule_search_locations or os.environ.get("LLAMA_CPP_LIB_PATH"):
        return None  # with that variable, llama-cpp-python takes another library, whose header is not known
    root = Path(spec.submodule_search_locations[0]).parent
    # Neither Path.glob nor importlib.metadata, which take longer than all else here.
    records = [root / name / "RECORD" for name in os.listdir(root) if name.startswith("llama_cpp_python-")]  # noqa: PTH208
    for record in filter(Path.is_file, records):
        files = [line.partition(",")[0] for line in _read(record).decode("utf-8", "replace").splitlines()]
        headers = next((file for file in files if file.endswith(f"include/{HEADERS[0]}")), None)
        library = next((f"llama_cpp/lib/{name}" for name in _LIBRARIES if f"llama_cpp/lib/{name}" in files), None)
        if headers and library:
            return Installed(root / library, (root / headers).parent, WHEEL_REMEDY)
    return None


def _from_package(prefix: str) -> Installed | None:
    """Return the llama.cpp that Termux's package llama-cpp installed under the prefix; None if there is none."""
    library, headers = Path(prefix, "lib", _LIBRARIES[0]), Path(prefix, "include")
    if prefix and library.is_file() and (headers / HEADERS[0]).is_file():
        return Installed(library, headers, _PACKAGE_REMEDY)
    return None


def _read(file: Path) -> bytes:
    with file.open("rb") as opened:
        return opened.read(_MOST_BYTES)


def _digest(*texts: bytes) -> str:
    """Return a hash of the headers' texts, of the declarations read from them, and of the code that reads them."""
    digest = hashlib.blake2b(digest_size=16)
    for text in (*texts, _FORMAT, CALLS.encode(), *(name.encode() for name in CONSTANTS)):
        digest.update(text + b"\0")
    return digest.hexdigest()


def _decoded(text: str) -> Declarations:
    structs, functions, callbacks, constants = json.loads(text)
    return Declarations(
        {name: tuple(Field(*field) for field in fields) for name, fields in structs.items()},
        {name: Signature(*types) for name, types in functions.items()},
        {name: Signature(*types) for name, types in callbacks.items()},
        constants,
    )


def _bound(library: ctypes.CDLL, declared: Declarations) -> SimpleNamespace:
    types = CTypes(declared.structs)
    callbacks = {name: types.callback(signature) for name, signature in declared.callbacks.items()}
    return SimpleNamespace(
        _lib=library,
        llama_log_callback=callbacks["ggml_log_callback"],
        **{name: types.type(name) for name in declared.structs},
        **{name: types.function(library, name, signature) for name, signature in declared.functions.items()},
        **declared.constants,
    )


def _check(library: ctypes.CDLL, api: Any) -> None:
    """Raise HeaderError unless the library's default parameters, read through the header's structs, have the expected
    values.
    """
    for name, expected in _DEFAULTS.items():
        defaults = _guarded(library, getattr(api, name))
        for field, value in expected.items():
            if (read := getattr(defaults, field)) != value:
                raise HeaderError(f"does not describe this library: {field} by default is {read}, not {value}")
        if defaults.__class__ is api.llama_context_params and not 0 < defaults.n_threads == defaults.n_threads_batch:
            raise HeaderError("does not describe this library: its numbers of threads differ by default")
    tokens = (ctypes.c_int32 * 1)()
    batch = _guarded(library, api.llama_batch_get_one, tokens, 1)
    pointers = {name: ctypes.cast(getattr(batch, name), ctypes.c_void_p).value for name in _BATCH}
    if batch.n_tokens != 1 or pointers != {**dict.fromkeys(_BATCH), "token": ctypes.addressof(tokens)}:
        raise HeaderError("does not describe this library: a batch of one token differs")


def _guarded(library: ctypes.CDLL, function: Any, *arguments: object) -> Any:
    """Call a function that returns a struct, with spare memory after it: the library's struct may be longer than the
    header's.
    """
    guarded = type("Guarded", (ctypes.Structure,), {"_fields_": [("value", function.restype), ("_", _SPARE)]})
    twin = library[function.__name__]
    twin.argtypes, twin.restype = function.argtypes, guarded
    return twin(*arguments).value
