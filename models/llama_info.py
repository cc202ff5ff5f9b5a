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
    """Return the engine's facts; `refused` is why an adapter was not loaded."""
    model_hash = model.model_hash()
    adapting = adapter.hash if adapter else ""
    sliceable = model.sliceable() and keeps_states()
    computed_by = f"{build()} gpu {model.gpu_layers}" if model.gpu_layers else build()
    return EngineInfo(
        model=model.path.name.removesuffix(".gguf"),
        model_hash=model_hash,
        vocabulary=model.vocabulary,
        context=context.size,
        sequences=context.scratch,
        kv_type=kv_type,
        kv_bytes_per_token=kv.bytes_per_token(model.kv_values_per_token(), kv_type),
        kv_key=f"{model_hash} {kv_type} {computed_by}" + (f" {adapting}" if adapting else ""),
        parameters=model.parameters(),
        chat_template=model.chat_template(),
        verifies=max(context.scratch, MOST_LOGITS),
        bos=model.bos(),
        sliceable=sliceable,
        movable=sliceable and model.rotates() and context.can_shift(),
        adapter=adapting,
        refused=refused,
        asks=bool(adapter and adapter.asks),
        abstention=adapter.abstention if adapter else None,
    )
