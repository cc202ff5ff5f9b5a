"""`jackdaw models`: lists models, chooses and downloads them; also downloads the models that other commands need."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from device_app.cli.config import say_if_overruled
from device_app.commands import models as commands
from device_app.settings import Settings, load
from models import catalog
from models.catalog import Entry, Weights
from models.forecast import looked_into
from models.kv import bytes_per_token
from shared.cli.frame import Group
from shared.cli.output import Report, print_blocks, print_json, print_table, progress
from shared.errors import AdapterRejected, WeightsMissing
from shared.printable import safe_line
from storage.paths import Paths

if TYPE_CHECKING:
    from device_app.device import Device

command = Group(
    "models",
    default="list",
    help="List, choose and download models.",
    examples=(
        ("List all models", "jackdaw models list"),
        ("Download the two models in use", "jackdaw models pull"),
        ("Answer with a larger model", "jackdaw models use smollm2-360m"),
        ("Answer with your own model file", "jackdaw models use file:~/Downloads/model.gguf"),
    ),
)

yes_option = click.option(
    "-y", "--yes", is_flag=True, envvar="JACKDAW_YES", help="Download missing model files without asking."
)


def complete_name(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Return the model names that complete the word typed in the shell."""
    return [entry.name for entry in catalog.CATALOG if entry.name.startswith(incomplete)]


def ensure_weights(weights: Weights, *names: str, yes: bool = False) -> None:
    """Download the missing ones of these models after asking on a terminal; `yes` skips the question.

    Without a terminal, models with pinned hashes are downloaded with a notice on stderr. Raises WeightsMissing, naming
    the command that downloads, for other models and if the answer is no; WeightsDamaged for changed files; PullFailed.
    """
    entries = [catalog.find(name) for name in names]
    if missing := commands.missing(weights, names):
        sizes = " and ".join(f"{entry.name} ({_megabytes(entry.size)})" for entry in missing)
        if not yes and not _agreed(sizes, pinned=all(entry.pinned for entry in missing)):
            listed = " ".join(entry.name for entry in missing)
            raise WeightsMissing(f"Model files are missing: {sizes}. Run: jackdaw models pull {listed}")
        _pull(weights, missing)
    _pull(weights, [entry for entry in entries if entry.is_file and not weights.hashes(entry)])
    for entry in entries:
        weights.path(entry)


def ensure_models(device: Device, *kinds: catalog.Kind, yes: bool = False) -> None:
    """Download the missing models that the device loads, limited to `kinds` if any are given; see `ensure_weights`."""
    ensure_weights(device.weights, *device.loads(*kinds), yes=yes)


def say_if_refused(device: Device, said: str = "") -> str:
    """Print on stderr why the configured adapter is not used, unless that was `said` before; return the reason.

    llama.cpp may refuse the adapter only once the model is loaded. Missing models are reported elsewhere.
    """
    refused = commands.refused(device)
    if refused and refused != said:
        click.echo(safe_line(refused), err=True)
    return refused


@command.command("list", examples=(("List all models", "jackdaw models list"),))
def list_models(as_json: bool) -> None:
    """List the models with their purpose, size and state."""
    weights, settings = _opened()
    used = _used(settings)
    own = [catalog.find(name) for name in used if name not in {entry.name for entry in catalog.CATALOG}]
    facts = [_facts(weights, entry, settings) for entry in (*catalog.CATALOG, *own)]
    if as_json:
        print_json({"models": facts})
    else:
        print_table(
            ("Name", "Kind", "Size", "State", "Description"),
            [
                (
                    fact["name"],
                    fact["kind"],
                    _megabytes(fact["size"]),
                    fact["state"] + (", in use" if fact["in_use"] else ""),
                    fact["description"],
                )
                for fact in facts
            ],
        )


@command.command(
    "use",
    examples=(
        ("Answer with a larger model", "jackdaw models use smollm2-360m"),
        ("Answer with your own model file", "jackdaw models use file:~/Downloads/model.gguf"),
    ),
)
@click.argument("name", shell_complete=complete_name)
@yes_option
def use(name: str, yes: bool, as_json: bool) -> None:
    """Use the model NAME, or file:PATH, from now on. It is pulled if it is not here, and opened once as a check."""
    weights, _ = _opened()
    ensure_weights(weights, name, yes=yes)
    key, entry = commands.use(Paths.locate(os.environ), weights, name)
    if as_json:
        print_json({"key": key, "value": entry.address})
    else:
        click.echo(f"{entry.name} is the model used from now on.")
        say_if_overruled(key)


@command.command(
    "pull",
    examples=(
        ("Download the models in use", "jackdaw models pull"),
        ("Download another model", "jackdaw models pull smollm2-360m"),
    ),
)
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=complete_name)
def pull(names: Sequence[str], as_json: bool) -> None:
    """Download the model NAME, check it and make it ready; without NAME, the models in use.

    An interrupted download continues where it stopped. Models that are here and intact are left alone.
    """
    weights, settings = _opened()
    entries = [catalog.find(name) for name in names or _used(settings)]
    pulled = _pull(weights, entries)
    here = [entry.name for entry in entries if entry.name not in pulled]
    if as_json:
        print_json({"pulled": pulled, "unchanged": here, "folder": weights.folder})
    else:
        for entry in entries:
            click.echo(
                f"{entry.name} was downloaded." if entry.name in pulled else f"{entry.name} was downloaded before."
            )


@command.command("info", examples=(("Show everything about the model in use", "jackdaw models info"),))
@click.argument("name", required=False, shell_complete=complete_name)
def info(name: str | None, as_json: bool) -> None:
    """Show everything about the model NAME; without NAME, about the one in use.

    Facts that only the model's file holds (context, vocabulary, memory) are shown once it is here.
    """
    weights, settings = _opened()
    entry = catalog.find(name or settings.model.name)
    facts = _facts(weights, entry, settings) | {"sha256": weights.hashes(entry)}
    if entry.kind == "engine" and facts["state"] == "present":
        model = looked_into(weights, entry)
        facts |= asdict(model)
        per_token = bytes_per_token(facts.pop("kv_values"), settings.model.kv)
        room = min(settings.model.context, model.context)
        facts |= {"kv_bytes_per_token": per_token, "memory": facts.pop("file") + per_token * room}
        facts["adapter"] = _adapter(weights, entry, settings.model.adapter)
    if as_json:
        print_json(facts)
    else:
        print_blocks([[(title.replace("_", " "), _spelled(title, value)) for title, value in facts.items()]])


def _opened() -> tuple[Weights, Settings]:
    paths = Paths.locate(os.environ)
    return Weights(paths.weights), load(paths, os.environ).settings


def _used(settings: Settings) -> tuple[str, str]:
    return settings.model.name, settings.embedder.name


def _facts(weights: Weights, entry: Entry, settings: Settings) -> dict[str, Any]:
    state = weights.state(entry)
    return {
        "name": entry.name,
        "kind": entry.kind,
        "description": entry.description,
        "state": state,
        "in_use": entry in [catalog.find(name) for name in _used(settings)],
        "licence": entry.licence,
        "source": entry.source,
        "size": weights.path(entry).stat().st_size if entry.is_file and state == "present" else entry.size,
    }


def _adapter(weights: Weights, entry: Entry, chosen: str) -> dict[str, Any] | None:
    """Return the facts about the model's adapter, with the reason if it is not used; None if there is no adapter."""
    named = "auto" if chosen == "off" else chosen
    try:
        adapter = weights.adapter(entry, named)
    except AdapterRejected as error:
        return {"path": entry.adapter_file(named), "in_force": False, "why_not": str(error)}
    why_not = "model.adapter is off" if chosen == "off" else ""
    return asdict(adapter) | {"in_force": not why_not, "why_not": why_not} if adapter else None


def _agreed(sizes: str, *, pinned: bool) -> bool:
    if sys.stdin.isatty() and sys.stderr.isatty():
        return click.confirm(f"Download {sizes}?", default=True, err=True)
    if pinned:
        click.echo(f"Downloading {sizes}, which is needed only once.", err=True)
    return pinned


def _pull(weights: Weights, entries: Sequence[Entry]) -> list[str]:
    """Download the models; return the names of those that were not here already."""
    pulled = []
    for entry in entries:
        with progress(entry.name) as report:
            if commands.pull(weights, entry, partial(_reported, report)):
                pulled.append(entry.name)
    return pulled


def _reported(report: Report, doing: str, done: int, total: int) -> None:
    report(done, total or None, doing)


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.0f} MB" if size else "unknown"


def _spelled(title: str, value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if title == "adapter":
        return _adapter_lines(value) if isinstance(value, dict) else "none"
    if title in ("size", "memory"):
        return _megabytes(int(str(value)))
    if isinstance(value, dict):
        return (
            "\n".join(f"{name}\n  {digest}" for name, digest in value.items()) or "known once the model is downloaded"
        )
    return f"{value:,}" if isinstance(value, int) else str(value)


def _adapter_lines(adapter: dict[str, Any]) -> str:
    lines = []
    if "hash" in adapter:
        size = f"{adapter['size'] / 1e6:,.1f} MB"
        lines.append(", ".join(filter(None, (adapter["name"], f"rank {adapter['rank']}", size, adapter["licence"]))))
        lines.append(adapter["description"])
    lines.append("used" if adapter["in_force"] else f"not used: {adapter['why_not']}")
    return "\n".join(safe_line(line) for line in lines if line)
