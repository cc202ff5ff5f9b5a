"""The command line `jackdaw-server`: the table of its commands."""

from collections.abc import Sequence

import click

from shared.cli.frame import Group, Lazy
from shared.cli.outcome import outcome, started

COMMANDS = (
    Lazy("serve", "cloud_server.cli.serve", "Answer devices."),
    Lazy("index", "cloud_server.cli.index", "Make and look at the index of public passages."),
    Lazy("pipelines", "cloud_server.cli.pipelines", "Measure which retrieval pipelines help the model."),
    Lazy("pair", "cloud_server.cli.pair", "Let a device in, by a QR code or a code to type."),
    Lazy("token", "cloud_server.cli.token", "Say who may use the server."),
    Lazy("status", "cloud_server.cli.status", "Show whether the server runs and what it does."),
    Lazy("doctor", "cloud_server.cli.doctor", "Check that everything is there; name the fix where not."),
    Lazy("config", "cloud_server.cli.config", "Show the settings and where each comes from."),
)

server = Group(
    "jackdaw-server",
    commands={str(command.name): command for command in COMMANDS},
    help="The companion server of Jackdaw: public knowledge and muscle for devices that are connected to it.",
    epilog="Exit codes: 0 done, 1 failed, 2 wrong usage, 3 nothing found or nothing to do, 70 start it again.",
    examples=(
        ("Make an index of public passages", "jackdaw-server index build wikipedia.jsonl"),
        ("Serve this machine", "jackdaw-server serve"),
        ("Serve a home", "jackdaw-server serve --host 0.0.0.0"),
        ("Let a device in, while it serves", "jackdaw-server pair"),
        ("What a command takes", "jackdaw-server serve --help"),
    ),
)
click.version_option(package_name="jackdaw", message="jackdaw-server %(version)s")(server)


def main() -> None:
    """The entry point of the console script."""
    started(run)


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    return outcome(server, arguments)
