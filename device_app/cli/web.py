"""`jackdaw web`: serves the terminal app to one browser on this device."""

from importlib.util import find_spec
from pathlib import Path

import click

from device_app.web.door import is_loopback
from shared.cli.frame import Command
from shared.cli.output import print_json
from shared.errors import UsageError
from shared.extras import remedy

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command(
    cls=Command,
    examples=(
        ("Serve the app to a browser on this device", "jackdaw web"),
        ("Serve the app on another port", "jackdaw web --port 9000"),
        ("Serve the app to another device", "jackdaw web --host laptop.lan --certificate laptop.pem --key laptop.key"),
    ),
)
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=8420,
    show_default=True,
    help="Port to listen on; 0 takes a free one.",
)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Host name or address in the URL; any but loopback needs TLS.",
)
@click.option(
    "--certificate", "certificate_path", type=_FILE, metavar="FILE", help="TLS certificate chain, in PEM format."
)
@click.option(
    "--key", "key_path", type=_FILE, metavar="FILE", help="Private key of the TLS certificate, in PEM format."
)
def command(port: int, host: str, certificate_path: Path | None, key_path: Path | None, as_json: bool) -> None:
    """Serve the app to one browser, at the address that is printed, until Ctrl-C.

    The address holds a token that works once: only the first browser that opens the address is let in. Each page of
    that browser runs its own app. Without TLS the server is reachable from this device alone.
    """
    if (certificate_path is None) is not (key_path is None):
        raise UsageError("TLS needs both --certificate and --key. Give both, or neither.")
    if certificate_path is None and not is_loopback(host):
        raise UsageError(
            f"{host} can be reached from other devices, and without TLS others can read what the app shows. "
            "Give --certificate and --key, or leave --host out."
        )
    if host in ("0.0.0.0", "::"):
        raise UsageError(f"A browser cannot open {host}. Give --host the address that the browser will use.")
    if not find_spec("textual_serve"):
        raise UsageError(f"`jackdaw web` needs an extra package. {remedy('web')}")
    from device_app.web.server import serve, tls_context

    tls = tls_context(certificate_path, key_path) if certificate_path and key_path else None
    serve(host, port, tls, lambda address: _announce(address, as_json))


def _announce(address: str, as_json: bool) -> None:
    if as_json:
        print_json({"url": address})
    else:
        click.echo(f"Open this address in one browser: {address}\nCtrl-C stops the app.")
