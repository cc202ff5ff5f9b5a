"""Detects whether this device is a phone under Termux, and what Termux may read there. Runs nothing."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path


def is_phone(environment: Mapping[str, str] | None = None, platform: str | None = None) -> bool:
    """Return whether a process with this environment, by default this process, runs in Termux on Android.

    The variable PREFIX or Python's platform "android" is enough: Android starts actions of notifications without
    PREFIX.
    """
    here = os.environ if environment is None else environment
    return (platform or sys.platform) == "android" or "com.termux" in here.get("PREFIX", "")


def prefix(environment: Mapping[str, str] | None = None) -> Path:
    """Return Termux's folder of programs (PREFIX), also if the environment lacks the variable."""
    here = os.environ if environment is None else environment
    return Path(here.get("PREFIX") or sys.base_prefix)


SHARED = (Path("/sdcard"), Path("/storage"), Path("/mnt/sdcard"))
"""The folders under which Termux sees Android's shared storage."""

_ABOVE = (Path("/storage"), Path("/storage/emulated"))
"""Folders above the shared storage; whether they can be read says nothing about the permission."""


def is_shared(path: Path) -> bool:
    """Return whether the path is in the phone's shared storage, which Termux may read only with a permission."""
    return any(path.is_relative_to(folder) for folder in (*SHARED, Path(os.environ.get("HOME", "/")) / "storage"))


def storage_advice(path: Path) -> str:
    """Return what to do about a path in the shared storage that Android hides; "" elsewhere, and if it may be read.

    If a folder above the path can be read, the permission is there and the path does not exist: return "".
    """
    if not (is_phone() and is_shared(path)):
        return ""
    own = Path(os.environ.get("HOME", "/")) / "storage"  # links to the storage, which are seen without permission
    folders = (folder for folder in (path, *path.parents) if is_shared(folder) and folder not in (own, *_ABOVE))
    if any(os.access(folder, os.R_OK) for folder in folders):
        return ""
    return (
        "Android does not let Termux read the phone's shared storage. Run termux-setup-storage, allow it in the dialog "
        "(or in Android's settings: Apps, Termux, Permissions), and try again"
    )
