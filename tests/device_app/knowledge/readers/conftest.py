"""A fixture that writes a file and reads it with the reader for its type."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from device_app.knowledge import readers
from shared.types import Document

Read = Callable[..., list[Document]]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Reads a file with the given name and content, and returns its documents."""

    def documents(name: str, content: str | bytes, **options: Any) -> list[Document]:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return list(readers.read(path, **options))

    return documents
