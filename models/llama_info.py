"""Collects the facts that an engine of llama.cpp reports."""

from models import kv
from models.adapter import Adapter
from models.engine import EngineInfo, KVType
from models.llama_bindings import build, keeps_states
from models.llama_context import MOST_LOGITS, LlamaContext
from models.llama_model import LlamaModel


def described(
    model: LlamaModel, context: LlamaContext, kv_type: KVType, adapter: Adapter | None, refused: str
) -> EngineInfo:
    """Return the facts about an engine; `refused` is the reason why an adapter was not loaded."""
    model_hash = model.model_hash()
    adapting = adapter.hash if adapter else ""
    sliceable = model.sliceable() and keeps_states()
    return EngineInfo(
        model=model.path.name.removesuffix(".gguf"),
        model_hash=model_hash,
        vocabulary=model.vocabulary,
        context=context.size,
        sequences=context.scratch,
        kv_type=kv_type,
        kv_bytes_per_token=kv.bytes_per_token(model.kv_values_per_token(), kv_type),
        kv_key=kv_key(model_hash, kv_type, adapting, gpu_layers=model.gpu_layers, repacks=model.repacks),
        parameters=model.parameters(),
        chat_template=model.chat_template(),
        verifies=max(context.scratch, MOST_LOGITS),
        bos=model.bos(),
        sliceable=sliceable,
        movable=sliceable and model.rotates() and context.can_shift(),
        repacks=model.repacks,
        adapter=adapting,
        refused=refused,
        asks=bool(adapter and adapter.asks),
        abstention=adapter.abstention if adapter else None,
    )


def kv_key(model_hash: str, kv_type: KVType, adapter: str, *, gpu_layers: int, repacks: bool) -> str:
    """Return the value of `EngineInfo.kv_key`; `adapter` is the hash of the adapter in use, or ""."""
    parts = [model_hash, kv_type, build()]
    parts += [f"gpu {gpu_layers}"] if gpu_layers else []
    parts += [] if repacks else ["unpacked"]
    return " ".join([*parts, *filter(None, [adapter])])
