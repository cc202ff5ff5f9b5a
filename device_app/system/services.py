"""How the device's own service manager keeps the daemon running: what to write where, and what to tell it.

Pure but for `install` and `uninstall`. Uses no package manager and needs no rights beyond the person's own.
"""

import plistlib
import shlex
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from shared.errors import NotWritable, UsageError
from storage.paths import HOME_VARIABLE, write_private

NAME = "jackdaw"
LABEL = "io.jackdaw.daemon"
JOB_ID = "52135"
"""The phone's number for the job; any that no other script of the person's is likely to use."""

PERIOD_MS = 900_000
"""15 minutes, the shortest that phones allow."""

_WAIT_S = 20.0

Kind = Literal["systemd", "launchd", "termux"]


@dataclass(frozen=True, slots=True)
class Unit:
    """A file to write. `executable` is whether it is run itself."""

    path: Path
    text: str
    executable: bool = False


@dataclass(frozen=True, slots=True)
class Service:
    """What `install` writes and then runs, and what `uninstall` runs before it removes the files."""

    kind: Kind
    units: Sequence[Unit]
    start: Sequence[Sequence[str]]
    end: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Told:
    """What became of one command; `problem` is None where it went well."""

    command: str
    problem: str | None


def kind_of(environment: Mapping[str, str], platform: str, has: Callable[[str], bool]) -> Kind:
    """Which service manager this device has. Raises UsageError where it is none of ours."""
    if "com.termux" in environment.get("PREFIX", ""):
        return "termux"
    if platform == "darwin":
        return "launchd"
    if has("systemctl"):
        return "systemd"
    raise UsageError(
        "This device has neither systemd nor launchd nor Termux. Let `jackdaw daemon run` start with your session."
    )


def service(kind: Kind, program: Path, environment: Mapping[str, str], user: int) -> Service:
    """Everything about the service that runs `program`, for the person with this environment and user id."""
    home = Path(environment["HOME"])
    own = {HOME_VARIABLE: environment[HOME_VARIABLE]} if environment.get(HOME_VARIABLE) else {}
    if kind == "systemd":
        return _systemd(program, own, Path(environment.get("XDG_CONFIG_HOME") or home / ".config"))
    if kind == "launchd":
        return _launchd(program, own, home, user)
    return _termux(program, own, home, Path(environment["PREFIX"]))


def _systemd(program: Path, own: Mapping[str, str], config: Path) -> Service:
    unit = f"{NAME}.service"
    lines = [
        "[Unit]",
        "Description=Jackdaw works ahead while this device is idle",
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
    """A resident service, and a job that works ahead when Android has ended the service: it comes while charging."""
    folder = prefix / "var" / "service" / NAME
    job = home / ".termux" / "jobs" / NAME
    shell = f"#!{prefix}/bin/sh\n"
    call = " ".join(["exec", "env", *(shlex.quote(f"{name}={value}") for name, value in own.items())])
    call += f" {shlex.quote(str(program))} daemon"
    log = f"exec svlogd -tt {shlex.quote(str(prefix / 'var' / 'log' / 'sv' / NAME))}\n"
    schedule = (
        *("termux-job-scheduler", "--job-id", JOB_ID, "--script", str(job), "--period-ms", str(PERIOD_MS)),
        # Without a network is the least it asks for: an offline phone would never run it otherwise.
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
        end=(("sv-disable", NAME), ("termux-job-scheduler", "--cancel", "--job-id", JOB_ID)),
    )


def _systemd_word(text: str) -> str:
    """One word of a unit file, whatever is in it."""
    for sign, written in (("\\", "\\\\"), ('"', '\\"'), ("%", "%%")):
        text = text.replace(sign, written)
    return f'"{text}"'


def install(service: Service) -> list[Told]:
    """Write the files and start the service. A command that fails is told, not raised. Raises NotWritable."""
    for unit in service.units:
        write_private(unit.path, unit.text)
        if unit.executable:
            unit.path.chmod(0o700)
    return [_run(command) for command in service.start]


def uninstall(service: Service) -> tuple[list[Path], list[Told]]:
    """End the service and remove its files: which there were, and what became of the commands. Raises NotWritable."""
    installed = [unit.path for unit in service.units if unit.path.exists()]
    reports = [_run(command) for command in service.end] if installed else []
    for path in installed:
        try:
            path.unlink()
        except OSError as error:
            raise NotWritable(f"Cannot remove {path}: {error.strerror}. Remove it yourself.") from error
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
        return Told(name, f"there is no {command[0]} here")
    except subprocess.TimeoutExpired:
        return Told(name, f"it did not answer within {_WAIT_S:g} seconds")
    except OSError as error:
        return Told(name, (error.strerror or "it cannot be run").lower())
    if done.returncode:
        return Told(name, (done.stderr or done.stdout).strip() or f"it ended with code {done.returncode}")
    return Told(name, None)
