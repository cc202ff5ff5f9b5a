"""The one place where the server's parts are put together."""

from __future__ import annotations

from pathlib import Path

from cloud_server.answering import Answering
from cloud_server.batching import Batch
from cloud_server.prefixes import Prefixes
from cloud_server.retrieval.search import IndexCorpus
from cloud_server.server import CompanionServer
from cloud_server.settings import Settings
from cloud_server.tokens import TokenFile
from models import catalog
from models.threads import threads
from shared.errors import UsageError
from storage.paths import Paths

LOOPBACK = {"127.0.0.1", "::1", "localhost"}


def server(paths: Paths, settings: Settings) -> CompanionServer:
    """The server under these settings. Raises UsageError, WeightsError, EngineError, StoreError."""
    tokens = TokenFile(paths.server_tokens)
    _may_listen(settings, tokens)
    from models.chat_template import parse
    from models.embedder import OnnxEmbedder
    from models.llama_bindings import set_environment

    set_environment()
    from models.llama_cpp import LlamaCppEngine
    from models.llama_model import LlamaModel

    weights = catalog.Weights(paths.weights)
    own = settings.model
    model = LlamaModel(weights.path(catalog.find(own.name, "engine")))
    engine = LlamaCppEngine(
        model,
        context=own.context,
        sequences=own.sequences,
        threads=threads(own.threads),
        kv_type=own.kv,
    )
    embedder = OnnxEmbedder(
        weights.path(catalog.find(settings.embedder.name, "embedder")),
        threads=threads(settings.embedder.threads),
    )
    template = parse(engine.info.chat_template, engine.info.bos)
    passages = corpus(paths, settings, embedder.fingerprint)
    answering = Answering(engine, template, embedder, passages, settings.retrieval.relevance)
    return CompanionServer(settings, tokens, answering, Batch(engine, Prefixes(round(own.prefix_mb * 1_000_000))))


def corpus(paths: Paths, settings: Settings, embedder: str) -> IndexCorpus:
    """The public passages, of vectors that the embedder of this fingerprint made. Empty until an index is built."""
    chosen = settings.retrieval.index
    folder = Path(chosen).expanduser().absolute() if chosen else paths.server_index
    return IndexCorpus(folder, embedder, settings.retrieval.probes)


def _may_listen(settings: Settings, tokens: TokenFile) -> None:
    """Nobody listens beyond this machine without TLS, nor at all without a token that would let somebody in."""
    own = settings.serve
    if own.host not in LOOPBACK and not own.certificate:
        raise UsageError(
            f"{own.host} is seen by other machines, and there is no certificate. Give serve.certificate and serve.key, "
            "or listen on 127.0.0.1."
        )
    if not tokens.entries():
        raise UsageError("There is no token, so nobody could connect. Make one: jackdaw-server token create NAME")
