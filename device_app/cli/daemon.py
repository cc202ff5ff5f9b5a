"""`jackdaw daemon`: does background work while the device is idle, once or permanently."""

import math
import os
import shlex
import shutil
import sys
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import click

from device_app.ahead.daemon import Daemon, State
from device_app.ahead.daemon import pause as set_paused
from device_app.ahead.work import Step
from device_app.cli.models import say_if_refused
from device_app.cli.opening import opened
from device_app.commands.work import worker
from device_app.device import Device
from device_app.settings import load
from device_app.system import services
from device_app.system.awake import awake
from device_app.system.phone import is_phone
from device_app.system.phone_notice import PREPARING, READING, Notice, ahead, steps_done
from models.threads import threads
from shared.cli.frame import Group
from shared.cli.output import print_blocks, print_json, print_table
from shared.errors import ExitCode, UsageError
from shared.printable import safe, safe_line
from storage.paths import Paths

NICE = 19
"""The lowest priority of a process, so that a question gets the processor at once."""

command = Group(
    "daemon",
    default="status",
    help="Background work while the device is idle: read changed files, prepare answers.",
    examples=(
        ("Install the daemon as a service", "jackdaw daemon install"),
        ("Do the background work once, now", "jackdaw daemon run-once --explain"),
        ("Show what the daemon is doing", "jackdaw daemon status"),
    ),
)


def _device() -> Device:
    """Return a device that computes with the number of threads set for the daemon."""
    device = opened()
    settings = device.settings
    usable = threads(0)  # on a phone, its big cores: two of them beat four in the background
    own = settings.daemon.threads or (min(2, usable) if is_phone() else max(1, usable // 2))
    device.settings = replace(
        settings, model=replace(settings.model, threads=own), embedder=replace(settings.embedder, threads=own)
    )
    return device


@command.command(
    "run",
    examples=(
        ("Run the daemon in this terminal", "jackdaw daemon run"),
        ("Run the daemon on battery power as well", "JACKDAW_DAEMON_MAINS=false jackdaw daemon run"),
    ),
)
def run(as_json: bool) -> None:
    """Run in the foreground, and prepare for later questions while the device is idle.

    Changes in the folders that you added are read soon. A question interrupts the work within a second. Progress is
    printed on stderr. Ends at Ctrl-C or SIGTERM.
    """
    os.nice(NICE)
    paths = Paths.locate(os.environ)
    daemon = Daemon(paths, _device)
    steps: list[Step] = []

    def finished(step: Step) -> None:
        steps.append(step)
        _show_steps(notice, steps)
        # stderr may be a log that lasts and that others read, so it gets no question unless it is a terminal.
        line = _line(step, explain=True) if sys.stderr.isatty() else f"{step.action}: {step.tokens:,} tokens"
        click.echo(line, err=True)

    notice = ahead()
    daemon.on_step, daemon.on_state = finished, lambda state: _show_state(notice, state)
    daemon.on_problem = lambda said: click.echo(safe_line(said), err=True)
    began = time.monotonic()
    with notice:
        daemon.run()
    if as_json:
        tokens = sum(step.tokens for step in steps)
        print_json({"steps": len(steps), "tokens": tokens, "seconds": round(time.monotonic() - began, 3)})


@command.command(
    "run-once",
    examples=(
        ("Do the background work now, with reasons", "jackdaw daemon run-once --explain"),
        ("Do the background work from a scheduler, if the device is idle", "jackdaw daemon run-once --when-idle"),
    ),
)
@click.option("--explain", is_flag=True, help="Print the reason for each step.")
@click.option("--when-idle", is_flag=True, help="Work only if the device is idle, cool and on mains power.")
@click.option(
    "--minutes", type=click.FloatRange(0, min_open=True), default=5, show_default=True, help="Most minutes to work."
)
def run_once(explain: bool, when_idle: bool, minutes: float, as_json: bool) -> int | None:
    """Do background work now, until all is done, a question is asked or the time is over; the next run continues.

    Exit code 3: there was nothing to do, or with --when-idle the device is not idle.
    """
    os.nice(NICE)
    paths = Paths.locate(os.environ)

    def said() -> Device:
        device = _device()
        say_if_refused(device)
        return device

    daemon = Daemon(paths, said)
    notice, steps = ahead(), list[Step]()

    def finished(step: Step) -> None:
        steps.append(step)
        _show_steps(notice, steps)
        if not as_json:
            click.echo(_line(step, explain=explain))

    daemon.on_step, daemon.on_state = finished, lambda state: _show_state(notice, state)
    if math.isnan(minutes):
        raise UsageError("--minutes takes a number of minutes, such as 5.")
    # A scheduler's job is not kept awake for: Android decides how long it may run.
    with notice, nullcontext() if when_idle else awake(paths.awake):
        report = daemon.once(force=not when_idle, seconds=60 * minutes)
    if as_json:
        print_json(report.as_json())
    else:
        click.echo(f"{len(report.steps):,} steps done, {report.tokens:,} tokens, {report.seconds:,.1f} s.")
        if report.stopped:
            click.echo(f"The work stopped early: {report.stopped}.", err=True)
    return None if report.steps else ExitCode.NOTHING


def _show_state(notice: Notice, state: State) -> None:
    """Show a notification on a phone while the work runs."""
    if state in ("reading", "working"):
        notice.show(READING if state == "reading" else PREPARING)
    else:
        notice.close()


def _show_steps(notice: Notice, steps: Sequence[Step]) -> None:
    tokens = sum(step.tokens for step in steps)
    notice.show(steps_done(len(steps), tokens))


def _line(step: Step, *, explain: bool) -> str:
    line = f"{step.action}: {safe_line(step.subject)}"
    return f"{line} ({safe_line(step.why)})" if explain else line


@command.command("status", examples=(("Show what the daemon is doing and has spent", "jackdaw daemon status"),))
def status(as_json: bool) -> None:
    """Show what the daemon does or waits for, and the tokens and energy that it has spent."""
    paths = Paths.locate(os.environ)
    running = worker(paths, load(paths, os.environ).settings.daemon)
    if as_json:
        print_json(
            {
                "running": running.running,
                "pid": running.pid,
                "paused": running.paused,
                "state": running.state,
                "why": running.why,
                "last": running.last,
                "tokens": running.tokens,
                "tokens_per_hour": running.tokens_per_hour,
                "joules": round(running.joules, 1),
                "joules_per_hour": running.joules_per_hour,
            }
        )
        return
    print_blocks(
        [
            [
                ("Daemon", f"process {running.pid}" if running.pid else "not running: jackdaw daemon install"),
                ("State", f"{running.state}: {running.why}" if running.why else running.state),
                ("Paused", "yes: jackdaw daemon resume" if running.paused else "no"),
                ("Last step", _line(running.last, explain=True) if running.last else "nothing yet"),
                ("This hour", f"{running.tokens:,} of {running.tokens_per_hour:,} tokens"),
                ("Energy", f"about {running.joules:,.0f} of {running.joules_per_hour:,.0f} joules"),
            ]
        ]
    )


@command.command("pause", examples=(("Pause background work", "jackdaw daemon pause"),))
def pause(as_json: bool) -> None:
    """Pause background work until `jackdaw daemon resume`. The current work ends within a second."""
    set_paused(Paths.locate(os.environ), paused=True)
    _say_paused(True, as_json)


@command.command("resume", examples=(("Resume background work", "jackdaw daemon resume"),))
def resume(as_json: bool) -> None:
    """Continue background work after `jackdaw daemon pause`."""
    set_paused(Paths.locate(os.environ), paused=False)
    _say_paused(False, as_json)


def _say_paused(paused: bool, as_json: bool) -> None:
    if as_json:
        print_json({"paused": paused})
    else:
        click.echo("Background work is paused." if paused else "Background work is not paused.")


@command.command(
    "install",
    examples=(
        ("Install the daemon as a service", "jackdaw daemon install"),
        ("Show the files and commands without installing", "jackdaw daemon install --json"),
    ),
)
@click.option("-y", "--yes", is_flag=True, help="Install without asking.")
def install(yes: bool, as_json: bool) -> int | None:
    """Let the system start the daemon at login and keep it running.

    Uses systemd, launchd, or Termux's services and jobs. The files and commands are shown first. With --json nothing is
    written unless -y is given as well.
    """
    service = _service()
    if not as_json:
        for unit in service.units:
            click.echo(f"{safe_line(str(unit.path))}\n\n{safe(unit.text)}")
        for line in service.start:
            click.echo(f"$ {safe_line(shlex.join(line))}")
        if not yes and not (sys.stdin.isatty() and click.confirm("Write these files and run the commands?", err=True)):
            raise UsageError("Nothing was installed. To install without being asked: jackdaw daemon install -y")
    reports = services.install(service) if yes or not as_json else []
    if as_json:
        facts = {
            "service": service.kind,
            "files": service.units,
            "commands": [shlex.join(line) for line in service.start],
        }
        print_json({**facts, "installed": yes, "told": reports})
    else:
        say_told(reports)
    if not services.works(service, reports):
        return ExitCode.FAILED
    if not as_json and any(report.problem for report in reports):
        click.echo(
            "One part was not installed, but the other is enough: the service, or the job that runs while charging.",
            err=True,
        )
    return None


@command.command("uninstall", examples=(("Remove the daemon's service", "jackdaw daemon uninstall"),))
def uninstall(as_json: bool) -> int | None:
    """Stop the service and remove the files that `install` wrote."""
    removed, reports = services.uninstall(_service())
    if as_json:
        print_json({"removed": removed, "told": reports})
    elif removed:
        print_table(("Removed",), [(path,) for path in removed])
        say_told(reports)
    else:
        click.echo("The daemon is not installed as a service.")
    return None if removed else ExitCode.NOTHING


def _service() -> services.Service:
    kind = services.kind_of(os.environ, sys.platform, lambda name: shutil.which(name) is not None)
    environment = {**os.environ, "HOME": str(Path.home())}
    return services.service(kind, services.program(), environment, os.getuid())


def say_told(reports: Sequence[services.Told]) -> None:
    """Print the result of each command of a service manager."""
    for report in reports:
        mark = "done" if report.problem is None else f"failed: {report.problem}"
        click.echo(f"$ {safe_line(report.command)}: {safe(mark)}", err=report.problem is not None)
