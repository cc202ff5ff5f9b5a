"""`jackdaw-server pair`: let a device in, by a QR code or a code to type."""

import os
import shutil
import signal
import ssl
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from io import StringIO

import click

from cloud_server.access.pairing import TRIES, VALID, PairingFile, Record
from cloud_server.access.self_signed import LOOPBACK
from cloud_server.access.tokens import TokenFile
from cloud_server.serving import running
from cloud_server.serving.running import RunningServer, joined
from shared.cli.frame import Command
from shared.cli.output import console, print_json
from shared.errors import JackdawError, UsageError
from shared.pairing.code import MOST_ADDRESSES, PORT, Invitation, typed
from shared.pairing.pin import pin_of
from storage.paths import Paths

LOOK_S = 0.25
"""Seconds between two checks whether a device has been paired."""

CONNECT_S = 5.0

_START = "Let other machines connect: jackdaw-server serve --host 0.0.0.0 (or the setting serve.host)"
_ENDED = {
    "tried": "A wrong code was entered five times, so this pairing code is no longer valid.",
    "expired": "The pairing code expired after ten minutes.",
    "withdrawn": "This pairing code was withdrawn, or replaced by a newer one.",
}


class NotPaired(JackdawError):
    """The pairing code ended before a device was paired."""


@click.command(
    cls=Command,
    examples=(
        ("Pair a device under the name it gives itself", "jackdaw-server pair"),
        ("Pair a device under a name of your choice", "jackdaw-server pair --name anna-phone"),
        ("Give devices a host name instead of an IP address", "jackdaw-server pair --address server.lan"),
    ),
)
@click.option("--name", default="", help="Name of the device's token; by default the device's own name.")
@click.option(
    "--address",
    multiple=True,
    help="HOST[:PORT] where devices reach the server; by default the server's own addresses.",
)
def command(name: str, address: tuple[str, ...], as_json: bool) -> None:
    """Pair one device: show a QR code and a code to type, and wait until the device is paired.

    On the device, give `jackdaw connect` the content of the QR code, or type the line that is shown. The device gets a
    token of its own and knows the server's key from then on: no certificate authority is needed. The server has to run.
    The code is valid for ten minutes, for one device, and for five tries; Ctrl-C withdraws it.

    With --json, print the code and the link as one object at once. Exit code 1: no device was paired.
    """
    paths = Paths.locate(os.environ)
    server = _server(paths)
    pin = _pin(server)
    addresses = tuple(_with_port(host, server.port) for host in address) or server.reached_at()
    if len(addresses) > MOST_ADDRESSES:
        raise UsageError(f"A pairing code holds at most {MOST_ADDRESSES} addresses. Leave some --address out.")
    if name:
        TokenFile(paths.server_tokens).may_add(name)
    if server.host in LOOPBACK:
        click.echo(f"The server listens on {server.host}, which only this machine can reach. {_START}", err=True)
    file = PairingFile(paths.server_pairing)
    with _interrupted_by_signals():
        record, secret = file.open(pin, name, datetime.now(UTC))
        try:
            _show(Invitation(secret, addresses, pin), record, as_json=as_json)
            paired = _paired(file, record)
        finally:
            file.withdraw(record.id)
    click.echo(f'Paired with {paired}. To revoke its access: jackdaw-server token revoke "{paired}"', err=True)


def _server(paths: Paths) -> RunningServer:
    """Return the running server, which has to speak TLS. Raises UsageError."""
    server = running.read(paths.server_running)
    if server is None:
        raise UsageError("No server runs here as your user. Start one first: jackdaw-server serve --host 0.0.0.0")
    owner = paths.server_running.stat().st_uid
    if hasattr(os, "geteuid") and os.geteuid() not in (0, owner):  # another user could not read the server's files
        raise UsageError(f"The server runs as another user. Run as that user: sudo -u '#{owner}' jackdaw-server pair")
    if not server.tls and server.host in LOOPBACK:
        raise UsageError(f"The server listens on {server.host}, which only this machine can reach. {_START}")
    if not server.tls:
        raise UsageError(
            "A TLS proxy is in front of the server (serve.behind_tls), and its key is not known here. "
            "Make a token instead: jackdaw-server token create NAME"
        )
    return server


def _pin(server: RunningServer) -> str:
    """Return the pin (a hash) of the TLS key that the server uses now. Raises UsageError."""
    try:
        shown = ssl.get_server_certificate((server.local_address(), server.port), timeout=CONNECT_S)
    except OSError as error:
        raise UsageError(
            f"The server does not answer on port {server.port} ({error.strerror or error}). "
            "Start it first: jackdaw-server serve --host 0.0.0.0"
        ) from None
    return pin_of(ssl.PEM_cert_to_DER_cert(shown))


def _with_port(address: str, port: int) -> str:
    """Return the address as HOST:PORT, with `port` if the address has none. Raises UsageError."""
    host, _, given = address.rpartition(":") if not address.endswith("]") else (address, "", "")
    if not given.isdecimal() or (":" in host and not host.startswith("[")):
        host, given = address, ""
    if not host or not host.isascii() or not host.isprintable() or set(host) & set("/@?# "):
        raise UsageError(f"{address!r} is not an address. Write it like server.lan or 192.168.1.20:{PORT}")
    return f"{host if host.startswith('[') else joined(host)}:{given or port}"


def _show(invitation: Invitation, record: Record, *, as_json: bool) -> None:
    code, link = typed(invitation.secret), invitation.link()
    commands = [f"jackdaw connect {code} {address.removesuffix(f':{PORT}')}" for address in invitation.addresses]
    if as_json:
        expires = record.opened_at + VALID
        print_json({"code": code, "link": link, "addresses": invitation.addresses, "expires_at": expires})
        sys.stdout.flush()
        return
    if sys.stdout.isatty():
        _draw(link)
    click.echo(f"On the device, scan the QR code, or run: jackdaw connect '{link}'")
    click.echo("Or type on the device:")
    for command in commands:
        click.echo(f"  {command}")
    sys.stdout.flush()


def _draw(link: str) -> None:
    """Draw the pairing link as a QR code of half blocks, light on dark in any colour scheme, if the terminal has
    room.
    """
    import segno

    code = segno.make(link, error="l", micro=False)
    width, height = code.symbol_size(border=2)
    size = shutil.get_terminal_size()
    if size.columns < width or size.lines < height // 2:
        click.echo(
            f"The terminal is too small for the QR code, which needs {width} columns and {height // 2 + 1} lines."
        )
        return
    drawn = StringIO()
    code.terminal(drawn, border=2, compact=True)
    console().print(drawn.getvalue().rstrip("\n"), style="bright_white on black", soft_wrap=True)


def _paired(file: PairingFile, record: Record) -> str:
    """Wait until a device is paired and return the name of its new token. Raises NotPaired."""
    with _counting() as show:
        while True:
            now, current = datetime.now(UTC), file.read()
            state = "withdrawn" if current is None or current.id != record.id else current.state(now)
            if current and state == "paired":
                return current.paired
            if current is None or state != "open":
                raise NotPaired(f"{_ENDED[state]} Nothing was paired. Make a new code: jackdaw-server pair")
            show((record.opened_at + VALID - now).total_seconds(), current.tries_left)
            time.sleep(LOOK_S)


@contextmanager
def _counting() -> Iterator[Callable[[float, int], None]]:
    """Yield a function that shows the code's remaining time and tries on stderr, if stderr is a terminal."""
    if not sys.stderr.isatty():
        yield lambda _seconds, _tries: None
        return
    with console(sys.stderr).status("Waiting for a device …") as status:

        def show(seconds: float, tries: int) -> None:
            minutes, rest = divmod(int(seconds), 60)
            tried = "" if tries == TRIES else f", {tries} of {TRIES} tries"
            status.update(f"Waiting for a device … {minutes}:{rest:02} left{tried} (Ctrl-C withdraws the code)")

        yield show


@contextmanager
def _interrupted_by_signals() -> Iterator[None]:
    """Treat SIGTERM and SIGHUP like Ctrl-C, so that the code is withdrawn."""
    numbers = [signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
    before = {number: signal.signal(number, signal.default_int_handler) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
