"""The device that a command works with."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from device_app.commands import opening

if TYPE_CHECKING:
    from device_app.device import Device
    from device_app.settings import Settings
    from storage.paths import Paths


def opened(flags: Mapping[str, Any] = opening.NO_FLAGS) -> Device:
    """A device under the settings in force and the flags of the command. Raises SettingError."""
    return opening.opened(os.environ, make(), flags, lambda note: click.echo(note, err=True))


def made(paths: Paths, settings: Settings) -> Device:
    """A device under these settings."""
    return opening.maker(make())(paths, settings)


def make() -> opening.MakeDevice | None:
    """What `run` was given to make devices by; None for the catalog's models."""
    context = click.get_current_context(silent=True)
    return context.obj if context else None
