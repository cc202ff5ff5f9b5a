"""The device's settings: definitions (schema, link), changing one setting in its file (change)."""

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
