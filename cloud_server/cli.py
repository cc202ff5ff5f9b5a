"""The command line `jackdaw-server`. It has no commands yet: they come with the server."""

import click


@click.group("jackdaw-server", context_settings={"help_option_names": ["-h", "--help"]}, invoke_without_command=True)
@click.version_option(package_name="jackdaw", message="jackdaw-server %(version)s")
@click.pass_context
def main(ctx: click.Context) -> None:
    """The companion server of Jackdaw.

    This version has no server yet and so no commands: they come with the server. On your own device, `jackdaw`
    answers without one.
    """
    click.echo(ctx.get_help())
