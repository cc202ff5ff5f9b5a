"""Prints a hash of everything that an engine computes: `python -m tests.bindings_digest KV_TYPE FILE [ADAPTER]`.

The environment variable `LLAMA_CPP_BINDINGS` chooses one of two Python bindings of llama.cpp. If both choices print the
same hash, both bindings compute the same values, bit for bit.
"""

import hashlib
import sys
from pathlib import Path

from models.llama_bindings import arithmetic, bindings, build
from models.llama_cpp import LlamaCppEngine
from models.llama_features import LlamaFeatureEngine
from models.llama_model import LlamaModel

TEXT = "The heron stood still by the cold river, and nobody called the ferry. "


def digest(kv_type: str, file: Path, adapter: Path | None) -> str:
    """Return a hash of the tokens, logits, features and KV states that an engine computes, and of the engine's
    description.
    """
    assert kv_type in ("f16", "q8_0")
    engine: LlamaCppEngine = LlamaFeatureEngine(
        LlamaModel(file),
        context=512,
        sequences=2,
        threads=1,
        kv_type="f16" if kv_type == "f16" else "q8_0",
        adapter=adapter,
    )
    assert not engine.info.refused
    assert bool(engine.info.adapter) == bool(adapter)
    seen = hashlib.blake2b(f"{build()} {arithmetic()} {engine.info} {engine.vocabulary_hash()}".encode())
    tokens = engine.tokenize(TEXT * 2) or [*range(60)]
    seen.update(repr(tokens).encode() + engine.detokenize(tokens))
    seen.update(engine.prefill(0, tokens[:-4]).tobytes())
    for rows in engine.verify({0: tokens[-4:-1]}).values():
        for row in rows:
            seen.update(row.tobytes())
    seen.update(engine.decode({0: tokens[-1]})[0].tobytes())
    slices = [engine.slice(0, 0, 8), engine.slice(0, 8, 20)]
    for piece in slices:
        seen.update(piece.data)
    engine.rollback(0, 5)
    seen.update(engine.decode({0: 7})[0].tobytes())
    engine.join(1, slices)
    seen.update(engine.prefill(1, tokens[20:30]).tobytes())
    engine.join_moved(1, slices[1])
    seen.update(engine.decode({1: 7})[1].tobytes())
    engine.close()
    return seen.hexdigest()


if __name__ == "__main__":
    print(
        type(bindings()).__name__, digest(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]) if sys.argv[3:] else None)
    )
