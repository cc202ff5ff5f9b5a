"""Collects facts about a phone under Termux: where Termux was installed from, which of its commands respond, and which
of Jackdaw's files were set up.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from device_app.system import phone, phone_files, services, termux
from device_app.system.awake import holders
from shared.errors import UsageError
from storage.paths import Paths

ASKED = ("termux-battery-status", "termux-volume", "termux-tts-engines")
"""Commands whose response time is measured: they need no permission, and return nothing private."""

NEEDED = (
    *("termux-battery-status", "termux-job-scheduler", "termux-notification", "termux-notification-remove"),
    *("termux-wake-lock", "termux-wake-unlock", "termux-setup-storage", "termux-dialog", "termux-sms-list"),
    *("termux-contact-list", "termux-call-log", "termux-notification-list", "termux-tts-speak", "sv-enable"),
)
"""The commands that Jackdaw uses."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact about the phone; `remedy` says what to do if the fact is a problem, and is "" otherwise."""

    name: str
    said: str
    remedy: str = ""


def facts(paths: Paths, environment: Mapping[str, str]) -> Sequence[Fact]:
    """Return all facts about the phone. Takes a second, longer if commands hang; changes nothing."""
    return [*state(environment), *_set_up(environment, paths)]


def checked(environment: Mapping[str, str]) -> Iterator[tuple[Literal["ok", "warn"], str, str]]:
    """Yield the level, the text and the remedy of each fact about the phone itself; nothing on other devices."""
    for fact in state(environment) if phone.is_phone(environment) else ():
        yield "warn" if fact.remedy else "ok", fact.said, fact.remedy


def state(environment: Mapping[str, str]) -> Iterator[Fact]:
    """Yield facts about Termux, its commands, and its permission for the shared storage."""
    listed = termux.sources()
    origin = termux.flavour(environment)
    version = environment.get("TERMUX_VERSION", "of an unknown version")
    wrong = termux.mixed(environment, listed)
    remedy = "Install Termux and all its add-ons from F-Droid, or all from GitHub (see device_app/system/PHONE.md)"
    yield Fact("termux", wrong or f"Termux {version}{f', from {origin}' if origin else ''}", remedy if wrong else "")
    missing = [name for name in NEEDED if termux.find(name) is None]
    for package, names in _by_package(missing).items():
        yield Fact("commands", f"{', '.join(names)} missing", f"Run: pkg install {package}")
    if "termux-battery-status" not in missing:
        _, reply = termux.call_json("termux-battery-status")
        said, _, remedy = reply.problem.partition(". ")
        yield Fact("battery", said or f"termux-battery-status answers in {reply.ms:,.0f} ms", remedy)
    yield _storage(environment)


def _by_package(missing: Sequence[str]) -> Mapping[str, Sequence[str]]:
    packages: dict[str, list[str]] = {}
    for name in missing:
        packages.setdefault("termux-services" if name.startswith("sv-") else "termux-api", []).append(name)
    return packages


def _storage(environment: Mapping[str, str]) -> Fact:
    """Return a fact about Termux's access to the phone's shared storage: a problem only if access was revoked."""
    shared = Path(environment.get("HOME", "/")) / "storage" / "shared"
    if not shared.is_symlink():
        return Fact("storage", "Termux has not asked to read the phone's shared storage; to ask: termux-setup-storage")
    if os.access(shared, os.R_OK):
        return Fact("storage", "the phone's shared storage may be read")
    return Fact("storage", "Android no longer lets Termux read the shared storage", "Run: termux-setup-storage")


def _set_up(environment: Mapping[str, str], paths: Paths) -> Iterator[Fact]:
    try:
        program = services.program()
    except UsageError as error:
        yield Fact("program", "there is no `jackdaw` command", str(error))
        return
    record = phone_files.read_record(paths.phone_files)
    words = {
        "missing": "is not there",
        "written": "is there",
        "outdated": "is an earlier version's",
        "yours": "is yours",
    }
    for unit in phone_files.units(program, environment):
        standing = phone_files.standing(unit, record)
        remedy = "Run: jackdaw phone setup" if standing in ("missing", "outdated") else ""
        yield Fact(unit.path.name, words[standing], remedy)
    service = services.service("termux", program, environment, os.getuid())
    is_installed = all(unit.path.exists() for unit in service.units)
    said = "is installed" if is_installed else "is not installed"
    yield Fact("daemon", said, "" if is_installed else "Run: jackdaw phone setup")
    if count := holders(paths.awake):
        yield Fact("awake", f"{count} of Jackdaw's processes keep the phone awake")
