"""`jackdaw connect` and `jackdaw disconnect`: which companion server this device asks."""

import os
import sys
from contextlib import closing
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from device_app.build import Device
from device_app.cli.models import ensure_weights, yes_option
from device_app.link import credentials
from device_app.link.credentials import Credentials
from device_app.settings import load
from shared.cli.frame import Command
from shared.cli.output import print_json
from shared.errors import LinkError, UsageError
from shared.printable import safe_line
from storage.paths import Paths

if TYPE_CHECKING:
    from device_app.link.causes import Cause

CONNECT_S = 15.0


@click.command(
    cls=Command,
    examples=(
        ("Connect; the token is asked for", "jackdaw connect wss://server.example:8765"),
        ("To one on this machine, the token from a file", "jackdaw connect 127.0.0.1:8765 < token.txt"),
        ("To one with a certificate of its own", "jackdaw connect wss://server.lan:8765 --authority ca.pem"),
    ),
)
@click.argument("url")
@click.option(
    "--authority", type=click.Path(exists=True, dir_okay=False), help="Certificates to trust besides the system's."
)
@yes_option
def connect(url: str, authority: str | None, yes: bool, as_json: bool) -> None:
    """Connect this device to the companion server at URL, and keep its token, mode 0600.

    The token comes from whoever runs the server (`jackdaw-server token create`); it is read from the terminal or from
    standard input. From then on, questions that your own files do not answer are sent there; your files never are.
    """
    paths = Paths.locate(os.environ)
    address = credentials.server_url(url)
    token = _token()
    found = Credentials(address, token, os.path.abspath(authority) if authority else None)  # noqa: PTH100
    settings = load(paths, os.environ).settings
    with Device(paths, settings) as device:
        ensure_weights(device.weights, settings.model.name, settings.embedder.name, yes=yes)
        with closing(device.link(found)) as link:
            state = link.wait(CONNECT_S)
    if state.offer is None:
        raise LinkError(f"No connection to {address}: {state.why or 'it does not answer'}.{_hint(found, state.cause)}")
    credentials.save(paths.link, found)
    offer = state.offer
    facts = {
        "url": address,
        "model": offer.model,
        "same_vocabulary": not link.by_text,
        "receives": list(offer.receives),
        "allowed": settings.link.allowed,
    }
    if as_json:
        print_json(facts)
        return
    click.echo(f"Connected to {address}. It answers with {safe_line(offer.model)}.")
    click.echo("It gets questions that your own files do not answer, or not wholly (link.together); your files never.")
    if link.by_text:
        click.echo("Its model has another vocabulary: answers change sides as text.")
    if not settings.link.allowed:
        click.echo("Nothing is sent yet, as link.allowed is off. Allow it: jackdaw config set link.allowed true")


@click.command(cls=Command, examples=(("Leave the server", "jackdaw disconnect"),))
def disconnect(as_json: bool) -> None:
    """Forget the companion server and its token."""
    gone = credentials.forget(Paths.locate(os.environ).link)
    if as_json:
        print_json({"url": gone.url})
    else:
        click.echo(f"Left {gone.url}. Questions are answered on this device alone.")


def _hint(tried: Credentials, cause: "Cause | None") -> str:
    """What may have been meant instead of what was typed, where that can be told."""
    if cause == "certificate" and tried.authority is None:
        return f" Is it one of its own? Name it: jackdaw connect {tried.url} --authority FILE"
    if cause == "insecure":  # another machine is spoken to over TLS alone
        return " Try ws:// instead of wss://" if urlsplit(tried.url).hostname in credentials.LOOPBACK else ""
    if tried.url.startswith("wss:"):
        return ""
    return " If it speaks TLS, try wss:// instead of ws://" if cause in ("stranger", "unreachable", "lost") else ""


def _token() -> str:
    given = click.prompt("Token", hide_input=True, err=True) if sys.stdin.isatty() else sys.stdin.readline(1000)
    if token := str(given).strip():
        return token
    raise UsageError("There is no token. Make one on the server: jackdaw-server token create NAME")
