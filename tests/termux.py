"""Simulates the Termux app of an Android phone, for tests.

Processes see Android's Python platform, a home and PREFIX of their own, and fake `termux-*` commands that answer as
real ones do, hang, deny, print nonsense or are missing. Of the machine's PATH only a few tools are there, and no
compiler. The Python is that of the tests, or a 3.14 where one is installed with the product's dependencies
(`python()`).
"""

import functools
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any

import psutil
import pytest

ROOT = Path(__file__).parent.parent

FILES = "data/data/com.termux/files"
"""Termux's folder, in which HOME (`home`) and PREFIX (`usr`) lie."""

_SHAPE = '''"""Termux's Python, as its libraries see it."""

import ctypes  # before the platform changes: on Android it opens libpython
import os
import platform
import sys

import psutil  # Termux's own takes Android for Linux


def _denied(*_, **__):
    raise PermissionError(13, "Permission denied", "/proc/stat")


psutil.cpu_times = psutil.cpu_percent = psutil.getloadavg = _denied
# The build's variables are in a module that is named after the platform.
_built = f"_sysconfigdata_{sys.abiflags}_{sys.platform}_{getattr(sys.implementation, '_multiarch', '')}"
os.environ["_PYTHON_SYSCONFIGDATA_NAME"] = _built
sys.platform = "android"
sys.getandroidapilevel = lambda: 24
if hasattr(platform, "android_ver"):  # from Python 3.13 on; it asks Android's libc
    _version = platform.AndroidVer("14", 34, "Example", "SM8550", "phone", False)
    platform.android_ver = lambda *_, **__: _version
for _name in ("link", "getloadavg", "getxattr", "setxattr", "listxattr", "removexattr"):
    if hasattr(os, _name):
        delattr(os, _name)
'''

_TOOLS = (
    "sh",
    "bash",
    "env",
    "cat",
    "chmod",
    "cp",
    "date",
    "dirname",
    "basename",
    "expr",
    "ls",
    "mkdir",
    "mv",
    "nice",
    "rm",
)
_MORE_TOOLS = (
    "sed",
    "sleep",
    "tr",
    "uname",
    "touch",
    "head",
    "grep",
    "ln",
    "df",
    "id",
    "readlink",
    "sort",
    "tail",
    "wc",
)

_DENIAL = {"error": "Please grant the following permission to use this command: android.permission.READ_SMS"}
_NONSENSE = b'\x00<html>{"percentage": [[[\xff\xfe\n'


class Wrong(Enum):
    """How a `termux-*` command misbehaves."""

    HANGS = "its companion app is not installed"
    DENIES = "its permission is not granted: JSON with an error, and exit code 0, as on a phone"
    NONSENSE = "bytes that are neither JSON nor text"
    FAILS = "exit code 1, and words on stderr"
    MISSING = "there is no such command"


def battery(percentage: float = 64, plugged: str = "UNPLUGGED", temperature: float = 31.2) -> dict[str, Any]:
    """Return what `termux-battery-status` prints."""
    return {
        "present": True,
        "technology": "Li-ion",
        "health": "GOOD",
        "plugged": plugged,
        "status": "DISCHARGING" if plugged == "UNPLUGGED" else "CHARGING",
        "temperature": temperature,
        "voltage": 3987,
        "current": -312500,
        "percentage": percentage,
        "level": percentage,
        "scale": 100,
    }


MESSAGES: list[dict[str, Any]] = [
    {
        "threadid": 3,
        "type": "inbox",
        "read": True,
        "sender": "Anna Lindqvist",
        "address": "+46 70 123 45 67",
        "number": "+46 70 123 45 67",
        "received": "2026-08-12 18:04:31",
        "body": "Friday works: I bring the blue drill at seven.",
        "_id": 41,
    },
    {
        "threadid": 3,
        "type": "sent",
        "read": True,
        "sender": "You",
        "address": "0701234567",
        "number": "0701234567",
        "received": "2026-08-12 18:06:02",
        "body": "Great, see you on Friday then.",
        "_id": 42,
    },
    {
        "threadid": 9,
        "type": "inbox",
        "read": False,
        "address": "MYBANK",
        "number": "MYBANK",
        "received": "2026-08-13 09:12:00",
        "body": "Your one-time code is 482913. Do not share it with anybody.",
        "_id": 43,
    },
]
"""The output of `termux-sms-list`: `sender` is set only for contacts, and is "You" for messages that were sent."""

CONTACTS = [
    {"name": "Anna Lindqvist", "number": "+46 70-123 45 67"},
    {"name": "Petra Novak", "number": "070 765 43 21"},
]

CALLS: list[dict[str, Any]] = [
    {
        "name": "Petra Novak",
        "phone_number": "0707654321",
        "type": "MISSED",
        "date": "2026-08-11 12:30:00",
        "duration": "00:00",
        "sim_id": "1",
    },
]

NOTIFICATIONS: list[dict[str, Any]] = [
    {
        "id": 7,
        "tag": "",
        "key": "0|org.example.parcels|7|null|10123",
        "group": "",
        "packageName": "org.example.parcels",
        "title": "Parcel",
        "content": "Your parcel arrives on Thursday.",
        "when": "2026-08-13 08:00:00",
    },
]

ANSWERS: Mapping[str, Any] = {
    "termux-battery-status": battery(),
    "termux-call-log": CALLS,
    "termux-clipboard-get": "",
    "termux-clipboard-set": "",
    "termux-contact-list": CONTACTS,
    "termux-dialog": {"code": -1, "text": "When is the dentist?"},
    "termux-job-scheduler": "Scheduling Job 52135: /jobs/jackdaw (periodic: 900000ms) (while charging) - response 1\n",
    "termux-notification": "",
    "termux-notification-list": NOTIFICATIONS,
    "termux-notification-remove": "",
    "termux-setup-storage": "",
    "termux-sms-list": MESSAGES,
    "termux-speech-to-text": "when is the dentist\n",
    "termux-toast": "",
    "termux-tts-engines": [{"name": "com.google.android.tts", "label": "Speech", "default": True}],
    "termux-tts-speak": "",
    "termux-volume": [{"stream": "music", "volume": 5, "max_volume": 15}],
    "termux-wake-lock": "",
    "termux-wake-unlock": "",
    "sv-enable": "",
    "sv-disable": "",
    "pkg": "",
    "pm": "package:com.termux  installer=org.fdroid.fdroid\npackage:com.termux.api  installer=org.fdroid.fdroid\n",
}
"""What each command prints: text as it is, anything else as JSON."""

_WITH_INPUT = frozenset({"termux-tts-speak", "termux-clipboard-set"})
"""The commands that read their input."""


class Phone:
    """One simulated phone: its folders, its commands and what they were called with."""

    def __init__(self, folder: Path) -> None:
        self.files = folder / FILES
        self.home, self.prefix = self.files / "home", self.files / "usr"
        self.python = python()
        self.bin, self._state = self.prefix / "bin", folder / "termux"
        for each in (self.home, self.bin, self.prefix / "tmp", self._state):
            each.mkdir(parents=True)
        (self._state / "sitecustomize.py").write_text(_SHAPE)
        for tool in (*_TOOLS, *_MORE_TOOLS):
            if path := shutil.which(tool):
                (self.bin / tool).symlink_to(path)
        for name, answer in ANSWERS.items():
            self.answers(name, answer)
        self.script("getprop", "case $1 in *release) echo 14;; *sdk) echo 34;; *model) echo SM8550;; esac")

    @property
    def environment(self) -> dict[str, str]:
        """The environment of a shell in Termux; JACKDAW_HOME is not set there."""
        return {
            "HOME": str(self.home),
            "PREFIX": str(self.prefix),
            "PATH": str(self.bin),
            "TMPDIR": str(self.prefix / "tmp"),
            "SHELL": str(self.bin / "bash"),
            "LANG": "en_US.UTF-8",
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            "ANDROID_DATA": "/data",
            "ANDROID_ROOT": "/system",
            "TERMUX_VERSION": "0.119.0-beta.3",
            "TERMUX_APK_RELEASE": "F_DROID",
            "PYTHONPATH": f"{self._state}{os.pathsep}{ROOT}",
            "PYTHONDONTWRITEBYTECODE": "1",
            # Tests run side by side, and threads that wait for each other on busy cores cost more than they save.
            "JACKDAW_MODEL_THREADS": "1",
            "JACKDAW_EMBEDDER_THREADS": "1",
            "JACKDAW_ANSWER_MAX_TOKENS": "24",
        }

    def answers(self, name: str, answer: Any) -> None:
        """Set the output of a command: text as it is, anything else as JSON."""
        printed = self._state / f"{name}.out"
        printed.write_text(answer if isinstance(answer, str) else json.dumps(answer, indent=2) + "\n")
        self.script(name, f"cat {printed}")

    def goes_wrong(self, how: Wrong, *names: str) -> None:
        """Let these commands misbehave in the given way."""
        for name in names:
            if how is Wrong.DENIES:
                self.answers(name, _DENIAL)
            elif how is Wrong.NONSENSE:
                (self._state / "nonsense").write_bytes(_NONSENSE)
                self.script(name, f"cat {self._state / 'nonsense'}")
            elif how is Wrong.MISSING:
                (self.bin / name).unlink()
            else:
                self.script(name, "exec sleep 600" if how is Wrong.HANGS else "echo 'it failed' >&2; exit 1")

    def script(self, name: str, body: str) -> None:
        """Let a command note its call, then run this shell script."""
        stored = f"cat > {self._state / name}.in\n" if name in _WITH_INPUT else ""
        noted = f"""{{ printf '%s\\0' {name} "$@"; printf '\\1'; }} >> {self._state / "calls"}"""
        path = self.bin / name
        path.unlink(missing_ok=True)
        path.write_text(f"#!/bin/sh\n{noted}\n{stored}{body}\n")
        path.chmod(0o755)

    def calls(self, *names: str) -> list[list[str]]:
        """The calls of these commands so far, or of all, in order: name and arguments of each."""
        noted = self._state / "calls"
        text = noted.read_text() if noted.exists() else ""
        calls = [call.removesuffix("\0").split("\0") for call in text.split("\1")[:-1]]
        return [call for call in calls if not names or call[0] in names]

    def forget_calls(self) -> None:
        """Clear the record of calls."""
        (self._state / "calls").unlink(missing_ok=True)

    def input_of(self, name: str) -> str:
        """Return what a command last got on its standard input."""
        return (self._state / f"{name}.in").read_text()

    def command(self, *arguments: str, fakes: bool = True) -> list[str]:
        """The command line of `jackdaw`; with `fakes`, its model and embedder need no weights."""
        make = "fake_device" if fakes else "None"
        code = f"from device_app.cli import main; from tests.devices import fake_device; main({make})"
        return [self.python, "-c", code, *arguments]

    def run(
        self, *arguments: str, fakes: bool = True, text: str | None = None, own: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run `jackdaw` to its end. `text` is its input, `own` are further environment variables."""
        given = {"input": text} if text is not None else {"stdin": subprocess.DEVNULL}
        return subprocess.run(
            self.command(*arguments, fakes=fakes),
            capture_output=True,
            text=True,
            errors="replace",
            env=self.environment | dict(own or {}),
            cwd=self.home,
            timeout=120,
            check=False,
            **given,
        )

    def json(self, *arguments: str, code: int | None = 0, **options: Any) -> Any:
        """The object that a command with --json prints."""
        done = self.run(*arguments, "--json", **options)
        assert code is None or done.returncode == code, (done.returncode, done.stdout, done.stderr)
        return json.loads(done.stdout)

    def shell(self, command: Sequence[str | Path]) -> subprocess.CompletedProcess[str]:
        """Run a script as Termux itself does."""
        return subprocess.run(
            list(map(str, command)),
            capture_output=True,
            text=True,
            env=self.environment,
            cwd=self.home,
            stdin=subprocess.DEVNULL,
            timeout=120,
            check=False,
        )

    def enter(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Give this process the phone's environment and platform. Most libraries look at the platform when imported."""
        for variable in [name for name in os.environ if name.startswith("JACKDAW_")]:
            monkeypatch.delenv(variable)
        for name, value in self.environment.items():
            if not name.startswith("PYTHON"):
                monkeypatch.setenv(name, value)
        monkeypatch.setattr(sys, "platform", "android")


@pytest.fixture
def phone(tmp_path: Path) -> Phone:
    """A phone whose commands all answer."""
    return Phone(tmp_path)


def ended(pid: int) -> bool:
    """Return whether the process ends within 10 s; a zombie counts as ended."""
    for _ in range(1_000):
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.01)
    return False


@functools.cache
def python() -> str:
    """The Python of the simulated phone: a 3.14 with the product's dependencies, as on phones, else the tests' own."""
    if sys.version_info >= (3, 14):
        return sys.executable
    needed = "import click, filelock, msgspec, numpy, platformdirs, psutil, sqlite_utils, textual, tomlkit"
    newer = shutil.which("python3.14")
    if newer and subprocess.run([newer, "-c", needed], capture_output=True, check=False).returncode == 0:
        return newer
    return sys.executable


def said_of_python() -> str:
    """Which Python the simulated phone runs, in words."""
    if sys.version_info >= (3, 14) or python() != sys.executable:
        return f"Termux's shape: Python 3.14, as on phones ({python()})"
    return (
        f"Termux's shape: Python {sys.version.split()[0]}; phones have 3.14, which is not installed here with the "
        "product's dependencies"
    )
