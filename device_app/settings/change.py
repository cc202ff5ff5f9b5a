"""Changing one setting in the person's file, checked first."""

from collections.abc import Mapping
from typing import Literal

from device_app.settings.schema import RETIRED, SETTINGS, read_file
from shared.errors import SettingError
from shared.settings import File, Value, find, fit
from storage.paths import Paths, write_private

NEW_FILE = "# The settings of Jackdaw. `jackdaw config docs` explains each of them.\n"

_WEIGHTS: Mapping[str, Literal["engine", "embedder"]] = {"model.name": "engine", "embedder.name": "embedder"}
"""Settings that name an entry of the catalog, and of which kind."""


def set_value(paths: Paths, key: str, value: str, place: str = "command line") -> Value:
    """Write the value for the key, and leave the file's comments; the value as its type.

    A path is written as an absolute one, for the daemon runs in another folder. `place` is where the person wrote it.
    Raises SettingError, UsageError, NotWritable.
    """
    if key in RETIRED:
        raise SettingError(f"There is no setting {key} any more: {RETIRED[key]}")
    fitting = fit(find(SETTINGS, key), value, place)
    if kind := _WEIGHTS.get(key):
        from models import catalog

        fitting = catalog.find(value, kind).address
    elif key == "model.adapter" and value not in ("auto", "off"):
        from models import catalog

        fitting = str(catalog.own_file(value))
    from device_app.settings.file import assigned

    file = read_file(paths) or File(str(paths.config_file), NEW_FILE)
    write_private(paths.config_file, assigned(file, key, fitting))
    return fitting


def unset_value(paths: Paths, key: str) -> None:
    """Take the key out of the file, even one that is unknown. Raises NothingFound, SettingError, NotWritable."""
    from device_app.settings.file import removed

    file = read_file(paths) or File(str(paths.config_file), "")
    write_private(paths.config_file, removed(file, key))


def overruled(key: str, environment: Mapping[str, str]) -> str:
    """What a person has to know who writes the setting while an environment variable goes before it; else ""."""
    variable = SETTINGS[key].variable
    return f"{variable} is set in the environment and goes before it." if environment.get(variable) else ""


def spelled(value: object) -> str:
    """A value as the file and the command line have it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
