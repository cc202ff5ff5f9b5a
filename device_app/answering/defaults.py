"""The options for answering a question, derived from the current settings."""

import hashlib

from device_app.inference import sureness
from device_app.knowledge import proof
from device_app.question.options import Options, Plan
from device_app.settings import Settings
from models import catalog
from models.forecast import Room, megabytes, memory_of
from models.sampling import SamplingSettings
from shared.prompt import SYSTEM

TOP_K = 40
"""Number of likeliest tokens to sample from with a temperature; `min_p` mostly leaves fewer."""


def chosen(settings: Settings, weights: catalog.Weights, adapter: str) -> Options:
    """Return the options for questions under these settings; `adapter` is the hash of the model's adapter. Raises
    UsageError.
    """
    answer, link = settings.answer, settings.link
    model = catalog.find(settings.model.name, "engine")
    plan = Plan(
        passages=answer.passages or model.passages,
        arrangement=model.arrangement if answer.arrangement == "auto" else answer.arrangement,
        summaries=model.summaries if answer.summaries == "auto" else answer.summaries,
    )
    sampling = SamplingSettings(
        temperature=answer.temperature,
        top_k=TOP_K,
        min_p=answer.min_p,
        repetition_penalty=answer.repetition_penalty,
        seed=answer.seed,
    )
    embedder = catalog.find(settings.embedder.name, "embedder")
    hashes = [sorted(weights.hashes(entry).items()) for entry in (model, embedder)]
    cut = answer.max_tokens, answer.relevance, answer.evidence
    states = settings.model.kv, settings.model.context, "exact"
    following = (answer.weights_every,) if answer.weights_every else ()
    decides = (SYSTEM, hashes, *states, plan, sampling, cut, sureness.LIMITS, proof.HOLDS, *following)
    return Options(
        plan=plan,
        sampling=sampling,
        max_tokens=answer.max_tokens,
        relevance=answer.relevance,
        evidence=answer.evidence,
        bare=f"{model.name} {hashlib.blake2b(repr(decides).encode(), digest_size=8).hexdigest()}",
        adapter=adapter,
        reach=link.together,
        open=link.privacy == "open",
        aggregation=link.aggregation,
        weights_every=answer.weights_every,
        unsuited=_unsuited(model, Room(settings.model.context, settings.model.kv)),
    )


def _unsuited(model: catalog.Entry, room: Room) -> str:
    """Return why the model is too small to answer requests without files, and which model is not; "" if it is not."""
    if not model.too_small:
        return ""
    larger = catalog.least_for_writing()
    takes = f"{larger.name}, with about {megabytes(memory_of(larger, room))} of memory"
    return (
        f"This needs no file of yours, and {model.name}, the model of this device, is too small to write it well. "
        f"It takes a larger model ({takes}: jackdaw models use {larger.name}). "
        "To let the model write all the same: jackdaw ask --model-only, or /model-only in the app."
    )
