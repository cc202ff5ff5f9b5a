"""Opens the device for a command."""

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
    """Return a device under the current settings and the command's flags. Raises SettingError."""
    return opening.opened(os.environ, make(), flags, lambda note: click.echo(note, err=True))


def made(paths: Paths, settings: Settings) -> Device:
    """Return a device under the given settings."""
    return opening.maker(make())(paths, settings)


def make() -> opening.MakeDevice | None:
    """Return the device factory that was passed to `run`; None for the catalog's models."""
    context = click.get_current_context(silent=True)
    return context.obj if context else None
