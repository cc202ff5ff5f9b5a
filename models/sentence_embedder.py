"""A sentence-transformers model as an embedder. Only this module uses that library (the extra `embedders`).

Only safetensors are opened, no code of a model is run, and nothing is downloaded: a model is in a folder, or in the
hub's cache on this machine. Independent of the index.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from functools import cached_property, partial
from importlib.util import find_spec
from pathlib import Path, PureWindowsPath
from threading import Lock
from typing import Any, Literal, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from models.embedding_pool import EmbeddingPool, processes_for
from shared.errors import UsageError, WeightsDamaged, WeightsMissing
from shared.extras import remedy

Side = Literal["query", "passage"]
_PROMPTS: dict[Side, tuple[str, ...]] = {"query": ("query",), "passage": ("document", "passage")}
"""The keys under which a model's configuration may hold the prefix of questions or of passages, in the order of
preference.
"""

_READ = {".safetensors", ".json", ".txt", ".model"}
_CAN_RUN_CODE = {".bin", ".pt", ".pth", ".pkl", ".ckpt"}
_LONGEST_NAME = 80

_LIBRARY = "sentence_transformers."
_KINDS = {"Transformer", "Pooling", "Normalize", "Dense", "LayerNorm", "Dropout"}
"""The classes of modules that may be loaded; other classes could name further modules and files in their own
configurations.
"""

_Form = TypeVar("_Form")


class _Module(msgspec.Struct):
    """An entry of the file modules.json: the module's folder, and its class."""

    path: str
    type: str


class _Configuration(msgspec.Struct):
    prompts: dict[str, str | None] | None = None


class SentenceEmbedder:
    """A sentence-transformers model, which implements `models.engine.Embedder`. Thread-safe.

    `side` says whether its texts are questions or passages, which have prefixes of their own; the vectors of both sides
    are comparable. A GPU is used if torch finds one.
    """

    def __init__(self, name: str, prefixes: dict[Side, str], side: Side, threads: int = 0) -> None:
        """Open the model `name`, given as a folder or as OWNER/MODEL.

        Raises UsageError if the extra is not installed or the model may not be opened, WeightsMissing if it is not on
        this machine.
        """
        self._folder = _find(name)
        _check(self._folder)
        self._name, self._prefixes, self._side, self._threads = name, prefixes, side, threads
        self._using = Lock()  # tokenizers refuse two threads at once
        self._pool: EmbeddingPool | None = None

    @cached_property
    def fingerprint(self) -> str:
        """The model's name and a hash of its files and prefixes. Reads all of the files."""
        digest = hashlib.sha256(json.dumps(self._prefixes, sort_keys=True).encode())
        for file in sorted(self._files()):
            digest.update(str(file.relative_to(self._folder)).encode())
            with file.open("rb") as stream:
                digest.update(hashlib.file_digest(stream, "sha256").digest())
        return f"{Path(self._name).name[:_LONGEST_NAME]} {digest.hexdigest()[:16]}"

    @property
    def dimensions(self) -> int:
        """The length of a vector. Loads the model."""
        with self._using:
            return self._dimensions

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return unit vectors, shape (len(texts), dimensions), in the order of the texts."""
        # Lone surrogates have no UTF-8 and would be refused.
        clean = [(self._prefixes[self._side] + text).encode("utf-8", "replace").decode() for text in texts]
        with self._using:
            if not clean:
                return np.empty((0, self._dimensions), np.float32)
            pool = self._pool
            encode = partial(pool.encode, self._model) if pool else self._model.encode
            vectors: npt.NDArray[np.float32] = encode(
                clean, prompt="", normalize_embeddings=True, convert_to_numpy=True, show_progress_bar=False
            ).astype(np.float32, copy=False)
        return vectors

    @contextmanager
    def in_processes(self, memory: int) -> Iterator[None]:
        """Within the `with` block, embed large batches in several processes, as many as the cores and `memory` bytes
        allow; on a GPU, in this process alone. `embed` raises EngineError if such a process fails.
        """
        cores = self._threads or os.cpu_count() or 1
        pool = self._pool = EmbeddingPool(processes_for(cores, memory), cores)
        try:
            yield
        finally:
            self._pool = None
            with self._using:
                pool.close()

    @cached_property
    def _dimensions(self) -> int:
        return int(self._model.get_embedding_dimension())

    @cached_property
    def _model(self) -> Any:
        import torch
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging

        hide_progress: Any = logging.disable_progress_bar  # untyped
        hide_progress()
        if self._threads:
            torch.set_num_threads(self._threads)
        try:
            return SentenceTransformer(
                str(self._folder),
                device="cuda" if torch.cuda.is_available() else "cpu",
                trust_remote_code=False,
                local_files_only=True,
                model_kwargs={"use_safetensors": True},
            )
        except Exception as error:  # the library's errors have no other common base
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise WeightsDamaged(
                f"The embedder in {self._folder} cannot be loaded ({reason}). Fetch it again."
            ) from error

    def _files(self) -> Iterator[Path]:
        for file in self._folder.rglob("*"):
            hidden = any(part.startswith(".") for part in file.relative_to(self._folder).parts)
            if file.suffix in _READ and file.is_file() and not hidden:
                yield file


def prefixes_of(name: str) -> dict[Side, str]:
    """Return the prefixes of questions and of passages in the model's own configuration; "" if there is none.

    Raises the errors of `SentenceEmbedder`.
    """
    configuration = _read(_find(name) / "config_sentence_transformers.json", _Configuration)
    prompts = (configuration and configuration.prompts) or {}
    return {
        side: next((prompt for known in names if (prompt := prompts.get(known))), "")
        for side, names in _PROMPTS.items()
    }


def address(name: str) -> str:
    """Return the model's name as an index stores it: the absolute path of a folder, or the name on the hub."""
    folder = Path(name).expanduser()
    return str(folder.absolute()) if folder.is_dir() else name


def _find(name: str) -> Path:
    if not find_spec("sentence_transformers"):
        raise UsageError(f"Another embedder needs an extra. {remedy('server', 'embedders')}")
    folder = Path(name).expanduser()
    if folder.is_dir():
        return folder.absolute()
    if not re.fullmatch(r"\w[\w.-]*(/\w[\w.-]*)?", name):
        raise UsageError(
            f"There is no folder {name}. Name the folder of a sentence-transformers model, or OWNER/MODEL."
        )
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name, local_files_only=True))
    except Exception as error:  # an invalid name, or a model that is not in the cache
        raise WeightsMissing(
            f"The embedder {name} is not on this machine. Name its folder, or fetch it: "
            f"hf download {name} --exclude '*.bin' '*.h5' '*.ot' '*.onnx'"
        ) from error


def _check(folder: Path) -> None:
    """Raise UsageError for a model that could run its own code when opened, and for a folder without a model.

    Raises WeightsDamaged if the model's list of modules cannot be read.
    """
    if not (folder / "modules.json").is_file() and not (folder / "config.json").is_file():
        raise UsageError(f"{folder} is not a sentence-transformers model: it has neither modules.json nor config.json.")
    for module in _read(folder / "modules.json", list[_Module]) or [_Module("", f"{_LIBRARY}models.Transformer")]:
        kind = module.type.rpartition(".")[2]
        if not module.type.startswith(_LIBRARY):
            raise UsageError(
                f"The embedder in {folder} brings code of its own ({module.type}), which is never run. Choose another."
            )
        if kind not in _KINDS:
            raise UsageError(
                f"The embedder in {folder} has a module of a kind that is not opened ({kind}). Choose an embedder that "
                f"has only modules of these kinds: {', '.join(sorted(_KINDS))}."
            )
        path = PureWindowsPath(module.path)  # which knows the separators of all systems
        if path.anchor or ".." in path.parts:
            raise UsageError(f"The embedder in {folder} has a module outside it ({module.path}). Choose another.")
        _check_weights(folder / module.path, may_be_split=kind == "Transformer")


def _check_weights(folder: Path, *, may_be_split: bool) -> None:
    """Raise UsageError if the weights are only in files that can run code, and not in safetensors."""
    names = [file.name for file in folder.iterdir()] if folder.is_dir() else []
    known = ["model.safetensors", *(["model-*.safetensors"] if may_be_split else [])]
    is_safe = any(fnmatchcase(name, pattern) for name in names for pattern in known)
    if not is_safe and any(Path(name).suffix in _CAN_RUN_CODE for name in names):
        raise UsageError(
            f"The embedder in {folder} has no safetensors, and other files of weights can run code when they are "
            "opened. Choose a model with model.safetensors."
        )


def _read(file: Path, form: type[_Form]) -> _Form | None:
    """Return the content of a JSON file; None if there is no file. Raises WeightsDamaged."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=form)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, msgspec.MsgspecError) as error:
        raise WeightsDamaged(f"{file} cannot be read ({error}). Fetch the model again.") from error
