"""What many tests share: the real weights, fetched once through the real catalog."""

import os
from pathlib import Path

import pytest
from filelock import FileLock
from hypothesis import settings

from models.catalog import Weights, find

# The machines that run this are shared and slow now and then: examples are counted, not timed.
settings.register_profile("jackdaw", deadline=None, max_examples=60)
settings.load_profile("jackdaw")

# Several workers, each with threads of its own, would starve each other.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")


@pytest.fixture(scope="session")
def weights() -> Path:
    """The folder of the default models' files, kept between runs."""
    chosen = os.environ.get("TEST_WEIGHTS")
    folder = Path(chosen) if chosen else Path(__file__).parent.parent / ".test-weights"
    folder.mkdir(exist_ok=True)
    with FileLock(folder / ".tests.lock"):
        for name in ("smollm2-135m", "all-minilm-l6-v2"):
            Weights(folder).pull(find(name))
    return folder
