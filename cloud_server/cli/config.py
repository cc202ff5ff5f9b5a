"""`jackdaw-server config`: the settings, what each does, and where its value comes from."""

import os

import click

from cloud_server.settings import SETTINGS, load
from shared.cli.frame import Command
from shared.cli.output import print_blocks, print_json
from storage.paths import Paths


@click.command(
    cls=Command,
    examples=(
        ("Show every setting", "jackdaw-server config"),
        ("Change a setting for one run", "JACKDAW_SERVER_SERVE_PORT=9000 jackdaw-server serve"),
    ),
)
def command(as_json: bool) -> None:
    """Show every setting of the server. Flags override the environment, which overrides server.toml."""
    paths = Paths.locate(os.environ)
    resolved = load(paths, os.environ)
    if as_json:
        facts = [
            {"key": key, "value": resolved.value(key), "default": setting.default, "place": resolved.origins[key].place}
            for key, setting in SETTINGS.items()
        ]
        print_json({"file": paths.server_config_file, "settings": facts})
        return
    click.echo(f"File: {paths.server_config_file}\n")
    print_blocks(
        [
            [
                (key, resolved.value(key)),
                ("", f"{setting.description} It takes {setting.accepts}."),
                ("", f"from {resolved.origins[key].place}; {setting.variable}"),
            ]
            for key, setting in SETTINGS.items()
        ]
    )
