"""`jackdaw models`: lists, chooses and downloads models; also downloads models for other commands."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from device_app.commands import models as commands
from device_app.settings import load
from device_app.settings.change import overruled
from models import exact_loading
from models.catalog import Weights
from models.commands import ChosenModels, Program, models_group, yes_option
from models.forecast import Room
from shared.printable import safe_line
from storage.paths import Paths

if TYPE_CHECKING:
    from device_app.device import Device
    from models import catalog

__all__ = ["PROGRAM", "command", "ensure_models", "say_if_refused", "yes_option"]


def _opened() -> tuple[Weights, ChosenModels]:
    paths = Paths.locate(os.environ)
    settings = load(paths, os.environ).settings
    own = settings.model
    room, gpu_layers = Room(own.context, own.kv), exact_loading.layers(own.gpu_layers)
    chosen = ChosenModels(own.name, settings.embedder.name, own.adapter, room, own.draft, gpu_layers)
    return Weights(paths.weights), chosen


def _used(weights: Weights, name: str) -> tuple[str, catalog.Entry]:
    return commands.use(Paths.locate(os.environ), weights, name)


def _notes(key: str) -> list[str]:
    return list(filter(None, [overruled(key, os.environ)]))


PROGRAM = Program("jackdaw", "smollm2-360m", _opened, commands.pull, _used, _notes)
"""The parts of this program that the shared commands for models use: its name, default model and actions."""

command = models_group(PROGRAM)


def ensure_models(device: Device, *kinds: catalog.Kind, yes: bool = False) -> None:
    """Download the missing models that the device loads, only those of `kinds` if any are given (`Program.ensure`)."""
    PROGRAM.ensure(device.weights, *device.loads(*kinds), yes=yes)


def say_if_refused(device: Device, said: str = "") -> str:
    """Print on stderr why the configured adapter or drafting model is not used, and return the reason.

    `said`, the part of the reason that was printed before, is not printed again. Some reasons are known only once the
    model is loaded. Missing models are reported elsewhere.
    """
    refused = commands.refused(device)
    if refused and refused != said:
        click.echo(safe_line(refused.removeprefix(said).strip()), err=True)
    return refused
