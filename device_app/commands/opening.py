"""Opens the device for one run of the program, under the current settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from device_app.device import Device
    from device_app.settings import Settings
    from storage.paths import Paths

MakeDevice = Callable[["Paths", "Settings"], "Device"]
"""A factory of devices, with the catalog's models or with others."""

NO_FLAGS: Mapping[str, Any] = MappingProxyType({})


def opened(
    environment: Mapping[str, str],
    make: MakeDevice | None = None,
    flags: Mapping[str, Any] = NO_FLAGS,
    on_note: Callable[[str], None] = lambda _: None,
) -> Device:
    """Return a device configured by the settings file, the environment and `flags`.

    `make` creates the device; by default it uses the catalog's models. `on_note` gets notes about the settings for the
    person. Raises SettingError.
    """
    from device_app.settings import load
    from storage.paths import Paths

    paths = Paths.locate(environment)
    resolved = load(paths, environment, flags)
    for note in resolved.notes:
        on_note(note)
    return maker(make)(paths, resolved.settings)


def maker(make: MakeDevice | None) -> MakeDevice:
    """Return `make` or, if it is None, the factory of devices with the catalog's models."""
    from device_app.device import Device

    return make or Device
