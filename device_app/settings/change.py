"""Changes one setting in the person's settings file, after a check of the value."""

from collections.abc import Mapping
from typing import Literal

from device_app.settings.schema import RETIRED, SETTINGS, read_file
from shared.errors import SettingError
from shared.settings import File, Value, find, fit
from storage.paths import Paths
from storage.private import write_private

NEW_FILE = "# The settings of Jackdaw. `jackdaw config docs` explains each of them.\n"

_WEIGHTS: Mapping[str, Literal["engine", "embedder"]] = {"model.name": "engine", "embedder.name": "embedder"}
"""The settings whose value names a model of the catalog, each with the kind of model."""


def set_value(paths: Paths, key: str, value: str, place: str = "command line") -> Value:
    """Write a value into the settings file, keeping its comments; return the value converted to the setting's type.

    A path is stored as an absolute path, because the daemon runs in another folder. `place` is where the person wrote
    the value, for error messages. Raises SettingError, UsageError, NotWritable.
    """
    if key in RETIRED:
        raise SettingError(f"The setting {key} was removed: {RETIRED[key]}")
    fitting = fit(find(SETTINGS, key), value, place)
    if kind := _WEIGHTS.get(key):
        from models import catalog

        fitting = catalog.find(value, kind).address
    elif key == "model.adapter" and value not in ("auto", "off"):
        from models import catalog

        fitting = str(catalog.own_file(value))
    elif key == "model.draft":
        from models.speculative.draft_setting import stored

        fitting = stored(value)
    from shared.settings_file import assigned

    file = read_file(paths) or File(str(paths.config_file), NEW_FILE)
    write_private(paths.config_file, assigned(file, key, fitting))
    return fitting


def unset_value(paths: Paths, key: str) -> None:
    """Remove the key, known or unknown, from the settings file. Raises NothingFound, SettingError, NotWritable."""
    from shared.settings_file import removed

    file = read_file(paths) or File(str(paths.config_file), "")
    write_private(paths.config_file, removed(file, key))


def overruled(key: str, environment: Mapping[str, str]) -> str:
    """Return a warning if an environment variable takes precedence over the setting in the file; else ""."""
    return SETTINGS[key].overruled(environment)


def spelled(value: object) -> str:
    """Return a value as it is written in the settings file and on the command line."""
    return str(value).lower() if isinstance(value, bool) else str(value)
