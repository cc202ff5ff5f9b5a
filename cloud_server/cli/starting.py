"""Checks the model that a server is about to load: the memory that it needs, and whether that much is free."""

from dataclasses import dataclass

from cloud_server import build
from cloud_server.settings import Settings
from models import catalog, exact_loading
from models.catalog import Entry
from models.commands import refuse_unfit
from models.forecast import Forecast, forecast
from models.threads import threads
from storage.paths import Paths


@dataclass(frozen=True, slots=True)
class StartingModel:
    """The model that a server is about to load. `cast` is the memory that all processes together take for it, `threads`
    are each process's CPU threads, and `gpu_layers` is the number of layers on a GPU, -1 for all.
    """

    entry: Entry
    cast: Forecast
    threads: int
    gpu_layers: int

    @property
    def sentence(self) -> str:
        """The model's memory, threads and GPU layers, as a sentence for the user."""
        layers = {-1: "all layers", 0: "no layers"}.get(self.gpu_layers, f"{self.gpu_layers:,} layers")
        return f"The model {self.entry.name} {self.cast.needs}. Threads: {self.threads}; on a GPU: {layers}."

    @property
    def facts(self) -> dict[str, object]:
        """The model's memory, threads and GPU layers, for JSON output; sizes in bytes, None if unknown."""
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
    """Return the model that each of `sharing` processes on this machine is about to load.

    Raises UsageError, with the figures, if the free memory is too small, unless `anyway` is true or a GPU computes
    layers. Raises WeightsError or EngineError if the user's own model file is missing or is not a model.
    """
    from models.llama_bindings import offloads

    own = settings.model
    entry, weights = catalog.find(own.name, "engine"), build.weights(paths)
    if entry.is_file:
        weights.path(entry)
    cast = forecast(weights, entry, build.room(settings)).times(sharing)
    gpu_layers = exact_loading.layers(own.gpu_layers)
    if gpu_layers and not offloads():
        gpu_layers = 0
    if not anyway and not gpu_layers:  # the part of the model in a GPU's memory is not known
        refuse_unfit(entry, cast)
    return StartingModel(entry, cast, threads(own.threads), gpu_layers)
