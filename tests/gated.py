"""A fake engine that waits with its answers until a test lets it go on."""

import os
import time
from collections.abc import Sequence
from pathlib import Path

from device_app.device import Device
from device_app.settings import Settings
from models.engine import Logits
from models.fake import FakeEngine
from shared.errors import EngineError
from storage.paths import Paths
from tests.devices import fake_device

GATE = "TEST_GATE"
"""The environment variable that names the gate, a file: prompts are computed once it exists, and fail with its text if
it is not empty.
"""


class Gated(FakeEngine):
    """A fake engine that computes prompts only once the gate (see GATE) exists."""

    def prefill(self, sequence: int, tokens: Sequence[int]) -> Logits:
        gate = Path(os.environ[GATE])
        while not gate.exists():
            time.sleep(0.005)
        if said := gate.read_text():
            raise EngineError(said)
        return super().prefill(sequence, tokens)


def gated_device(paths: Paths, settings: Settings) -> Device:
    """Return a fake device whose model waits for the gate (see GATE)."""
    return fake_device(paths, settings, Gated)
