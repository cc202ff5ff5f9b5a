"""The memory available to this process: a container may have less than its machine."""

from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from shared.memory import available

MACHINE = 700_000_000
V2, V1 = (
    ("memory.max", "memory.current", "memory.stat"),
    tuple(f"memory/memory.{name}" for name in ("limit_in_bytes", "usage_in_bytes", "stat")),
)


@pytest.mark.parametrize(
    ("names", "contents", "expected"),
    [
        ((), (), MACHINE),
        (V2, ("500000000\n", "450000000\n", "anon 1\ninactive_file 1000\n"), 50_001_000),
        (V2, ("500000000\n", "600000000\n", "inactive_file 0\n"), 0),
        (V2, ("9000000000\n", "1\n", "inactive_file 0\n"), MACHINE),
        (V2, ("max\n", "450000000\n", "inactive_file 1000\n"), MACHINE),
        (V2, ("500000000\n", "450000000\n"), MACHINE),
        (V2, ("500000000\n", "450000000\n", "anon 1\n"), MACHINE),
        (V1, ("500000000\n", "450000000\n", "inactive_file 7\ntotal_inactive_file 1000\n"), 50_001_000),
        (V1, ("9223372036854771712\n", "450000000\n", "total_inactive_file 1000\n"), MACHINE),
    ],
)
def test_the_smaller_of_machine_and_container_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...], contents: tuple[str, ...], expected: int
) -> None:
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=MACHINE))
    (tmp_path / "memory").mkdir()
    for name, content in zip(names, contents, strict=False):
        (tmp_path / name).write_text(content)
    assert available(tmp_path) == expected
