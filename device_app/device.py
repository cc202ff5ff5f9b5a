"""Builds the parts of the device, in one place.

Each part is imported on its first use: the model begins to load while the rest is still being imported.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Unpack

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
    from device_app.everyday.rule import Everyday
    from device_app.inference.local import LocalSource
    from device_app.knowledge.ingest import Ingestion
    from device_app.knowledge.known_people import KnownPeople
    from device_app.knowledge.retriever import Retriever
    from device_app.question.options import Asked, Options
    from models.adapter import Adapter
    from models.engine import Embedder, Engine, EngineInfo
    from storage.conversations import ConversationStore
    from storage.counters import Counters
    from storage.database import Database
    from storage.knowledge import KnowledgeStore


class Device:
    """The parts of one run of the program, each created on first use. Leaving the context closes them."""

    def __init__(
        self,
        paths: Paths,
        settings: Settings,
        *,
        engine: Callable[[], Engine] | None = None,
        embedder: Callable[[], Embedder] | None = None,
    ) -> None:
        """Create a device. `engine` and `embedder` make these parts; the default is the configured catalog entries."""
        self.paths, self.settings = paths, settings
        self._engine, self._embedder = engine, embedder
        self._closing = ExitStack()
        self._loading: Future[LocalSource] | None = None

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.close()

    def go_on_under(self, cache: Cache) -> None:
        """Replace the cache settings and discard the parts built from them; the loaded model stays."""
        self.settings = replace(self.settings, cache=cache)
        for part in ("assistant", "qa_bank", "qkv_tree"):
            vars(self).pop(part, None)

    @cached_property
    def database(self) -> Database:
        """The database of the private store."""
        from storage.database import Database

        self.paths.create()
        if self.paths.daemon_status.exists() and not self.paths.database.exists():
            from device_app.ahead.daemon import forget_last

            forget_last(self.paths)  # a status file of an earlier store
        database = Database(self.paths.database)
        self._closing.callback(database.close)
        return database

    def is_superseded(self) -> bool:
        """Return whether the file of another store has replaced the file of the open database."""
        return "database" in vars(self) and not self.database.is_here() and self.paths.database.exists()

    @cached_property
    def knowledge(self) -> KnowledgeStore:
        """The store of files, documents and passages."""
        from storage.knowledge import KnowledgeStore

        return KnowledgeStore(self.database)

    @cached_property
    def conversations(self) -> ConversationStore:
        """The store of conversations: questions and their answers."""
        from storage.conversations import ConversationStore

        return ConversationStore(self.database)

    @cached_property
    def weights(self) -> catalog.Weights:
        """The folder of model files."""
        return catalog.Weights(self.paths.weights)

    def loads(self, *kinds: catalog.Kind) -> list[str]:
        """Return the names of the catalog models that this device loads, limited to `kinds` if any are given."""
        names: dict[catalog.Kind, str] = {}
        if self._engine is None:
            names["engine"] = self.settings.model.name
        if self._embedder is None:
            names["embedder"] = self.settings.embedder.name
        return [name for kind, name in names.items() if kind in kinds or not kinds]

    @property
    def adapter(self) -> Adapter | None:
        """The adapter for the model, read without loading the model. Raises WeightsMissing, WeightsDamaged."""
        return None if isinstance(self._adapter, AdapterRejected) else self._adapter

    @property
    def refused(self) -> str:
        """The reason why the configured adapter is not used; else "". Raises WeightsMissing, WeightsDamaged.

        Once the model is loaded, the reason may be that llama.cpp refused an adapter which passed the earlier checks.
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
        """The embedder, which turns text into vectors."""
        if self._embedder:
            return self._embedder()
        from device_app.inference.loading import embedder

        return embedder(self.weights, self.settings.embedder)

    def begin_loading(self) -> Future[LocalSource]:
        """Start to load the model in the background on the first call; return the future of its token source."""
        if self._loading is None:
            if self._engine is None:
                from models.llama_bindings import set_environment

                set_environment(self.weights.folder)
            executor = ThreadPoolExecutor(1, thread_name_prefix="model")
            self._loading = executor.submit(self._load)
            executor.shutdown(wait=False)
            self._closing.callback(self.let_go)
        return self._loading

    def let_go(self) -> None:
        """Free the model and the embedder, which are loaded again on their next use. Nothing may use them meanwhile."""
        loading, self._loading = self._loading, None
        if loading and loading.exception() is None:
            loading.result().close()
        for part in ("embedder", "retriever", "qa_bank", "assistant"):
            vars(self).pop(part, None)

    @cached_property
    def assistant(self) -> Assistant:
        """The assistant that answers questions."""
        from device_app.answering.assistant import Assistant
        from device_app.knowledge.freshness import Freshness

        parts = self.conversations, lambda: self.begin_loading().result(), self.qa_bank, self.qkv_tree, self.everyday
        freshness = Freshness(self.knowledge, self._read_again)
        return Assistant(self.retriever, self.embedder, *parts, self.public, freshness)

    @cached_property
    def everyday(self) -> Everyday:
        """The rules that answer everyday questions without a model."""
        from device_app.everyday.phrasings import Phrasings
        from device_app.everyday.rules import everyday

        return everyday(self.knowledge, self.people, Phrasings(lambda: self.embedder, self.paths.phrasings))

    @cached_property
    def public(self) -> PublicQuestions | None:
        """The client for questions to a companion server; None if none is set up or allowed. Opens no connection."""
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
        """The retriever, which finds passages for a question."""
        from device_app.knowledge.retriever import over

        return over(self.knowledge, self.embedder, self.people)

    @cached_property
    def people(self) -> KnownPeople:
        """The people in the files and on the phone, with all their names."""
        from device_app.knowledge.known_people import known_people

        return known_people(self.database)

    @cached_property
    def counters(self) -> Counters:
        """The counters of cache hits, savings and background work."""
        from storage.counters import Counters

        return Counters(self.database)

    @cached_property
    def qa_bank(self) -> QABank:
        """The QA bank: kept answers, looked up by question."""
        from device_app.cache.answers.bank import QABank
        from storage.qa_entries import QAEntries
        from storage.vectors import QA_BANK, VectorIndex

        cache = self.settings.cache
        parts = QAEntries(self.database), VectorIndex(self.database, QA_BANK), self.retriever, self.counters
        limit, policy, days = int(cache.qa_mb * 1_000_000), cache.eviction, cache.public_days
        return QABank(*parts, cache.threshold, limit=limit, policy=policy, public_days=days)

    @cached_property
    def qkv_tree(self) -> QKVTree:
        """The QKV tree: kept attention states, looked up by prompt."""
        from device_app.cache.states.tree import over

        return over(self.database, self.paths.kv_slices, self.settings.cache)

    def population(self, give_way: Callable[[], bool]) -> Population:
        """Return the work that fills the caches ahead; it stops within a batch once `give_way()` returns true."""
        from device_app.ahead.filling import population

        return population(self, give_way)

    def options(self, **asked: Unpack[Asked]) -> Options:
        """Return the options for a question: the current settings, and the options `asked` for it."""
        from device_app.answering.defaults import chosen

        return replace(chosen(self.settings, self.weights, self._adapter_hash()), **asked)

    def ingestion(self) -> Ingestion:
        """Return a new ingestion run, which reads files into the store."""
        from device_app.knowledge.ingest import Ingestion

        words, most = self.settings.knowledge.passage_words, self.settings.knowledge.max_file_mb * 1_000_000
        return Ingestion(self.knowledge, self.embedder, words, max_bytes=most)

    @cached_property
    def reading(self) -> Work:
        """The job that brings the remembered folders up to date."""
        from device_app.ahead.reading import reading

        return reading(self)

    def idle_work(self, give_way: Callable[[], bool]) -> Iterator[Step]:
        """Return the steps that fill the caches ahead of questions."""
        return self.population(give_way).steps()

    def _read_again(self, path: Path) -> str:
        from device_app.ahead.reading import read_again

        return read_again(self, path)

    def _adapter_hash(self) -> str:
        """Return the hash of the adapter that is or would be loaded; "" if there is none or it was refused."""
        try:
            return self._info.adapter if self._info else self.adapter.hash if self.adapter else ""
        except WeightsError:
            return ""  # without the model no question can be answered

    @property
    def _info(self) -> EngineInfo | None:
        return self.loaded.engine.info if self.loaded else None

    @property
    def loaded(self) -> LocalSource | None:
        """The loaded model; None until it is loaded."""
        done = self._loading and self._loading.done() and not self._loading.exception()
        return self._loading.result() if self._loading and done else None

    def _load(self) -> LocalSource:
        from device_app.inference import loading

        made = self._engine and loading.source(self._engine())
        return made or loading.configured(self.weights, self.settings.model)
