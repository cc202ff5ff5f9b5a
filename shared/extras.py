"""The command that adds an optional part (an extra) to the running installation of Jackdaw."""

import shlex
import sys
from importlib.metadata import version
from pathlib import Path


def remedy(*extras: str, source: Path = Path(__file__).parents[1]) -> str:
    """Return a sentence on how to install the given extras: by the script in `source`, else with pip."""
    if (source / "scripts" / "install").is_file():
        return f"In the folder of Jackdaw's source, run: scripts/install {' '.join(extras)}"
    # By its own version, which is installed already: an index may have another program of this name.
    requirement = shlex.quote(f"jackdaw[{','.join(extras)}]=={version('jackdaw')}")
    return f"Run: {shlex.quote(sys.executable)} -m pip install {requirement}"
