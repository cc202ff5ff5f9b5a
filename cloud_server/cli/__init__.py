"""The command line `jackdaw-server`: the table of its commands."""

from collections.abc import Sequence

import click

from shared.cli.frame import Group, Lazy
from shared.cli.outcome import outcome, started
from shared.errors import UsageError
from shared.extras import remedy


class _Command(Lazy):
    """A command that can be imported only if the extra `server` is installed."""

    def load(self) -> click.Command:
        """Import and return the command. Raises UsageError if the extra `server` is not installed."""
        try:
            return super().load()
        except ModuleNotFoundError as error:
            if error.name != "prometheus_client":  # the extra's package that is imported at once
                raise
            raise UsageError(f"`jackdaw-server` needs an extra. {remedy('server')}") from error


COMMANDS = (
    _Command("serve", "cloud_server.cli.serve", "Answer devices."),
    _Command("models", "cloud_server.cli.models", "List, choose and download models."),
    _Command("index", "cloud_server.cli.index", "Build and show the index of public passages."),
    _Command("pipelines", "cloud_server.cli.pipelines", "Measure which retrieval pipelines help the model."),
    _Command("pair", "cloud_server.cli.pair", "Connect a new device with a QR code or a typed code."),
    _Command("token", "cloud_server.cli.token", "Create, list and revoke access tokens."),
    _Command("status", "cloud_server.cli.status", "Show whether the server runs, and its load."),
    _Command("doctor", "cloud_server.cli.doctor", "Check whatever the server needs, and name fixes."),
    _Command("config", "cloud_server.cli.config", "Show the settings and where each value comes from."),
)

server = Group(
    "jackdaw-server",
    commands={str(command.name): command for command in COMMANDS},
    help="The companion server of Jackdaw: gives connected devices public knowledge and computing power.",
    epilog="Exit codes: 0 done, 1 failed, 2 wrong usage, 3 nothing found or nothing to do, 70 restart the server.",
    examples=(
        ("Build an index of public passages", "jackdaw-server index build wikipedia.jsonl"),
        ("Serve devices on this machine only", "jackdaw-server serve"),
        ("Serve the devices in a home network", "jackdaw-server serve --host 0.0.0.0"),
        ("Answer with a larger model from now on", "jackdaw-server models use smollm2-1.7b"),
        ("Allow a new device to connect while the server runs", "jackdaw-server pair"),
        ("Show a command's options", "jackdaw-server serve --help"),
    ),
)
click.version_option(package_name="jackdaw", message="jackdaw-server %(version)s")(server)


def main() -> None:
    """The entry point of the console script."""
    started(run)


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    return outcome(server, arguments)
