"""`jackdaw-server status`: shows whether the server of this machine runs, and its load."""

import os
import urllib.error
import urllib.request

import click

from cloud_server import build
from cloud_server.retrieval.embedders import incomparable
from cloud_server.settings import load
from shared.cli.frame import Command
from shared.cli.output import print_blocks, print_json
from shared.errors import ExitCode
from storage.blobs import Blobs
from storage.paths import Paths

_SHOWN = {
    "connections": "devices connected",
    "writing": "answers being written",
    "waiting": "requests waiting",
    "written_tokens": "tokens written",
    "prefilled_tokens": "prompt tokens computed",
    "joined_tokens": "prompt tokens from the cache",
    "vectors_bytes": "MB of vectors in memory",
    "vectors_read_bytes": "MB of vectors read from the disk",
}


@click.command(cls=Command, examples=(("Show the server's load", "jackdaw-server status"),))
def command(as_json: bool) -> int | None:
    """Show whether the server on this machine runs, and its load. Exit code 3: no server runs."""
    paths = Paths.locate(os.environ)
    settings = load(paths, os.environ).settings
    own = settings.serve
    place = f"{_reached(own.metrics_host)}:{own.metrics_port}"
    ready, figures = _read(place) if own.metrics_port else (None, {})
    facts = build.index_facts(paths, settings)
    cost = incomparable(facts) if facts else ""
    states = Blobs(paths.server_states).sizes().values()
    if as_json:
        known = {"running": ready is not None, "ready": bool(ready), "figures": figures}
        known |= {"states": {"count": len(states), "bytes": sum(states)}}
        print_json(known | {"embedder": facts.embedder if facts else None, "joint_answers": not cost})
    elif ready is None:
        click.echo(f"No server answers on {place}. Start one: jackdaw-server serve", err=True)
    else:
        state = "ready" if ready else "running, accepts no new requests"
        rows = [
            (title, f"{figures.get(name, 0) / (1e6 if name.endswith('_bytes') else 1):,.0f}")
            for name, title in _SHOWN.items()
        ]
        print_blocks([[("server", state), *rows, ("states on disk", f"{len(states):,} ({sum(states) / 1e6:,.0f} MB)")]])
    if cost and not as_json:
        click.echo(f"Note on the index: {cost}")
    return ExitCode.NOTHING if ready is None else None


def _reached(host: str) -> str:
    """Return the address at which processes on this machine reach a server that listens on `host`."""
    local = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"[{local}]" if ":" in local else local


def _read(place: str) -> tuple[bool | None, dict[str, float]]:
    try:
        with urllib.request.urlopen(f"http://{place}/metrics", timeout=3) as response:
            lines = response.read(1 << 20).decode().splitlines()
    except (OSError, urllib.error.URLError):
        return None, {}
    pairs = (line.removeprefix("jackdaw_").rpartition(" ") for line in lines if line.startswith("jackdaw_"))
    figures = {own: float(value) for name, _, value in pairs if (own := name.removesuffix("_total")) in _SHOWN}
    try:
        with urllib.request.urlopen(f"http://{place}/readyz", timeout=3):
            return True, figures
    except urllib.error.HTTPError as error:
        error.close()
        return False, figures
    except urllib.error.URLError:
        return False, figures
