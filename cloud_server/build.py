"""Builds the server and its parts from the settings."""

from __future__ import annotations

import logging
import os
from datetime import UTC, datetime
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from cloud_server.access import certificate
from cloud_server.access.pairing import PairingFile
from cloud_server.access.self_signed import LOOPBACK
from cloud_server.access.tokens import TokenFile
from cloud_server.engine.batch import Batch
from cloud_server.engine.prefix_cache import PrefixCache
from cloud_server.engine.saved_states import SavedStates
from cloud_server.monitoring.logs import begin_logging
from cloud_server.pipelines.answering import Answering
from cloud_server.pipelines.measurements import MeasurementFile
from cloud_server.pipelines.states_ahead import StatesWriter
from cloud_server.retrieval.corpus import Corpus
from cloud_server.retrieval.folder import FolderIndex
from cloud_server.retrieval.gpu import GpuTier, torch_on
from cloud_server.retrieval.index import Index
from cloud_server.retrieval.opened import StoredPassages
from cloud_server.retrieval.search import IndexCorpus
from cloud_server.retrieval.versions import Versions
from cloud_server.serving.pairing_desk import PairingDesk
from cloud_server.serving.server import CompanionServer
from cloud_server.serving.service import Service
from cloud_server.settings import Model, Settings
from models import catalog
from models.forecast import Room
from models.threads import threads
from shared.errors import JackdawError, UsageError
from shared.extras import remedy
from storage.passage_uses import PassageUses
from storage.paths import Paths

if TYPE_CHECKING:
    from cloud_server.retrieval.versions import IndexMetadata
    from cloud_server.scale.milvus import Milvus
    from models.engine import Embedder
    from models.llama_cpp import LlamaCppEngine
    from storage.ivf_files import Codec

log = logging.getLogger(__name__)


def server(paths: Paths, settings: Settings) -> CompanionServer:
    """Build the companion server from its settings; `may_listen` says whether it may run. Raises UsageError,
    WeightsError, EngineError, StoreError.
    """
    tokens = TokenFile(paths.server_tokens)
    desk = PairingDesk(PairingFile(paths.server_pairing), tokens, lambda: datetime.now(UTC))
    return CompanionServer(settings, tokens, *parts(paths, settings), desk)


def replica(paths: Paths, settings: Settings) -> Service:
    """Build one of several replicas of the service, without sockets, in the calling process.

    Raises UsageError, WeightsError, EngineError, StoreError.
    """
    begin_logging(settings.log.level, as_json=True)
    return Service(settings, TokenFile(paths.server_tokens), *parts(paths, settings))


def parts(paths: Paths, settings: Settings) -> tuple[Answering, Batch]:
    """Build the parts that answer questions: retrieval and prompts, and the batch that generates.

    Raises UsageError, WeightsError, EngineError.
    """
    from models.chat_template import parse
    from models.speculative.draft_setting import free_memory
    from models.speculative.loading import drafting

    folder, own = weights(paths), settings.model
    free = free_memory(own.draft)
    engine = _engine(folder, own)
    facts = index_facts(paths, settings)
    embedder = _question_embedder(settings, folder, facts)
    template = parse(engine.info.chat_template, engine.info.bos)
    passages = corpus(paths, settings, embedder.fingerprint)
    own_relevance = facts.relevance if facts else None
    relevance = settings.retrieval.relevance if own_relevance is None else own_relevance
    anchored, measured = settings.retrieval.anchored, MeasurementFile(paths.server_pipelines)
    uses, in_rows = PassageUses(paths.server_passage_uses), own.arrangement == "rows"
    answering = Answering(engine, template, embedder, passages, relevance, anchored, measured.preferred, uses, in_rows)
    path = folder.path(catalog.find(own.name, "engine"))
    drafts = drafting(folder, own.draft, engine, path, threads(own.threads), free)
    if drafts.refused:
        log.warning(drafts.refused)
    saved = SavedStates(paths.server_states, engine.info.kv_key)
    if unfit := sum(not saved.fits(name) for name in saved.sizes()):
        log.warning(
            f"{unfit:,} KV states in {paths.server_states} are not used: another model, adapter or build made them. "
            "Replace them: jackdaw-server index states"
        )
    return answering, Batch(engine, PrefixCache(_bytes(own.prefix_mb), saved), drafting=drafts)


def states_writer(paths: Paths, settings: Settings) -> StatesWriter:
    """Load the model and build the object that computes KV states of passages ahead, for prompts like the server's.

    Raises UsageError, WeightsError, EngineError, StoreError, NothingFound.
    """
    from models.chat_template import parse

    if settings.retrieval.milvus:
        raise UsageError("KV states are computed only for an index in a folder. Leave retrieval.milvus empty.")
    passages = StoredPassages.open(Versions(_index_folder(paths, settings)).current())
    engine = _engine(weights(paths), settings.model)
    template = parse(engine.info.chat_template, engine.info.bos)
    saved = SavedStates(paths.server_states, engine.info.kv_key)
    return StatesWriter(engine, template, passages, saved, PassageUses(paths.server_passage_uses).hottest())


def _engine(folder: catalog.Weights, own: Model) -> LlamaCppEngine:
    """Load the model, and turn off the features that would change its answers on this machine. Raises UsageError,
    WeightsError, EngineError.
    """
    from models.llama_bindings import set_environment

    set_environment(folder.folder)
    from models import exact_loading
    from models.llama_model import LlamaModel
    from models.soundness import require_sound
    from models.speculative.draft_setting import engine_type

    entry = catalog.find(own.name, "engine")
    require_sound(path := folder.path(entry))
    adapter, gpu_layers = entry.adapter_file(own.adapter), exact_loading.layers(own.gpu_layers)

    def build(setting: exact_loading.Setting) -> LlamaCppEngine:
        model = LlamaModel(path, gpu_layers, repacks=setting.repacks)
        if own.gpu_layers and not model.gpu_layers:
            log.warning("llama-cpp-python is built without a GPU, so the processor computes all layers.")
        return engine_type(own.draft)(
            model,
            context=own.context,
            sequences=own.sequences,
            threads=threads(own.threads),
            kv_type=setting.kv,
            adapter=adapter,
            shared=True,
        )

    chosen = exact_loading.choice(folder.folder, path, own.kv, adapter, gpu_layers)
    engine = exact_loading.load(build, own.kv, chosen, may_wait=True)
    if engine.info.refused:
        log.warning(engine.info.refused)
    setting, verdict = exact_loading.Setting.of(engine.info), engine.info.verdict
    if verdict.inexact or setting != exact_loading.Setting(own.kv):
        log.warning(f"{engine.info.model}: {exact_loading.explained(setting, own.kv, verdict)}.")
    return engine


def weights(paths: Paths) -> catalog.Weights:
    """Return the folder of model files; its error messages name the commands of `jackdaw-server`."""
    return catalog.Weights(paths.weights, "jackdaw-server")


def room(settings: Settings) -> Room:
    """Return the settings that decide how much memory the model takes in addition to its weights."""
    own = settings.model
    return Room(own.context, own.kv, shared=True, kept=_bytes(own.prefix_mb))


def _bytes(megabytes: float) -> int:
    return round(megabytes * 1_000_000)


def index_facts(paths: Paths, settings: Settings) -> IndexMetadata | None:
    """Return the metadata of the current index; None if there is no index, or it cannot be read."""
    try:
        return index(paths, settings, 1).held().facts
    except JackdawError:
        return None


def _question_embedder(settings: Settings, weights: catalog.Weights, facts: IndexMetadata | None) -> Embedder:
    """Return the embedder that made the index. If it cannot be loaded, return the devices' embedder.

    With the devices' embedder, questions get no passages, because its vectors do not fit the index.
    """
    from cloud_server.retrieval.embedders import embedder_for, incomparable, same_model

    def folder() -> Path:
        return weights.path(catalog.find(settings.embedder.name, "embedder"))

    count = threads(settings.embedder.threads)
    if facts and facts.model:
        try:
            embedder = same_model(facts, facts.model, count)
            embedder.embed(["ready"])  # loads the model, so that a failure is noticed before the first question
        except JackdawError as error:
            message = "the embedder of the index cannot be used, so questions get no passages"
            log.error(message, extra={"detail": str(error)})  # noqa: TRY400
        else:
            log.warning(incomparable(facts))
            return embedder
    return embedder_for(None, folder, "query", count)


def corpus(paths: Paths, settings: Settings, embedder: str) -> Corpus:
    """Open the corpus, whose vectors were made by the embedder with the given fingerprint. It is empty until an index
    is built.

    Raises UsageError.
    """
    if settings.retrieval.milvus:
        milvus = _milvus(settings)
        from cloud_server.scale.milvus import MilvusCorpus

        return MilvusCorpus(milvus, embedder)
    own, gpu = settings.retrieval, None
    if own.gpu_mb:
        torch_on("cuda")  # checked now, as it would be too late when the index is opened
        gpu = partial(GpuTier, memory=_bytes(own.gpu_mb))
    memory = _bytes(own.memory_mb)
    return IndexCorpus(_index_folder(paths, settings), embedder, own.probes, memory, gpu=gpu)


def index(paths: Paths, settings: Settings, threads: int, codec: Codec | None = None) -> Index:
    """Open the index for building and describing it.

    `codec` is the number format of the vectors of an index in a folder. Raises UsageError.
    """
    if settings.retrieval.milvus:
        milvus = _milvus(settings)
        if codec:
            raise UsageError("--codec is for an index in a folder; Milvus chooses its own format. Leave --codec out.")
        from cloud_server.scale.milvus_index import MilvusIndex

        return MilvusIndex(milvus, paths.server_index.with_name("milvus"))
    return FolderIndex(Versions(_index_folder(paths, settings)), threads, settings.retrieval.probes, codec or "f16")


def _index_folder(paths: Paths, settings: Settings) -> Path:
    chosen = settings.retrieval.index
    return Path(chosen).expanduser().absolute() if chosen else paths.server_index


def _milvus(settings: Settings) -> Milvus:
    if not find_spec("pymilvus"):
        raise UsageError(f"Milvus needs pymilvus. {remedy('milvus')}")
    from cloud_server.scale.milvus import Milvus

    return Milvus(settings.retrieval.milvus, os.environ.get("MILVUS_TOKEN", ""))


def may_listen(paths: Paths, settings: Settings, *, pairs: bool) -> None:
    """Raise UsageError unless the server may listen: with TLS if other machines reach it, and only if some device could
    connect.

    A server that `pairs` devices, which needs TLS, needs no token yet. A certificate that devices refuse, or will
    refuse soon, is logged as a warning. Raises StoreError too.
    """
    own = settings.serve
    if own.host not in LOOPBACK and not own.certificate and not own.behind_tls:
        raise UsageError(
            f"Other machines can reach {own.host}, so the server needs a certificate: set serve.certificate and "
            "serve.key, or listen on 127.0.0.1. If a TLS proxy is in front of the server, set serve.behind_tls."
        )
    if own.certificate:
        read, now = certificate.read(own.certificate, own.key), datetime.now(UTC)
        if read.expires_soon(now):
            log.warning(read.summary(now), extra={"detail": own.certificate})
    if not TokenFile(paths.server_tokens).entries() and not (pairs and own.certificate):
        raise UsageError(
            "There is no access token, so no device could connect. Create one: jackdaw-server token create NAME"
        )
