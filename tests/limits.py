"""Shorter or longer time limits for a companion server than in the product."""

from dataclasses import replace

import pytest

from device_app.companion import waiting


def wait_at_most(monkeypatch: pytest.MonkeyPatch, **seconds: float) -> None:
    """Set time limits for waiting on a server (fields of `WaitLimits`) until the test ends."""
    monkeypatch.setattr(waiting, "LIMITS", replace(waiting.LIMITS, **seconds))
