"""Requantises weights with llama.cpp's quantiser. Independent of the catalog.

Q8_0 made from Q4_1 holds the same numbers except for a small rounding error of its own, and is computed faster.
"""

import os
import tempfile
from functools import partial
from pathlib import Path
from typing import Literal

from models.llama_bindings import bindings, why
from models.llama_model import LlamaModel, check_file
from shared.errors import WeightsDamaged, WeightsError

Quantisation = Literal["q8_0", "q4_0", "q4_k_m"]
_FTYPE = {
    "q8_0": "LLAMA_FTYPE_MOSTLY_Q8_0",
    "q4_0": "LLAMA_FTYPE_MOSTLY_Q4_0",
    "q4_k_m": "LLAMA_FTYPE_MOSTLY_Q4_K_M",
}


def requantise(source: Path, target: Path, to: Quantisation = "q8_0", *, threads: int = 4) -> None:
    """Convert the weights in `source` to the quantisation type `to`, and write them to `target`, which appears complete
    or not at all.

    Raises WeightsMissing or WeightsDamaged for the source, WeightsError if the target cannot be written.
    """
    check_file(source)
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
        try:
            os.close(handle)
            _write(source, Path(name), to, threads)
            _commit(Path(name), target)
        finally:
            Path(name).unlink(missing_ok=True)
    except OSError as error:
        raise WeightsError(
            f"{target} cannot be written ({error}). Make room for it, or choose another folder."
        ) from error


def _write(source: Path, target: Path, to: Quantisation, threads: int) -> None:
    api = bindings()
    parameters = api.llama_model_quantize_default_params()
    parameters.ftype = getattr(api, _FTYPE[to])
    parameters.allow_requantize = True
    parameters.nthread = threads
    write = partial(api.llama_model_quantize, os.fsencode(source), os.fsencode(target), parameters)
    if write():
        LlamaModel(source).close()  # raises an error if the source is to blame
        raise WeightsError(
            f"{source.name} could not be written to {target.parent} as {to} ({why(write)}). Check the free disk space."
        )
    # The quantiser may report success on a full disk.
    try:
        LlamaModel(target).close()
    except WeightsDamaged as error:
        raise WeightsError(f"There is too little disk space in {target.parent} for the new weights. {error}") from error


def _commit(written: Path, target: Path) -> None:
    with written.open("rb") as file:
        os.fsync(file.fileno())
    written.replace(target)
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
