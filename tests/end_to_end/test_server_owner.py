"""Commands that an administrator runs as root on the data folder of a service that runs as another user."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import owning

pytest.importorskip("faiss", reason="needs the server extra")


@pytest.fixture
def home() -> Iterator[Path]:
    """A folder that every user can reach, unlike pytest's temporary folders."""
    above = Path(tempfile.mkdtemp())
    above.chmod(0o755)
    (above / "home").mkdir(mode=0o700)
    yield above / "home"
    shutil.rmtree(above)


def test_tokens_codes_and_index_that_root_makes_are_the_services(home: Path) -> None:
    assert owning.run(home) == {
        "tokens": ["anna-phone", "by the service", "by a code"],
        "passages": 1,
        "owners": [owning.SERVICE],
    }
