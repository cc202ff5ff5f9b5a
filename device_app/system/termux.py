"""Runs Termux's commands on a phone. Independent of models.

A `termux-*` command talks to the companion app Termux:API. The command hangs if that app is missing, and prints an
object with `error` if Android denies a permission. So each call is limited in time and output, its problem is described
in words, and a command that did not answer is not waited for again soon.
"""

import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from device_app.system.phone import is_phone, prefix

SECONDS = 3.0
"""Seconds to wait for a command that shows no dialog; a phone takes up to one second."""

SILENT_S = 600.0
"""Seconds after a time-out for which a command counts as silent and is not run, unless it has answered this process
before: an answer waits for it once at most.
"""

_MOST_AT_ONCE = 2
"""The most Termux commands that this process runs at the same time: Android kills a program with many processes."""

_PERMISSION = "to use this command: "
"""The words before the permission's name in a reply that denies it."""

_SLOT_S = 0.05
"""Seconds between checks whether a call has to be given up, while it waits for other calls to end."""

_slots = threading.BoundedSemaphore(_MOST_AT_ONCE)
_answered: set[str] = set()
"""The paths of the commands that have ended in time at least once: a later time-out does not mean that the companion
app is missing.
"""

_timed_out: dict[str, float] = {}
"""When each silent command last timed out (monotonic clock), by its path; only commands without a dialog."""


def find(name: str) -> str | None:
    """Return the path of a command, also if PATH lacks Termux's folder; None if the command is not installed."""
    return shutil.which(name) or (shutil.which(name, path=str(prefix() / "bin")) if is_phone() else None)


@dataclass(frozen=True, slots=True)
class Reply:
    """The output of a command and its duration. `problem` says why the output is no answer, and what to do; else ""."""

    command: str
    printed: bytes = b""
    ms: float = 0.0
    problem: str = ""

    @property
    def is_answer(self) -> bool:
        """Whether there is no `problem`: the command is installed, ended in time, and Android did not deny its
        permission.
        """
        return not self.problem


class _Over(Exception):
    """Ends a running command whose reply nobody needs any more."""


def call(
    name: str, *arguments: str, seconds: float | None = None, is_over: Callable[[], bool] = lambda: False
) -> Reply:
    """Run one of Termux's commands, for at most `seconds` (by default SECONDS), after waiting as long for others.

    Raises nothing: if it is missing, hangs or is denied, the reply has a `problem`. A command that never answered, and
    did not within SECONDS, is not run again for SILENT_S. Once `is_over()`, the command is ended and not waited for any
    more.
    """
    import subprocess

    from device_app.system.commands import output

    path, most = find(name), SECONDS if seconds is None else seconds
    if path is None:
        package = "termux-services" if name.startswith("sv-") else "termux-api"
        return Reply(name, problem=f"{name} is not installed. Run: pkg install {package}")
    began = time.monotonic()
    if began - _timed_out.get(path, -SILENT_S) < SILENT_S:
        return Reply(name, problem=_silent(name, most))

    def look() -> None:
        if is_over():
            raise _Over

    printed, problem = b"", ""
    try:
        with _slot(began + most, look):
            printed = output((path, *arguments), most, look)
        _answered.add(path)
    except TimeoutError:
        problem = f"{name} was not run, because other commands of Termux did not end within {most:g} seconds"
    except subprocess.TimeoutExpired:
        problem = _silent(name, most)
        if most <= SECONDS and path not in _answered:
            _timed_out[path] = time.monotonic()
    except _Over:
        problem = f"{name} was ended before it answered"
    except (OSError, ValueError) as error:
        problem = f"{name} cannot be run: {str(error).lower()}. Run: pkg reinstall termux-api"
    ms = (time.monotonic() - began) * 1000
    return Reply(name, printed, ms, problem or _denied(name, printed))


def send(name: str, *arguments: str) -> None:
    """Run one of Termux's commands without waiting for it; it is ended after SECONDS. Raises nothing."""
    from device_app.system.commands import leave

    path, shell = find(name), find("sh")
    if path and shell:
        with suppress(OSError):
            leave(shell, (path, *arguments), SECONDS)


@contextmanager
def _slot(end: float, look: Callable[[], object]) -> Iterator[None]:
    """Wait until fewer than `_MOST_AT_ONCE` commands of Termux run. Raises TimeoutError at the monotonic time `end`."""
    while not _slots.acquire(timeout=_SLOT_S):
        look()
        if time.monotonic() > end:
            raise TimeoutError
    try:
        yield
    finally:
        _slots.release()


def call_json(name: str, *arguments: str, seconds: float | None = None) -> tuple[object, Reply]:
    """Run a command that prints JSON; return the value, or None if there is a problem, and the reply."""
    import json

    reply = call(name, *arguments, seconds=seconds)
    if reply.problem:
        return None, reply
    try:
        return json.loads(reply.printed), reply
    except (ValueError, RecursionError):
        problem = f"{name} prints no valid answer. Run: pkg upgrade termux-api, and update the app Termux:API"
        return None, Reply(name, reply.printed, reply.ms, problem)


def _silent(name: str, seconds: float) -> str:
    return (
        f"{name} did not answer within {seconds:g} seconds. Install the app Termux:API from where Termux itself is "
        "from (F-Droid or GitHub), and open it once"
    )


def _denied(name: str, printed: bytes) -> str:
    """Return a sentence about the permission that a reply denies; "" for any other reply."""
    if len(printed) > 2_000 or b'"error"' not in printed:
        return ""
    import json

    try:
        said = json.loads(printed)
    except (ValueError, RecursionError):
        return ""
    if not (isinstance(said, dict) and isinstance(said.get("error"), str)):
        return ""
    last = said["error"].rpartition(_PERMISSION)[2].rpartition(".")[2].strip()
    permission = last if last.replace("_", "").isalnum() else "its permission"
    return (
        f"Android denies {name} its permission ({permission}). Allow it in Android's settings: Apps, Termux:API, "
        "Permissions"
    )


@dataclass(frozen=True, slots=True)
class Source:
    """An app of Termux's and its installer, as Android's package manager names it; "" for one installed from a file."""

    app: str
    installer: str


PLAY_STORE = "com.android.vending"
_FLAVOURS = {"GOOGLE_PLAY_STORE": "the Play Store", "F_DROID": "F-Droid", "GITHUB": "GitHub"}


def sources() -> Sequence[Source]:
    """Return where Termux and its add-ons were installed from; empty if Android does not report it."""
    lines = call("pm", "list", "packages", "-i", "com.termux").printed.decode("utf-8", "replace").splitlines()
    listed = []
    for line in lines:
        app, _, installer = line.partition("installer=")
        if (app := app.strip().removeprefix("package:")).startswith("com.termux"):
            listed.append(Source(app, "" if installer.strip() in ("", "null") else installer.strip()))
    return listed


def flavour(environment: Mapping[str, str]) -> str:
    """Return the origin that this build of Termux states: "the Play Store", "F-Droid", "GitHub" or ""."""
    if environment.get("TERMUX_VERSION", "").startswith("googleplay"):
        return _FLAVOURS["GOOGLE_PLAY_STORE"]
    release = environment.get("TERMUX_APP__APK_RELEASE") or environment.get("TERMUX_APK_RELEASE", "")
    return _FLAVOURS.get(release.upper(), "")


def mixed(environment: Mapping[str, str], listed: Sequence[Source]) -> str:
    """Return what is wrong with the origins of Termux and its add-ons; "" if nothing is wrong.

    Builds of Termux from the Play Store cannot read messages and calls. Builds from different origins are signed by
    different keys, and do not work together.
    """
    stores = {source.app: source.installer == PLAY_STORE for source in listed}
    if flavour(environment) == _FLAVOURS["GOOGLE_PLAY_STORE"] or stores.get("com.termux"):
        return "Termux is from the Play Store: that build lacks messages, calls and some commands"
    if played := [app for app, is_played in stores.items() if is_played]:
        return f"{', '.join(played)} is from the Play Store and Termux is not: they do not work together"
    return ""
