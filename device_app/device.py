"""The one place where the device's parts are put together.

Each part is imported when it is first asked for: the model begins to load while the rest is still being imported.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from device_app.settings import Cache, Settings
from models import catalog
from shared.errors import AdapterRejected, WeightsError
from storage.paths import Paths

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from device_app.ahead.population import Population
    from device_app.ahead.work import Step, Work
    from device_app.answering.assistant import Assistant
    from device_app.cache.answers.bank import QABank
    from device_app.cache.states.tree import QKVTree
    from device_app.companion.dispatch.public import PublicQuestions
    from device_app.inference.local import LocalSource
    from device_app.knowledge.ingest import Ingestion
    from device_app.knowledge.retriever import Retriever
    from device_app.question.options import Options
    from models.adapter import Adapter
    from models.engine import Embedder, Engine, EngineInfo
    from storage.conversations import ConversationStore
    from storage.counters import Counters
    from storage.database import Database
    from storage.knowledge import KnowledgeStore


class Device:
    """The parts of one run of the program, each made when it is first asked for. Close it, or use it with `with`."""

    def __init__(
        self,
        paths: Paths,
        settings: Settings,
        *,
        engine: Callable[[], Engine] | None = None,
        embedder: Callable[[], Embedder] | None = None,
    ) -> None:
        """`engine` and `embedder` make these two parts; without, they are the catalog's that the settings name."""
        self.paths, self.settings = paths, settings
        self._engine, self._embedder = engine, embedder
        self._closing = ExitStack()
        self._loading: Future[LocalSource] | None = None

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.close()

    def go_on_under(self, cache: Cache) -> None:
        """Take other settings of the caches; all that is loaded stays."""
        self.settings = replace(self.settings, cache=cache)
        for part in ("assistant", "qa_bank", "qkv_tree"):
            vars(self).pop(part, None)

    @cached_property
    def database(self) -> Database:
        """The private store."""
        from storage.database import Database

        self.paths.create()
        if self.paths.daemon_status.exists() and not self.paths.database.exists():
            from device_app.ahead.daemon import forget_last

            forget_last(self.paths)  # of another store
        database = Database(self.paths.database)
        self._closing.callback(database.close)
        return database

    def is_superseded(self) -> bool:
        """Whether another store has taken the place of the one that is open."""
        return "database" in vars(self) and not self.database.is_here() and self.paths.database.exists()

    @cached_property
    def knowledge(self) -> KnowledgeStore:
        """Files, documents, passages."""
        from storage.knowledge import KnowledgeStore

        return KnowledgeStore(self.database)

    @cached_property
    def conversations(self) -> ConversationStore:
        """What was asked and answered."""
        from storage.conversations import ConversationStore

        return ConversationStore(self.database)

    @cached_property
    def weights(self) -> catalog.Weights:
        """Model files."""
        return catalog.Weights(self.paths.weights)

    def loads(self, *kinds: catalog.Kind) -> list[str]:
        """The names of the catalog's models that it loads, of these kinds alone where any are given."""
        names: dict[catalog.Kind, str] = {}
        if self._engine is None:
            names["engine"] = self.settings.model.name
        if self._embedder is None:
            names["embedder"] = self.settings.embedder.name
        return [name for kind, name in names.items() if kind in kinds or not kinds]

    @property
    def adapter(self) -> Adapter | None:
        """What the model is trained further with; it is not loaded for that. Raises WeightsMissing, WeightsDamaged."""
        return None if isinstance(self._adapter, AdapterRejected) else self._adapter

    @property
    def refused(self) -> str:
        """Why the adapter that the settings name is not used; else "". Raises WeightsMissing, WeightsDamaged.

        Once the model is loaded, llama.cpp may have refused what seemed to fit.
        """
        if isinstance(self._adapter, AdapterRejected):
            return str(self._adapter)
        return self._info.refused if self._info else ""

    @cached_property
    def _adapter(self) -> Adapter | AdapterRejected | None:
        settings = self.settings.model
        try:
            return self.weights.adapter(catalog.find(settings.name, "engine"), settings.adapter)
        except AdapterRejected as error:
            return error

    @cached_property
    def embedder(self) -> Embedder:
        """Text to vectors."""
        if self._embedder:
            return self._embedder()
        from device_app.inference.loading import embedder

        return embedder(self.weights, self.settings.embedder)

    def begin_loading(self) -> Future[LocalSource]:
        """The model as a source of tokens, loading in the background from the first call on."""
        if self._loading is None:
            if self._engine is None:
                from models.llama_bindings import set_environment

                set_environment()
            executor = ThreadPoolExecutor(1, thread_name_prefix="model")
            self._loading = executor.submit(self._load)
            executor.shutdown(wait=False)
            self._closing.callback(_close_engine, self._loading)
        return self._loading

    @cached_property
    def assistant(self) -> Assistant:
        """The room where questions are answered."""
        from device_app.answering.assistant import Assistant
        from device_app.knowledge.freshness import Freshness

        parts = self.conversations, self._loaded, self.qa_bank, self.qkv_tree
        freshness = Freshness(self.knowledge, self._read_again)
        return Assistant(self.retriever, self.embedder, *parts, self.public, freshness)

    @cached_property
    def public(self) -> PublicQuestions | None:
        """Questions for a companion server; None where there is none, or it may not be asked. Connects to nothing."""
        from device_app.companion.link import credentials

        stored = credentials.load(self.paths.link) if self.settings.link.allowed else None
        if stored is None:
            return None
        from device_app.companion.opening import public_questions

        public = public_questions(self, stored)
        self._closing.callback(public.close)
        return public

    @cached_property
    def retriever(self) -> Retriever:
        """From questions to passages."""
        from device_app.knowledge.retriever import Retriever
        from storage.keywords import KeywordIndex
        from storage.vectors import VectorIndex

        return Retriever(self.knowledge, KeywordIndex(self.database), VectorIndex(self.database), self.embedder)

    @cached_property
    def counters(self) -> Counters:
        """What the caches did so far."""
        from storage.counters import Counters

        return Counters(self.database)

    @cached_property
    def qa_bank(self) -> QABank:
        """Answers kept by question."""
        from device_app.cache.answers.bank import QABank
        from storage.qa_entries import QAEntries
        from storage.vectors import QA_BANK, VectorIndex

        cache = self.settings.cache
        return QABank(
            QAEntries(self.database),
            VectorIndex(self.database, QA_BANK),
            self.retriever,
            self.counters,
            cache.threshold,
            limit=int(cache.qa_mb * 1_000_000),
            policy=cache.eviction,
            public_days=cache.public_days,
        )

    @cached_property
    def qkv_tree(self) -> QKVTree:
        """Attention states kept by prompt."""
        from device_app.cache.states.tree import QKVTree
        from storage.blobs import Blobs
        from storage.kv_slices import KVSlices

        cache = self.settings.cache
        slices, blobs, limit = KVSlices(self.database), Blobs(self.paths.kv_slices), int(cache.kv_mb * 1_000_000)
        return QKVTree(slices, blobs, self.counters, limit=limit, policy=cache.eviction)

    def population(self, give_way: Callable[[], bool]) -> Population:
        """The work ahead, which stops within a batch once `give_way()` holds."""
        from device_app.ahead.filling import population

        return population(self, give_way)

    def options(self, *, fresh: bool = False, public: bool = True, together: bool = False) -> Options:
        """How questions are answered under the settings in force; see `Options` for what is given here."""
        from device_app.answering.defaults import chosen

        under = chosen(self.settings, self.weights, self._adapter_hash())
        return replace(under, fresh=fresh, public=public, together=together)

    def ingestion(self) -> Ingestion:
        """A run of reading files into the store."""
        from device_app.knowledge.ingest import Ingestion

        settings = self.settings.knowledge
        return Ingestion(
            self.knowledge, self.embedder, settings.passage_words, max_bytes=settings.max_file_mb * 1_000_000
        )

    @cached_property
    def reading(self) -> Work:
        """What brings the remembered folders up to date."""
        from device_app.ahead.reading import reading

        return reading(self)

    def idle_work(self, give_way: Callable[[], bool]) -> Iterator[Step]:
        """What fills the caches ahead of questions."""
        return self.population(give_way).steps()

    def _read_again(self, path: Path) -> str:
        from device_app.ahead.reading import read_again

        return read_again(self, path)

    def _adapter_hash(self) -> str:
        """Hash of the adapter that is loaded or, before that, would be; "" for none, or where it was refused."""
        if self._info:
            return self._info.adapter
        try:
            return self.adapter.hash if self.adapter else ""
        except WeightsError:
            return ""  # without the model nothing can be answered

    @property
    def _info(self) -> EngineInfo | None:
        """Of the model, once it is loaded."""
        done = self._loading and self._loading.done() and not self._loading.exception()
        return self._loading.result().engine.info if self._loading and done else None

    def _loaded(self) -> LocalSource:
        return self.begin_loading().result()

    def _load(self) -> LocalSource:
        from device_app.inference import loading

        engine = self._engine() if self._engine else loading.engine(self.weights, self.settings.model)
        return loading.source(engine)


def _close_engine(loading: Future[LocalSource]) -> None:
    if loading.exception() is None:
        loading.result().engine.close()
