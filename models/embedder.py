"""The embedder all-MiniLM-L6-v2 under onnxruntime, which is imported on first use. Independent of documents and the
store.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from models.minilm_onnx import DIMENSIONS, MAX_TOKENS
from shared.errors import WeightsDamaged, WeightsMissing

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

_BATCH_TOKENS = 1024
"""The most padded tokens in one batch, which take 23 MB of activations; larger batches are no faster."""

_WINDOW = 1024
"""The number of texts that are tokenised and sorted by length together."""


class OnnxEmbedder:
    """An embedder that reads a folder with model.onnx, weights.bin and tokenizer.json.

    `directory` may be a function that returns the folder: it is called at the first use, and its errors are raised.
    Implements `models.engine.Embedder`. Raises WeightsMissing or WeightsDamaged at the first use. Thread-safe.
    """

    fingerprint = f"all-MiniLM-L6-v2 mean {MAX_TOKENS}"
    dimensions = DIMENSIONS

    def __init__(self, directory: Path | Callable[[], Path], threads: int = 4) -> None:
        self._folder = directory
        self._threads = max(1, threads)
        self._making = Lock()  # since Python 3.12 a cached property has no lock

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return unit vectors, shape (len(texts), 384), in the order of the texts; tokens after 256 are ignored.

        Memory beyond the result does not grow with the number of texts.
        """
        vectors = np.empty((len(texts), DIMENSIONS), np.float32)
        for start in range(0, len(texts), _WINDOW):
            self._embed_window(texts[start : start + _WINDOW], vectors[start : start + _WINDOW])
        return vectors

    def _embed_window(self, texts: Sequence[str], vectors: npt.NDArray[np.float32]) -> None:
        tokens = self._tokenize(texts)
        batches = list(_batches([len(row) for row in tokens]))

        with self._making:
            session = self._shared_session if len(batches) == 1 else self._single_session

        def run(batch: list[int]) -> None:
            vectors[batch] = session.run(None, _padded([tokens[row] for row in batch]))[0]

        if len(batches) == 1:
            run(batches[0])
            return
        with ThreadPoolExecutor(self._threads) as pool:
            for _ in pool.map(run, batches):
                pass

    def _tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        # Lone surrogates (from file names, broken mails) cannot be encoded as UTF-8 and would be refused.
        clean = [text.encode("utf-8", "replace").decode() for text in texts]
        with self._making:
            tokenizer = self._tokenizer
        return [encoding.ids for encoding in tokenizer.encode_batch_fast(clean)]

    @cached_property
    def _directory(self) -> Path:
        return self._folder if isinstance(self._folder, Path) else self._folder()

    @cached_property
    def _tokenizer(self) -> "Tokenizer":
        from tokenizers import Tokenizer

        text = self._file("tokenizer.json").read_text(encoding="utf-8")
        try:
            tokenizer = Tokenizer.from_str(text)
        except Exception as error:  # the binding raises nothing narrower
            raise _damaged(self._directory / "tokenizer.json", error) from error
        tokenizer.no_padding()
        tokenizer.enable_truncation(MAX_TOKENS)
        return tokenizer

    @cached_property
    def _shared_session(self) -> "InferenceSession":
        """Return an onnxruntime session that uses all threads for one batch: the fastest for a single question."""
        return self._session(self._threads)

    @cached_property
    def _single_session(self) -> "InferenceSession":
        """Return an onnxruntime session with one thread. Several threads with a batch each then embed more passages per
        second.
        """
        return self._session(1)

    def _session(self, threads: int) -> "InferenceSession":
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        # Threads that spin while waiting would take the processor from the language model.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.log_severity_level = 3
        self._file("weights.bin")
        model = self._file("model.onnx")
        try:
            return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime's errors have no narrower base
            raise _damaged(model, error) from error

    def _file(self, name: str) -> Path:
        path = self._directory / name
        if not path.is_file():
            raise WeightsMissing(f"{path} is not there. Fetch it with `jackdaw models pull all-minilm-l6-v2`.")
        return path


def _damaged(path: Path, error: Exception) -> WeightsDamaged:
    return WeightsDamaged(
        f"{path} cannot be loaded ({str(error).splitlines()[0]}). "
        "Fetch it again with `jackdaw models pull all-minilm-l6-v2`."
    )


def _batches(lengths: Sequence[int], budget: int = _BATCH_TOKENS) -> Iterator[list[int]]:
    """Yield batches of indices with at most `budget` padded tokens, sorted by length so that little is padded, longest
    first.

    A row longer than the budget is a batch of its own.
    """
    order = sorted(range(len(lengths)), key=lengths.__getitem__, reverse=True)
    start = 0
    while start < len(order):
        rows = max(1, budget // max(1, lengths[order[start]]))
        yield order[start : start + rows]
        start += rows


def _padded(rows: Sequence[Sequence[int]]) -> dict[str, npt.NDArray[np.int64]]:
    width = max(len(row) for row in rows)
    ids = np.zeros((len(rows), width), np.int64)
    mask = np.zeros_like(ids)
    for number, row in enumerate(rows):
        ids[number, : len(row)] = row
        mask[number, : len(row)] = 1
    return {"ids": ids, "mask": mask}
