"""Devices with a fake model and a fake embedder, and everything else real."""

from collections.abc import Callable

from device_app.device import Device
from device_app.settings import Settings
from models.catalog import Kind
from models.engine import Embedder, Engine
from models.fake import FakeEmbedder, FakeEngine
from storage.database import Database
from storage.paths import HOME_VARIABLE, Paths


def fake_device(
    paths: Paths,
    settings: Settings = Settings(),  # noqa: B008  (frozen)
    engine: Callable[[], Engine] = FakeEngine,
    embedder: Callable[[], Embedder] = FakeEmbedder,
) -> Device:
    """Build a device that needs no model files."""
    return Device(paths, settings, engine=engine, embedder=embedder)


class PulledDevice(Device):
    """A fake device that nevertheless waits for the catalog's files."""

    def __init__(self, paths: Paths, settings: Settings, embedder: Callable[[], Embedder] = FakeEmbedder) -> None:
        super().__init__(paths, settings, engine=FakeEngine, embedder=embedder)

    def loads(self, *kinds: Kind) -> list[str]:
        return Device(self.paths, self.settings).loads(*kinds)


def device_over(database: Database, settings: Settings, engine: Callable[[], Engine] = FakeEngine) -> Device:
    """Return a fake device over an open store; its files are beside the store."""
    device = fake_device(Paths.locate({HOME_VARIABLE: str(database.path.parent)}), settings, engine)
    device.database = database
    return device
