"""A user's device with a folder of notes, connected to a real server through a proxy that counts bytes."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from device_app.answering.assistant import Assistant
from device_app.companion.dispatch.cost import ServerPrice
from device_app.companion.dispatch.memory import Memory
from device_app.companion.dispatch.public import Prices, PublicQuestions
from device_app.companion.link.credentials import Credentials
from device_app.companion.link.link import Link
from device_app.inference.local import LocalSource
from device_app.knowledge.ingest import Ingestion
from device_app.question.answer import Answer
from device_app.question.options import Options, Plan
from device_app.settings import Cache, Settings
from models.fake import FakeEmbedder, FakeEngine
from models.sampling import SamplingSettings
from shared.prompt import CHATML
from shared.protocol import messages as m
from storage.database import Database
from storage.knowledge import KnowledgeStore
from tests.companion import Serve, Served
from tests.devices import device_over
from tests.faults import DANUBE
from tests.network.proxy import Proxy

OPTIONS = Options(Plan(1, "prompt"), SamplingSettings(), 200, 0.3)
DEVICE_FREE = Prices(ServerPrice(1000, 1000), 0.1, 0.0, None, 50.0)
"""Prices at which the device is cheaper in every respect: if an answer migrates, it goes on on the device."""

SERVER_FREE = Prices(ServerPrice(0, 0), 1e6, 1.0, 0.5, 1.0)
"""Prices at which the server is cheaper in every respect."""


@dataclass
class Home:
    """A user's device that has read a folder, connected to a server through a proxy that counts bytes."""

    folder: Path
    database: Database
    public: PublicQuestions
    served: Served
    proxy: Proxy
    days: float = 7.0

    def add(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)
        Ingestion(KnowledgeStore(self.database), FakeEmbedder()).run([self.folder])

    @property
    def assistant(self) -> Assistant:
        device = device_over(self.database, Settings(cache=Cache(eviction="lru", public_days=self.days)))
        return replace(device.assistant, source=self.public.source, public=self.public)

    def ask(self, question: str = DANUBE, conversation: int | None = None, **options: Any) -> Answer:
        *_, answer = self.assistant.ask(question, replace(OPTIONS, **options), conversation)
        assert isinstance(answer, Answer)
        return answer

    @property
    def searches(self) -> float:
        """The number of requests to the server."""
        (family,) = self.served.server.metrics.search.collect()
        return next(sample.value for sample in family.samples if sample.name.endswith("_count"))


@pytest.fixture
def home(tmp_path: Path, serve: Serve) -> Iterator[Home]:
    served = serve(limits={"tokens_per_minute": 1e9, "searches_per_minute": 1e6})  # a test asks faster than a person
    folder = tmp_path / "notes"
    folder.mkdir()
    with Proxy(served.port) as proxy:
        credentials = Credentials(f"ws://127.0.0.1:{proxy.port}/", served.token())
        source = LocalSource(FakeEngine(sequences=4), CHATML)
        public = PublicQuestions(
            lambda: Link(credentials, m.Hello(m.VERSIONS, "fake", "fake", "test")),
            lambda: source,
            DEVICE_FREE,
            Memory(tmp_path / "dispatch.json"),
        )
        with closing(public):
            made = Home(folder, Database(tmp_path / "jackdaw.db"), public, served, proxy)
            made.add("drill.md", "Petra has borrowed the blue drill.")
            yield made
