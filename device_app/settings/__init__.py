"""The device's settings: `schema` and `link` define them, `change` changes one of them in the settings file."""

from device_app.settings.link import Link
from device_app.settings.schema import (
    SECTIONS,
    SETTINGS,
    Answer,
    App,
    Cache,
    Daemon,
    Embedder,
    Model,
    Settings,
    load,
    read_file,
)

__all__ = [
    "SECTIONS",
    "SETTINGS",
    "Answer",
    "App",
    "Cache",
    "Daemon",
    "Embedder",
    "Link",
    "Model",
    "Settings",
    "load",
    "read_file",
]
