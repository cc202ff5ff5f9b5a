"""`jackdaw-server serve`: answer devices until the process is told to end."""

import asyncio
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from importlib.util import find_spec

import click

from cloud_server import build
from cloud_server.access import certificate
from cloud_server.access.self_signed import with_certificate
from cloud_server.cli.models import ensure
from cloud_server.cli.starting import StartingModel, start_model
from cloud_server.monitoring.heartbeat import watchdog_s
from cloud_server.monitoring.logs import begin_logging
from cloud_server.monitoring.systemd import notify
from cloud_server.retrieval.corpus import Corpus
from cloud_server.retrieval.index import shortage
from cloud_server.serving import running
from cloud_server.serving.running import RunningServer
from cloud_server.serving.server import CompanionServer
from cloud_server.settings import Settings, load
from models import catalog
from models.commands import anyway_option, complete_name
from models.threads import threads as threads_of
from shared.cli.frame import Command
from shared.cli.output import print_json
from shared.errors import ExitCode, JackdawError, NothingFound, StoreCorrupt, UsageError
from shared.extras import remedy
from storage.paths import Paths

ENDS_S = 10.0
"""Seconds after a part of the server failed at which the process is killed, in case the shutdown hangs."""

CLOSES_S = 5.0
"""Seconds after the server stopped waiting for answers at which the process is killed, in case the shutdown hangs."""


@click.command(
    cls=Command,
    examples=(
        ("Serve devices on this machine only", "jackdaw-server serve"),
        ("Serve a home network, then pair its devices: jackdaw-server pair", "jackdaw-server serve --host 0.0.0.0"),
        (
            "Serve any network, with your own TLS certificate",
            "jackdaw-server serve --host :: --certificate chain.pem --key key.pem",
        ),
        ("Pick a free port and print it as JSON for a script", "jackdaw-server serve --port 0 --json"),
        ("Answer with a larger model in this run", "jackdaw-server serve --model smollm2-1.7b"),
        ("Serve with four processes on a Ray cluster", "jackdaw-server serve --replicas 4"),
    ),
)
@click.option("--host", help="Address the server listens on; any but a loopback address needs TLS.")
@click.option("--port", type=int, help="Port the server listens on; 0 picks a free port.")
@click.option("--certificate", help="PEM file with the TLS certificate chain.")
@click.option("--key", help="PEM file with the certificate's private key.")
@click.option("--metrics-port", type=int, help="Port for health checks and metrics; 0 turns both off.")
@click.option("--metrics-host", help="Address of the metrics port, which shows each token's use to anyone.")
@click.option(
    "--model", shell_complete=complete_name, help="Model that writes answers in this run: a name, or file:PATH."
)
@anyway_option
@click.option("--threads", type=int, help="CPU threads for the model; 0: one per physical core, none for small cores.")
@click.option("--replicas", type=click.IntRange(min=1), help="Number of server processes, run on a Ray cluster.")
def command(
    host: str | None,
    port: int | None,
    certificate: str | None,
    key: str | None,
    metrics_port: int | None,
    metrics_host: str | None,
    model: str | None,
    anyway: bool,
    threads: int | None,
    replicas: int | None,
    as_json: bool,
) -> None:
    """Answer the devices that were paired or have a token, until SIGTERM or Ctrl-C. Running answers may finish then; a
    second signal ends at once. SIGHUP reloads tokens and certificate, and closes no connection.

    On any but a loopback address the server uses TLS, with a self-signed certificate if none is given; paired devices
    (`jackdaw-server pair`) know its key.

    At start it says which model it loads, the memory that the model needs and how much is free. A model for which too
    little is free is refused.

    With --json, print the ports and the model as one object once it listens. The log goes to stderr, as one JSON object
    a line if that is no terminal. With --replicas, it serves on the cluster that RAY_ADDRESS names, or with that many
    processes on this machine; the extra `scale` brings Ray. Exit code 70: the server failed and must be started again.
    """
    signal.signal(signal.SIGHUP, lambda *_: None)  # ignored until ready: the default ends the process
    paths = Paths.locate(os.environ)
    given = {"host": host, "port": port, "certificate": certificate, "key": key}
    watched = {"metrics_port": metrics_port, "metrics_host": metrics_host}
    flags = {f"serve.{name}": value for name, value in (given | watched).items()}
    chosen = catalog.find(model, "engine").address if model else None
    settings = load(paths, os.environ, flags | {"model.name": chosen, "model.threads": threads}).settings
    begin_logging(settings.log.level, as_json=not sys.stderr.isatty())
    sharing = 1 if os.environ.get("RAY_ADDRESS") else replicas or 1
    starting = start_model(paths, _of_each(settings, sharing), sharing, anyway=anyway)
    if not as_json:
        click.echo(starting.sentence, err=True)
    if replicas:
        _require_memory_for_codes(paths, settings, sharing)
        _require_means_for_many(settings)
    else:
        settings = with_certificate(paths, settings)
    build.may_listen(paths, settings, pairs=not replicas)  # before anything large is downloaded
    ensure(build.weights(paths), settings.model.name, settings.embedder.name)
    if replicas:
        _serve_many(paths, _of_each(settings, sharing), replicas, starting, as_json=as_json)
        return
    if not as_json:
        click.echo("Loading the model. The first time it is also tested on this machine, for up to minutes.", err=True)
    server = build.server(paths, settings)

    def ready(address: str, port: int, metrics_port: int | None) -> None:
        own = settings.serve
        unsigned = own.certificate == str(paths.server_certificate)
        signed = () if unsigned else _names(settings)
        facts = RunningServer(address, port, bool(own.certificate), signed, os.getpid())
        running.announce(paths.server_running, facts)
        _print_started(settings, address, port, metrics_port, starting, as_json=as_json, unsigned=unsigned)
        if not as_json and not server.tokens.entries():
            click.echo("No device can use the server yet. Add one: jackdaw-server pair", err=True)
        if not as_json and (why := _without_passages(server.answering.corpus)):
            click.echo(why, err=True)
        notify("READY=1")

    try:
        run(server, ready)
    except OSError as error:
        own = settings.serve
        metrics = f", or for metrics on {own.metrics_host}:{own.metrics_port}" if own.metrics_port else ""
        places = f"{own.host}:{own.port}{metrics}"
        raise UsageError(
            f"Cannot listen on {places}: {error.strerror or error}. Choose another address or port."
        ) from None
    finally:
        running.forget(paths.server_running, os.getpid())


def run(server: CompanionServer, ready: Callable[[str, int, int | None], None]) -> None:
    """Serve until a signal ends the server, as `CompanionServer.run` does.

    The process is killed ENDS_S after a part of the server failed, or CLOSES_S after the server stopped waiting for
    answers.
    """
    server.on_lost = lambda: _end_within(ENDS_S, ExitCode.LOST)
    server.on_drained = lambda: _end_within(CLOSES_S, ExitCode.LOST if server.lost else ExitCode.FAILED)
    asyncio.run(server.run(ready, ending=lambda: notify("STOPPING=1")))


def _without_passages(corpus: Corpus | None) -> str:
    """Return a sentence that tells the user why questions get no public passages; empty if they get passages."""
    try:
        if corpus is not None:
            corpus.refresh()
    except NothingFound:
        pass
    except JackdawError as error:
        return f"Questions get no public passages. {error}"
    return "" if corpus else "The server has no public passages yet. Add some: jackdaw-server index build SOURCE"


def _of_each(settings: Settings, sharing: int) -> Settings:
    """Return the settings of each of `sharing` replicas on this machine: its share of cores, memory and GPU."""
    own, retrieval = settings.model, settings.retrieval
    threads = own.threads or max(1, threads_of(0) // sharing)
    memory = max(1.0, retrieval.memory_mb / sharing)
    shared = replace(retrieval, memory_mb=memory, gpu_mb=retrieval.gpu_mb / sharing)
    return replace(settings, model=replace(own, threads=threads), retrieval=shared)


def _require_memory_for_codes(paths: Paths, settings: Settings, sharing: int) -> None:
    """Raise UsageError if `sharing` replicas on this machine have too little memory for each to hold the index's RaBitQ
    codes (short forms of all vectors, kept in memory).

    A missing or damaged index raises no error here: the replicas then serve without it.
    """
    if settings.retrieval.milvus:
        return
    with suppress(NothingFound, StoreCorrupt):
        if missing := shortage(build.index(paths, settings, 1), settings.retrieval.memory_mb, sharing):
            raise UsageError(missing)


def _require_means_for_many(settings: Settings) -> None:
    """Raise UsageError if several processes cannot serve with these settings."""
    if not find_spec("ray"):
        raise UsageError(f"--replicas needs Ray. {remedy('scale')}")
    own = settings.serve
    if not own.port:
        raise UsageError("--replicas needs a fixed port. Give --port a number other than 0.")
    if os.environ.get("RAY_SERVE_ENABLE_HA_PROXY") == "1" and (own.certificate or not own.behind_tls):
        raise UsageError(
            "Ray's HAProxy has no TLS and shows its metrics on every address. Put a TLS proxy in front of it in a "
            "private network, remove serve.certificate, and set serve.behind_tls."
        )
    if settings.retrieval.milvus.endswith(".db"):
        raise UsageError(
            "A Milvus file can be open in one process only. With --replicas, set retrieval.milvus to a Milvus server."
        )


def _serve_many(paths: Paths, settings: Settings, replicas: int, starting: StartingModel, *, as_json: bool) -> None:
    from cloud_server.scale import fleet

    own, ended = settings.serve, threading.Event()
    each = partial(build.replica, paths, settings)
    with fleet.running(own, replicas, settings.model.threads, settings.limits.devices, each):
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: ended.set())
        _print_started(settings, own.host, own.port, None, starting, as_json=as_json)
        notify("READY=1")
        watchdog = watchdog_s(os.environ)
        while not ended.wait(watchdog / 3 if watchdog else None):
            notify("WATCHDOG=1")
        notify("STOPPING=1")


def _end_within(seconds: float, code: ExitCode) -> None:
    timer = threading.Timer(seconds, os._exit, (code,))
    timer.daemon = True
    timer.start()


def _print_started(
    settings: Settings,
    address: str,
    port: int,
    metrics_port: int | None,
    starting: StartingModel,
    *,
    as_json: bool,
    unsigned: bool = False,
) -> None:
    """Print the address at which devices reach the server. With an `unsigned` certificate, only paired devices can
    connect.
    """
    own = settings.serve
    reached = certificate.reached_by(_names(settings), address, socket.gethostname())
    url = f"{'wss' if own.certificate else 'ws'}://{f'[{reached}]' if ':' in reached else reached}:{port}"
    if as_json:
        facts = {"url": url, "port": port, "metrics_port": metrics_port, "pid": os.getpid()}
        print_json(facts | {"model": starting.facts})
        sys.stdout.flush()
    else:
        step = "Add a device: jackdaw-server pair" if unsigned else f"On a device: jackdaw connect {url}"
        click.echo(f"Serving on {address}, port {port}. {step}", err=True)


def _names(settings: Settings) -> tuple[str, ...]:
    own = settings.serve
    return certificate.read(own.certificate, own.key).names if own.certificate else ()
