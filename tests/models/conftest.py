"""Fixtures with the torch engine on the real weights, which are dequantised once and stored beside the
original files.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from models.engine import Engine
from models.llama_model import LlamaModel


@pytest.fixture(scope="session")
def torch_engine(weights: Path) -> Callable[..., Engine]:
    """Makes torch engines that share one copy of the weights; the arguments are those of TorchEngine."""
    torch = pytest.importorskip("torch", reason="needs the research extra")
    from models.research import torch_weights
    from models.research.torch_engine import TorchEngine
    from models.research.torch_llama import TorchLlama

    torch.set_num_threads(1)  # as with llama.cpp: workers must not starve each other
    path = weights / "smollm2-135m-instruct.q8_0.gguf"
    model = LlamaModel(path)
    with FileLock(weights / ".torch.lock"):
        network = TorchLlama(*torch_weights.load(path, model.model_hash(), weights / "torch"))
    model.close()

    def make(**settings: Any) -> Engine:
        return TorchEngine(LlamaModel(path), network, **settings)

    return make
