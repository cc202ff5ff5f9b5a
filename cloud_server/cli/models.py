"""`jackdaw-server models`: lists, chooses and downloads models. Other commands use this module's downloads, too."""

import os

from cloud_server import build
from cloud_server.settings import SETTINGS, load, set_value
from models import exact_loading
from models.catalog import Entry, Weights
from models.commands import ChosenModels, Program, models_group
from models.forecast import opened
from models.pull import Progress
from storage.paths import Paths
from storage.private import private_content


def _opened() -> tuple[Weights, ChosenModels]:
    paths = Paths.locate(os.environ)
    settings = load(paths, os.environ).settings
    own = settings.model
    room, gpu_layers = build.room(settings), exact_loading.layers(own.gpu_layers)
    chosen = ChosenModels(own.name, settings.embedder.name, own.adapter, room, own.draft, gpu_layers)
    return build.weights(paths), chosen


def _pull(weights: Weights, entry: Entry, report: Progress) -> bool:
    with private_content(weights.folder):
        return weights.pull(entry, report)


def _use(weights: Weights, name: str) -> tuple[str, Entry]:
    key, entry = opened(weights, name)
    set_value(Paths.locate(os.environ), key, entry.address)
    return key, entry


def _notes(key: str) -> list[str]:
    overruled = SETTINGS[key].overruled(os.environ)
    return [*filter(None, [overruled]), "Restart a running server, so that it uses the model."]


PROGRAM = Program("jackdaw-server", "smollm2-1.7b", _opened, _pull, _use, _notes)
"""The name of the companion server's program, and the functions that the `models` commands call for it."""

command = models_group(PROGRAM)

ensure = PROGRAM.ensure
