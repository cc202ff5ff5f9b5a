"""Runs replicas with the fake engine behind Ray Serve, in a process of its own.

Each replica's model name is its process id.
"""

import os
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

from cloud_server.access.tokens import TokenFile
from cloud_server.scale import fleet
from cloud_server.serving.service import Service
from cloud_server.settings import Serve
from models.engine import EngineInfo
from tests.companion import Cursed, companion


class Named(Cursed):
    """A fake engine whose model name is the id of its process."""

    @property
    def info(self) -> EngineInfo:
        return replace(super().info, model=str(os.getpid()))


def make(tokens: Path) -> Service:
    """Build the service of one replica, with the tokens of the given file."""
    return companion(TokenFile(tokens), Named(0.03), {})


def main() -> None:
    """Serve on a port, with the tokens of a file, until stdin is closed."""
    port, tokens = int(sys.argv[1]), Path(sys.argv[2])
    with fleet.running(Serve(port=port, drain_s=0.5), 2, 1, 100, partial(make, tokens)):
        print("ready", flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    from tests import fleet_process

    fleet_process.main()  # by its own name, so that the replicas find `make`
