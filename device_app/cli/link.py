"""`jackdaw connect` and `jackdaw disconnect`: choose the companion server that this device asks."""

import os
import platform
import sys
from contextlib import closing
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from device_app.cli.models import ensure_models, yes_option
from device_app.cli.opening import made
from device_app.companion import waiting
from device_app.companion.link import credentials
from device_app.companion.link.credentials import Credentials
from device_app.settings import load
from shared.cli.frame import Command
from shared.cli.output import print_json
from shared.errors import LinkError, UsageError
from shared.pairing.code import Invitation, is_code, is_link, read_code, read_link
from shared.printable import safe_line
from storage.paths import Paths

if TYPE_CHECKING:
    from device_app.companion.link.causes import Cause


@click.command(
    cls=Command,
    examples=(
        ("Pair with a server by the code it shows", "jackdaw connect 7K3M-9QXA-2D4F-R8TW 192.168.1.20"),
        ("Pair with a server by the link in its QR code", "jackdaw connect 'JACKDAW:7K3M…'"),
        ("Connect with a token, typed when asked for", "jackdaw connect wss://server.example:8765"),
        ("Connect to a server on this machine, with the token in a file", "jackdaw connect 127.0.0.1:8765 < token.txt"),
        (
            "Connect to a server whose certificate you signed",
            "jackdaw connect wss://server.lan:8765 --authority ca.pem",
        ),
    ),
)
@click.argument("target", metavar="CODE|LINK|URL")
@click.argument("host", metavar="[HOST[:PORT]]", default="")
@click.option(
    "--authority",
    type=click.Path(exists=True, dir_okay=False),
    help="File of certificates to trust besides the system's.",
)
@yes_option
def connect(target: str, host: str, authority: str | None, yes: bool, as_json: bool) -> None:
    """Connect this device to a companion server, and keep its token, mode 0600.

    `jackdaw-server pair` shows a CODE, to be given together with the server's HOST, and a QR code with a LINK that
    contains both. With either, this device receives a token and the server's key; an attacker on the network is
    detected, and learns neither.

    With a URL, a token is read from the terminal or from standard input; it comes from whoever runs the server
    (`jackdaw-server token create`).

    From then on, questions that your own files do not answer are sent there; your files never are.
    """
    paths = Paths.locate(os.environ)
    settings = load(paths, os.environ).settings
    invitation = _invitation(target, host)
    if invitation:
        if authority:
            raise UsageError("Pairing checks the server's key and needs no --authority. Leave the option out.")
        stored = _paired(paths, invitation)
    else:
        address = credentials.server_url(target)
        token = _token()
        stored = Credentials(address, token, os.path.abspath(authority) if authority else None)  # noqa: PTH100
    with made(paths, settings) as device:
        ensure_models(device, yes=yes)
        from device_app.companion.opening import open_link

        with closing(open_link(device, stored)) as link:
            state = link.wait(waiting.LIMITS.pair_s)
    if state.offer is None:
        raise LinkError(
            f"No connection to {stored.url}: {state.why or 'the server does not answer'}.{_hint(stored, state.cause)}"
        )
    credentials.save(paths.link, stored)
    offer = state.offer
    facts = {
        "url": stored.url,
        "model": offer.model,
        "same_vocabulary": not link.by_text,
        "receives": list(offer.receives),
        "allowed": settings.link.allowed,
        "pin": stored.pin,
    }
    if as_json:
        print_json(facts)
        return
    click.echo(f"Connected to {stored.url}. It answers with {safe_line(offer.model)}.")
    click.echo(
        "The server gets questions that your files do not answer, or answer in part (link.together), and requests that "
        "need no file; never your files."
    )
    if link.by_text:
        click.echo("The server's model has a different vocabulary: an answer that moves there is sent as text.")
    if not settings.link.allowed:
        click.echo(
            "Nothing is sent yet, as link.allowed is off. To allow sending: jackdaw config set link.allowed true"
        )


def _invitation(target: str, host: str) -> Invitation | None:
    """Return the invitation in a typed code or scanned link; None for a server's address. Raises UsageError."""
    if is_link(target):
        return read_link(target)
    if host:
        return Invitation(read_code(target), (host,))
    if is_code(target):
        raise UsageError(f"The code needs the server's address as well. Run: jackdaw connect {target} HOST")
    return None


def _paired(paths: Paths, invitation: Invitation) -> Credentials:
    """Pair and store the credentials at once, as the code works only once. Raises LinkError, NotWritable."""
    from device_app.companion.link.pairing import pair

    stored, called = pair(invitation, platform.node())
    credentials.save(paths.link, stored)
    click.echo(f"Paired with {stored.url}, which calls this device {safe_line(called)}.", err=True)
    return stored


@click.command(cls=Command, examples=(("Disconnect from the companion server", "jackdaw disconnect"),))
def disconnect(as_json: bool) -> None:
    """Forget the companion server and its token."""
    gone = credentials.forget(Paths.locate(os.environ).link)
    if as_json:
        print_json({"url": gone.url})
    else:
        click.echo(f"Disconnected from {gone.url}. Questions are answered on this device alone.")


def _hint(tried: Credentials, cause: "Cause | None") -> str:
    """Return a hint about the likely mistake in the address or options; "" if the cause suggests none."""
    if cause == "certificate" and tried.authority is None:
        return (
            " If the server made its own certificate, pair with it: run jackdaw-server pair on the server. "
            f"If your own authority signed the certificate: jackdaw connect {tried.url} --authority FILE"
        )
    if cause == "insecure":  # plain ws:// is allowed on loopback alone
        return " Try ws:// instead of wss://" if urlsplit(tried.url).hostname in credentials.LOOPBACK else ""
    if tried.url.startswith("wss:"):
        return ""
    return (
        " If the server uses TLS, try wss:// instead of ws://" if cause in ("stranger", "unreachable", "lost") else ""
    )


def _token() -> str:
    given = click.prompt("Token", hide_input=True, err=True) if sys.stdin.isatty() else sys.stdin.readline(1000)
    if token := str(given).strip():
        return token
    raise UsageError("No token was given. Create a token on the server: jackdaw-server token create NAME")
