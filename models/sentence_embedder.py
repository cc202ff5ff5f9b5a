"""Any sentence-transformers model as an embedder: the one door to that library, behind the extra `embedders`.

Only safetensors are opened, no code of a model is run, and nothing is fetched: a model lies in a folder, or in the
hub's cache on this machine. Knows no index.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from shared.errors import UsageError, WeightsDamaged, WeightsMissing

Side = Literal["query", "passage"]
_PROMPTS: dict[Side, tuple[str, ...]] = {"query": ("query",), "passage": ("document", "passage")}
"""What a model's configuration calls the prefixes of each side."""

_READ = {".safetensors", ".json", ".txt", ".model"}
_CAN_RUN_CODE = {".bin", ".pt", ".pth", ".pkl", ".ckpt"}
_LONGEST_NAME = 80


class SentenceEmbedder:
    """Implements `models.engine.Embedder` with a sentence-transformers model. May be used from several threads.

    `side` says whether its texts are questions or passages, which have prefixes of their own; the vectors of both
    sides belong together. A GPU is used where torch sees one.
    """

    def __init__(self, name: str, prefixes: dict[Side, str], side: Side, threads: int = 0) -> None:
        """`name` is a folder or OWNER/MODEL. Raises UsageError where the extra is not installed, or the model is none
        that may be opened, and WeightsMissing where it is not on this machine.
        """
        self._folder = _find(name)
        _check(self._folder)
        self._name, self._prefixes, self._side, self._threads = name, prefixes, side, threads
        self._using = Lock()  # tokenizers refuse two threads at once

    @cached_property
    def fingerprint(self) -> str:
        """Name the model, the bytes of its files and the prefixes. Reads all of the files."""
        digest = hashlib.sha256(json.dumps(self._prefixes, sort_keys=True).encode())
        for file in sorted(self._files()):
            digest.update(str(file.relative_to(self._folder)).encode())
            with file.open("rb") as stream:
                digest.update(hashlib.file_digest(stream, "sha256").digest())
        return f"{Path(self._name).name[:_LONGEST_NAME]} {digest.hexdigest()[:16]}"

    @property
    def dimensions(self) -> int:
        """Length of a vector. Loads the model."""
        with self._using:
            return self._dimensions

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return unit vectors, shape (len(texts), dimensions), in the order of the texts."""
        # Lone surrogates have no UTF-8 and would be refused.
        clean = [(self._prefixes[self._side] + text).encode("utf-8", "replace").decode() for text in texts]
        with self._using:
            if not clean:
                return np.empty((0, self._dimensions), np.float32)
            vectors: npt.NDArray[np.float32] = self._model.encode(
                clean, prompt="", normalize_embeddings=True, convert_to_numpy=True, show_progress_bar=False
            ).astype(np.float32, copy=False)
        return vectors

    @cached_property
    def _dimensions(self) -> int:
        model = self._model
        # The second is what versions before 5 call it.
        size = getattr(model, "get_embedding_dimension", None) or model.get_sentence_embedding_dimension
        return int(size())

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
        except Exception as error:  # the library's errors share no base but this
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
    """Return the prefixes that the model's own configuration names, "" for a side where it names none.

    Raises as `SentenceEmbedder` does.
    """
    prompts = _json(_find(name) / "config_sentence_transformers.json", {}).get("prompts") or {}
    return {
        side: next((str(prompts[known]) for known in names if prompts.get(known)), "")
        for side, names in _PROMPTS.items()
    }


def address(name: str) -> str:
    """Return how an index names the model: a folder by its absolute path, another one by its name on the hub."""
    folder = Path(name).expanduser()
    return str(folder.absolute()) if folder.is_dir() else name


def _find(name: str) -> Path:
    if not find_spec("sentence_transformers"):
        raise UsageError(
            "Another embedder needs an extra. Install it, in the folder of Jackdaw's source: "
            "scripts/install server embedders"
        )
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
    except Exception as error:  # of a name that is none, and of a model that is not in the cache
        raise WeightsMissing(
            f"The embedder {name} is not on this machine. Name its folder, or fetch it: "
            f"hf download {name} --exclude '*.bin' '*.h5' '*.ot' '*.onnx'"
        ) from error


def _check(folder: Path) -> None:
    """Raise UsageError for a model that could run code of its own when it is opened, and for a folder that is none."""
    modules = _json(folder / "modules.json", [{"path": "", "type": "sentence_transformers."}])
    if not (folder / "modules.json").is_file() and not (folder / "config.json").is_file():
        raise UsageError(f"{folder} is no sentence-transformers model: it has neither modules.json nor config.json.")
    for module in modules:
        path, kind = str(module.get("path", "")), str(module.get("type", ""))
        if not kind.startswith("sentence_transformers."):
            raise UsageError(
                f"The embedder in {folder} brings code of its own ({kind}), which is never run. Choose another."
            )
        inside = (folder / path).absolute()
        suffixes = {file.suffix for file in inside.iterdir()} if inside.is_dir() else set()
        if ".." in Path(path).parts or (suffixes & _CAN_RUN_CODE and ".safetensors" not in suffixes):
            raise UsageError(
                f"The embedder in {inside} has no safetensors, and other files of weights can run code when they are "
                "opened. Choose a model with model.safetensors."
            )


def _json(file: Path, otherwise: Any) -> Any:
    try:
        return json.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        return otherwise
    except (OSError, ValueError) as error:
        raise WeightsDamaged(f"{file} cannot be read ({error}). Fetch the model again.") from error
