"""The device's settings: what each means (schema), how a person's file is written (file), and changing one (change)."""

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
