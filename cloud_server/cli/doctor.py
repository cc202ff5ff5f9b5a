"""`jackdaw-server doctor`: check everything that the server needs; each failure names its fix."""

import os
import shlex
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import click

from cloud_server import build
from cloud_server.access import certificate
from cloud_server.access.self_signed import LOOPBACK
from cloud_server.access.tokens import TokenFile
from cloud_server.retrieval.embedders import same_model
from cloud_server.retrieval.index import shortage
from cloud_server.settings import Model, Settings, load
from models import catalog, exact_loading
from models.speculative.draft_setting import described, names_no_model
from shared.cli.frame import Command
from shared.cli.output import print_json, print_table
from shared.errors import AdapterRejected, JackdawError, NothingFound, StoreCorrupt
from shared.telemetry import LEFT_BEHIND, left_behind
from storage.paths import Paths

Level = Literal["ok", "warn", "fail"]


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check. `check` names what was checked, `said` what was seen, and `fix` the user's next step; ""
    if there is none.
    """

    check: str
    level: Level
    said: str
    fix: str = ""


@click.command(cls=Command, examples=(("Check everything", "jackdaw-server doctor"),))
def command(as_json: bool) -> int:
    """Check settings, tokens, telemetry, certificate, models and index.

    Exit code: 0 all checks passed, 1 a check has a warning, 2 a check failed.
    """
    findings = list(examine(Paths.locate(os.environ)))
    levels = {finding.level for finding in findings}
    code = 2 if "fail" in levels else 1 if "warn" in levels else 0
    if as_json:
        print_json({"ok": code == 0, "findings": [asdict(finding) for finding in findings]})
    else:
        print_table(
            ("Check", "", "Found", "Fix"),
            [(finding.check, finding.level, finding.said, finding.fix) for finding in findings],
        )
    return code


def examine(paths: Paths) -> Iterator[Finding]:
    """Run all checks and yield their results."""
    try:
        settings = load(paths, os.environ).settings
    except JackdawError as error:
        yield Finding("settings", "fail", str(error), f"Correct {paths.server_config_file}.")
        return
    yield Finding("settings", "ok", str(paths.server_config_file))
    try:
        count = len(TokenFile(paths.server_tokens).entries())
        fix = "" if count else "jackdaw-server pair, or jackdaw-server token create NAME"
        pairs = settings.serve.certificate or settings.serve.host not in LOOPBACK  # then tokens are optional
        yield Finding("tokens", "ok" if count else "warn" if pairs else "fail", f"{count} valid", fix)
    except JackdawError as error:
        yield Finding("tokens", "fail", str(error))
    for folder in left_behind(os.environ):
        yield Finding("telemetry", "warn", f"{folder} {LEFT_BEHIND}", f"rm -r {shlex.quote(folder)}")
    yield _listening(settings)
    yield from _models(paths, settings)
    try:
        index = build.index(paths, settings, 1)
        facts = index.held().facts
        if facts.model:
            same_model(facts, facts.model, 1)
        missing = shortage(index, settings.retrieval.memory_mb)
        yield Finding("index", "fail" if missing else "ok", missing or f"{facts.passages:,} passages")
    except NothingFound:
        yield Finding("index", "warn", "no passages", "jackdaw-server index build SOURCE")
    except JackdawError as error:
        fix = "jackdaw-server index build SOURCE" if isinstance(error, StoreCorrupt) else ""  # others name their fix
        yield Finding("index", "fail", str(error), fix)


def _listening(settings: Settings) -> Finding:
    own = settings.serve
    place = f"{own.host}:{own.port}"
    if not own.certificate:
        if own.host in LOOPBACK:
            return Finding("listening", "ok", f"{place}, reachable from this machine only")
        how = "behind a TLS proxy" if own.behind_tls else "with TLS and a self-signed certificate"
        return Finding("listening", "ok", f"{place}, {how}")
    try:
        read = certificate.read(own.certificate, own.key)
    except JackdawError as error:
        return Finding("listening", "fail", str(error), "Correct the settings serve.certificate and serve.key.")
    now = datetime.now(UTC)
    level: Level = "fail" if read.expired(now) else "warn" if read.expires_soon(now) else "ok"
    fix = "" if level == "ok" else f"Renew {own.certificate}, then restart the server."
    return Finding("listening", level, f"{place} with TLS, {Path(own.certificate).name}; {read.summary(now)}", fix)


def _models(paths: Paths, settings: Settings) -> Iterator[Finding]:
    weights = build.weights(paths)
    for name in (settings.model.name, settings.embedder.name):
        try:
            entry = catalog.find(name)
            state = weights.state(entry)
            yield Finding("model", "ok" if state == "present" else "warn", f"{name} is {state}", _fix(weights, entry))
            if entry.kind == "engine" and state == "present":
                weights.adapter(entry, settings.model.adapter)
        except AdapterRejected as error:
            yield Finding(
                "adapter", "warn", str(error), "Set model.adapter to off, or to an adapter made for this model."
            )
        except JackdawError as error:
            yield Finding("model", "fail", str(error))
    yield from _exactness(weights, settings.model)
    if not names_no_model(settings.model.draft):
        yield from _draft(weights, settings.model)


def _exactness(weights: catalog.Weights, own: Model) -> Iterator[Finding]:
    try:
        entry = catalog.find(own.name, "engine")
        path, adapter = weights.path(entry), weights.adapter(entry, own.adapter)
        file, layers = entry.adapter_file(own.adapter), exact_loading.layers(own.gpu_layers)
        known = exact_loading.described(weights.folder, path, own.kv, file, adapter.hash if adapter else "", layers)
    except JackdawError:
        return  # the model or its adapter is reported above
    fix = "Try another build of llama.cpp or another model, whose results may be exact." if known["inexact"] else ""
    yield Finding("exactness", "warn" if known["inexact"] else "ok", known["said"], fix)


def _draft(weights: catalog.Weights, own: Model) -> Iterator[Finding]:
    try:
        entry = catalog.find(own.name, "engine")
        adapter = weights.adapter(entry, own.adapter)
        why_not = described(weights, own.draft, entry, adapter.hash if adapter else "")["why_not"]
    except JackdawError:
        return  # the model that answers is reported above
    if why_not:
        said = f"{own.draft} cannot draft tokens, so answers are written without it: {why_not}"
        yield Finding("draft", "warn", said, "Set model.draft to auto, or name another model.")
    else:
        yield Finding("draft", "ok", f"{own.draft} fits the model and can draft tokens")


def _fix(weights: catalog.Weights, entry: catalog.Entry) -> str:
    """Return how the user gets a missing model: `serve` itself downloads a model whose checksum is pinned."""
    match weights.state(entry):
        case "present":
            return ""
        case "missing" if entry.is_file:
            return "Correct the path in the setting model.name."
        case "missing" if entry.pinned:
            return "jackdaw-server serve downloads the model."
        case "damaged" if entry.pinned:
            files = " and ".join(str(weights.folder / name) for name in entry.files)
            return f"Delete {files}; jackdaw-server serve downloads the model again."
    return f"jackdaw-server models pull {entry.address}"
