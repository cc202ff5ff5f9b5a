"""The device's settings: definitions (schema), writing the settings file (file), changing one setting (change)."""

from device_app.settings.schema import (
    SECTIONS,
    SETTINGS,
    Answer,
    App,
    Cache,
    Daemon,
    Embedder,
    Link,
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
