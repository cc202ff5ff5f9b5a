"""Service definitions that keep the daemon running: the files to write and the commands to run for each manager.

Pure but for `program`, `install` and `uninstall`. Uses no package manager and needs only the person's own rights.
"""

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from device_app.system.phone import is_phone, prefix
from shared.errors import NotWritable, UsageError
from shared.printable import safe_line
from storage.paths import HOME_VARIABLE
from storage.private import write_private

NAME = "jackdaw"
LABEL = "io.jackdaw.daemon"
JOB_ID = "52135"
"""The job id on Termux: a number that other scripts of the person are unlikely to use."""

PERIOD_MS = 900_000
"""15 minutes in milliseconds, the shortest period that phones allow."""

_SCHEDULER, _CANCEL = "termux-job-scheduler", "--cancel"
_MOST_SAID = 200  # characters of a command's output that a message quotes
_WAIT_S = 10.0
_SCHEDULED = re.compile(r"\bresponse 1\b")  # JobScheduler.RESULT_SUCCESS; a refusal has exit code 0, too

Kind = Literal["systemd", "launchd", "termux"]


@dataclass(frozen=True, slots=True)
class Unit:
    """A file of a service definition; `executable` sets its executable bit."""

    path: Path
    text: str
    executable: bool = False


@dataclass(frozen=True, slots=True)
class Service:
    """A service: its files, the commands that `start` it, and those that `end` it before the files are removed."""

    kind: Kind
    units: Sequence[Unit]
    start: Sequence[Sequence[str]]
    end: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Told:
    """The result of one command of a service manager (systemd, launchd, Termux); `problem` is None if it succeeded."""

    command: str
    problem: str | None


def kind_of(environment: Mapping[str, str], platform: str, has: Callable[[str], bool]) -> Kind:
    """Return which service manager this device has; `has` says whether a command is installed.

    Raises UsageError if the device has none of the supported ones.
    """
    if is_phone(environment, platform):
        return "termux"
    if platform == "darwin":
        return "launchd"
    if has("systemctl"):
        return "systemd"
    raise UsageError(
        "This device has no systemd, launchd or Termux to run a service. Start `jackdaw daemon run` when you log in."
    )


def program() -> Path:
    """Return the path of `jackdaw`, beside this Python or on PATH, for files that start it. Raises UsageError."""
    beside = Path(sys.executable).with_name(NAME)
    path = str(beside) if beside.exists() else shutil.which(NAME)
    if path is None:
        raise UsageError("There is no `jackdaw` command that the service could run. Install Jackdaw first.")
    return Path(path)


def service(kind: Kind, program: Path, environment: Mapping[str, str], user: int) -> Service:
    """Return the service that runs `program`, for the person with this environment and user id."""
    home = Path(environment["HOME"])
    own = {HOME_VARIABLE: environment[HOME_VARIABLE]} if environment.get(HOME_VARIABLE) else {}
    if kind == "systemd":
        return _systemd(program, own, Path(environment.get("XDG_CONFIG_HOME") or home / ".config"))
    if kind == "launchd":
        return _launchd(program, own, home, user)
    return _termux(program, own, home, prefix(environment))


def _systemd(program: Path, own: Mapping[str, str], config: Path) -> Service:
    unit = f"{NAME}.service"
    lines = [
        "[Unit]",
        "Description=Jackdaw's background work while this device is idle",
        "",
        "[Service]",
        f"ExecStart={_systemd_word(str(program))} daemon run",
        *(f"Environment={_systemd_word(f'{name}={value}')}" for name, value in own.items()),
        "IOSchedulingClass=idle",
        "NoNewPrivileges=yes",
        "Restart=on-failure",
        "RestartSec=60",
        "",
        "[Install]",
        "WantedBy=default.target",
        "",
    ]
    control = ("systemctl", "--user")
    return Service(
        "systemd",
        (Unit(config / "systemd" / "user" / unit, "\n".join(lines)),),
        start=((*control, "daemon-reload"), (*control, "enable", "--now", unit)),
        end=((*control, "disable", "--now", unit),),
    )


def _launchd(program: Path, own: Mapping[str, str], home: Path, user: int) -> Service:
    path = home / "Library" / "LaunchAgents" / f"{LABEL}.plist"
    import plistlib  # here, as it reads XML, which no other system needs

    facts = {
        "Label": LABEL,
        "ProgramArguments": [str(program), "daemon", "run"],
        "EnvironmentVariables": dict(own),
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": 60,
        "ProcessType": "Background",
        "LowPriorityIO": True,
    }
    return Service(
        "launchd",
        (Unit(path, plistlib.dumps(facts).decode()),),
        start=(("launchctl", "bootstrap", f"gui/{user}", str(path)),),
        end=(("launchctl", "bootout", f"gui/{user}/{LABEL}"),),
    )


def _termux(program: Path, own: Mapping[str, str], home: Path, prefix: Path) -> Service:
    """Return a service that runs all the time, and a job that does its work while charging if Android has ended the
    service.

    `own` are the environment variables that both get.
    """
    folder = prefix / "var" / "service" / NAME
    job = home / ".termux" / "jobs" / NAME
    shell = f"#!{prefix}/bin/sh\n"
    call = " ".join(["exec", "env", *(shlex.quote(f"{name}={value}") for name, value in own.items())])
    call += f" {shlex.quote(str(program))} daemon"
    log = f"exec svlogd -tt {shlex.quote(str(prefix / 'var' / 'log' / 'sv' / NAME))}\n"
    schedule = (
        *(_SCHEDULER, "--job-id", JOB_ID, "--script", str(job), "--period-ms", str(PERIOD_MS)),
        # Require the least of the network: by default a job waits for a network, and an offline phone would never run
        # it.
        *("--charging", "true", "--battery-not-low", "true", "--persisted", "true", "--network", "none"),
    )
    return Service(
        "termux",
        (
            Unit(folder / "run", f"{shell}{call} run 2>&1\n", executable=True),
            Unit(folder / "log" / "run", f"{shell}mkdir -p {log[len('exec svlogd -tt ') :]}{log}", executable=True),
            Unit(job, f"{shell}{call} run-once --when-idle\n", executable=True),
        ),
        start=(("sv-enable", NAME), schedule),
        end=(("sv-disable", NAME), (_SCHEDULER, _CANCEL, "--job-id", JOB_ID)),
    )


def _systemd_word(text: str) -> str:
    """Return the text quoted as one word of a unit file."""
    for sign, written in (("\\", "\\\\"), ('"', '\\"'), ("%", "%%")):
        text = text.replace(sign, written)
    return f'"{text}"'


def install(service: Service) -> list[Told]:
    """Write the files and start the service; return each command's result, failures included. Raises NotWritable."""
    for unit in service.units:
        write_private(unit.path, unit.text)
        if unit.executable:
            unit.path.chmod(0o700)
    return [_run(command) for command in service.start]


def works(service: Service, reports: Sequence[Told]) -> bool:
    """Return whether the service was started, from the results of its commands.

    On a phone, the resident service or the job is enough.
    """
    succeeded = [report.problem is None for report in reports]
    return any(succeeded) if service.kind == "termux" else all(succeeded)


def uninstall(service: Service) -> tuple[list[Path], list[Told]]:
    """Stop the service and remove its files; return the removed files and each command's result. Raises NotWritable."""
    installed = [unit.path for unit in service.units if unit.path.exists()]
    reports = [_run(command) for command in service.end] if installed else []
    for path in installed:
        try:
            path.unlink()
        except OSError as error:
            raise NotWritable(f"Cannot remove {path}: {error.strerror}. Remove the file yourself.") from error
    return installed, reports


def _run(command: Sequence[str]) -> Told:
    name = shlex.join(command)
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_WAIT_S,
            check=False,
        )
    except FileNotFoundError:
        return Told(name, f"the command {command[0]} is not installed")
    except subprocess.TimeoutExpired:
        return Told(name, f"the command did not finish within {_WAIT_S:g} seconds")
    except OSError as error:
        return Told(name, (error.strerror or "the command cannot be run").lower())
    if done.returncode:
        return Told(name, (done.stderr or done.stdout).strip() or f"the command ended with code {done.returncode}")
    if command[0] == _SCHEDULER and _CANCEL not in command and not _SCHEDULED.search(done.stdout):
        said = safe_line(done.stdout).strip()[:_MOST_SAID]
        return Told(name, "Android did not schedule the job" + (f": {said}" if said else ""))
    return Told(name, None)
