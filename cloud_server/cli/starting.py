"""The model that a server is about to load: what it takes, and whether that is free."""

from dataclasses import dataclass

from cloud_server import build
from cloud_server.settings import Settings
from models import catalog
from models.catalog import Entry
from models.commands import refuse_unfit
from models.forecast import Forecast, forecast
from models.threads import threads
from storage.paths import Paths


@dataclass(frozen=True, slots=True)
class StartingModel:
    """A model, what all processes with it take together, and what computes it: `gpu_layers` is -1 for all."""

    entry: Entry
    cast: Forecast
    threads: int
    gpu_layers: int

    @property
    def sentence(self) -> str:
        """The facts, for people."""
        layers = {-1: "all layers", 0: "no layers"}.get(self.gpu_layers, f"{self.gpu_layers:,} layers")
        return f"The model {self.entry.name} {self.cast.needs}. Threads: {self.threads}; on a GPU: {layers}."

    @property
    def facts(self) -> dict[str, object]:
        """The facts, for machines; sizes in bytes, None where unknown."""
        return {
            "name": self.entry.name,
            "address": self.entry.address,
            "size": self.cast.weights,
            "memory": self.cast.memory,
            "free_memory": self.cast.free_memory,
            "threads": self.threads,
            "gpu_layers": self.gpu_layers,
        }


def start_model(paths: Paths, settings: Settings, sharing: int, *, anyway: bool) -> StartingModel:
    """Return the model that `sharing` processes on this machine load, each for itself.

    Raises UsageError, with the figures, if the free memory is too small, unless `anyway` or a GPU holds layers of it;
    WeightsError and EngineError for a person's own file that is no model.
    """
    from models.llama_bindings import offloads

    own = settings.model
    entry = catalog.find(own.name, "engine")
    cast = forecast(build.weights(paths), entry, build.room(settings)).times(sharing)
    gpu_layers = build.layers(own.gpu_layers)
    if gpu_layers and not offloads():
        gpu_layers = 0
    if not anyway and not gpu_layers:  # how much of it lies in a GPU's memory is not known
        refuse_unfit(entry, cast)
    return StartingModel(entry, cast, threads(own.threads), gpu_layers)
