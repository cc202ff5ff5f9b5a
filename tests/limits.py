"""Shorter or longer waits for a companion server than a person's."""

from dataclasses import replace

import pytest

from device_app.companion import waiting


def wait_at_most(monkeypatch: pytest.MonkeyPatch, **seconds: float) -> None:
    """Wait for a server so many seconds, by kind of wait, until the test ends."""
    monkeypatch.setattr(waiting, "LIMITS", replace(waiting.LIMITS, **seconds))
