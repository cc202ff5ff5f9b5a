"""The commands `models list`, `use`, `pull` and `info` of both programs, and the downloads that other commands need."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import click

from models import catalog, exact_loading
from models.catalog import Entry, Weights
from models.forecast import Forecast, Room, forecast, looked_into, model_size
from models.info_text import spelled, spelled_size
from models.kv import bytes_per_token
from models.pull import Progress
from models.speculative.draft_setting import described
from shared.cli.frame import Group
from shared.cli.output import Report, print_blocks, print_json, print_table, progress
from shared.errors import AdapterRejected, EngineError, UsageError, WeightsError, WeightsMissing

yes_option = click.option(
    "-y", "--yes", is_flag=True, envvar="JACKDAW_YES", help="Download missing model files without asking."
)
anyway_option = click.option("--anyway", is_flag=True, help="Use the model even if free memory is too small for it.")


@dataclass(frozen=True, slots=True)
class ChosenModels:
    """A program's settings about models: the names of engine and embedder, the adapter, the context size, the drafter,
    and the number of layers that a GPU computes.
    """

    engine: str
    embedder: str
    adapter: str
    room: Room
    draft: str = "auto"
    gpu_layers: int = 0


@dataclass(frozen=True, slots=True)
class Program:
    """The program (jackdaw or jackdaw-server) to which the commands belong.

    `larger` is the model that the commands' examples name. `opened` returns the program's weights folder and settings.
    `pull` is `Weights.pull`, with the folder made private. `use` writes a model into the settings after opening it
    once, and returns the setting's key and the model's entry; `notes` returns the sentences to print after that.
    """

    name: str
    larger: str
    opened: Callable[[], tuple[Weights, ChosenModels]]
    pull: Callable[[Weights, Entry, Progress], bool]
    use: Callable[[Weights, str], tuple[str, Entry]]
    notes: Callable[[str], Sequence[str]]

    def ensure(self, weights: Weights, *names: str, yes: bool = False) -> None:
        """Download those of the given models that are missing, after asking on a terminal; `yes` skips the question.

        Without a terminal, models with pinned hashes are downloaded with a notice on stderr. Raises WeightsMissing,
        which names the command that downloads, if the user answers no, or for other models without a terminal;
        WeightsDamaged for changed files; PullFailed. If a user's own file is missing or changed, nothing is downloaded.
        """
        entries = [catalog.find(name) for name in names]
        for entry in entries:
            if entry.is_file:
                weights.path(entry)
        if missing := weights.missing(names):
            sizes = " and ".join(f"{entry.name} ({spelled_size(entry.size)})" for entry in missing)
            if not yes and not _agreed(sizes, pinned=all(entry.pinned for entry in missing)):
                listed = " ".join(entry.name for entry in missing)
                raise WeightsMissing(f"Model files are missing: {sizes}. Run: {self.name} models pull {listed}")
            self.pulled(weights, missing)
        self.pulled(weights, [entry for entry in entries if entry.is_file and not weights.hashes(entry)])
        for entry in entries:
            weights.path(entry)

    def pulled(self, weights: Weights, entries: Sequence[Entry]) -> list[str]:
        """Download the models; return the names of those that were not on this machine before. Raises the errors of
        `Weights.pull`.
        """
        names = []
        for entry in entries:
            with progress(entry.name) as report:
                if self.pull(weights, entry, partial(_reported, report)):
                    names.append(entry.name)
        return names


def refuse_unfit(entry: Entry, cast: Forecast) -> None:
    """Raise UsageError, with the figures, if the free memory is too small for the model."""
    if not cast.fits_memory:
        raise UsageError(
            f"{entry.name} {cast.needs}. Free some memory, lower model.context, or choose a smaller model; --anyway "
            "uses it all the same."
        )


def complete_name(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Return the model names that complete the word that the user typed in the shell."""
    return [entry.name for entry in catalog.CATALOG if entry.name.startswith(incomplete)]


def models_group(program: Program) -> Group:
    """Return the command group `models` of a program."""
    name = program.name
    larger = (f"{name} models use {program.larger}", f"{name} models use file:~/Downloads/model.gguf")
    use_examples = (("Answer with a larger model", larger[0]), ("Answer with your own model file", larger[1]))
    list_examples = (("List all models", f"{name} models list"),)
    pull_examples = (
        ("Download the models in use", f"{name} models pull"),
        ("Download another model", f"{name} models pull {program.larger}"),
    )
    group = Group(
        "models",
        default="list",
        help="List, choose and download models.",
        examples=(*list_examples, pull_examples[0], *use_examples),
    )

    @group.command("list", examples=list_examples)
    def list_models(as_json: bool) -> None:
        """List the models with their purpose, size and state."""
        _list(program, as_json=as_json)

    @group.command("use", examples=use_examples)
    @click.argument("name", shell_complete=complete_name)
    @yes_option
    @anyway_option
    def use(name: str, yes: bool, anyway: bool, as_json: bool) -> None:
        """Use the model NAME, or file:PATH, from now on. A model that is not on this machine is pulled first, and each
        is opened once as a check. A model for which the free memory is too small is refused.
        """
        _use(program, name, yes=yes, anyway=anyway, as_json=as_json)

    @group.command("pull", examples=pull_examples)
    @click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=complete_name)
    def pull(names: Sequence[str], as_json: bool) -> None:
        """Download the model NAME, check it and make it ready; without NAME, the models in use.

        An interrupted download continues where it stopped. Models that are on this machine and intact are left alone.
        """
        _pull(program, names, as_json=as_json)

    @group.command("info", examples=(("Show everything about the model in use", f"{name} models info"),))
    @click.argument("name", required=False, shell_complete=complete_name)
    def info(name: str | None, as_json: bool) -> None:
        """Show everything about the model NAME; without NAME, about the model in use.

        Facts that only the model's file holds (context, vocabulary, memory) are shown once the file is on this machine.
        """
        _info(program, name, as_json=as_json)

    return group


def _list(program: Program, *, as_json: bool) -> None:
    weights, chosen = program.opened()
    used = (chosen.engine, chosen.embedder)
    own = [catalog.find(name) for name in used if name not in {entry.name for entry in catalog.CATALOG}]
    facts = [_facts(weights, entry, chosen) for entry in (*catalog.CATALOG, *own)]
    if as_json:
        print_json({"models": facts})
        return
    rows = [
        (fact["name"], fact["kind"], spelled_size(fact["size"]), ", ".join(_states(fact)), fact["description"])
        for fact in facts
    ]
    print_table(("Name", "Kind", "Size", "State", "Description"), rows)


def _use(program: Program, name: str, *, yes: bool, anyway: bool, as_json: bool) -> None:
    weights, chosen = program.opened()
    entry = catalog.find(name)
    cast = forecast(weights, entry, chosen.room)
    if not anyway:
        refuse_unfit(entry, cast)
    program.ensure(weights, name, yes=yes)
    key, entry = program.use(weights, name)
    if as_json:
        print_json({"key": key, "value": entry.address})
        return
    click.echo(f"{entry.name} is the model used from now on.")
    for note in program.notes(key):
        click.echo(note, err=True)


def _pull(program: Program, names: Sequence[str], *, as_json: bool) -> None:
    weights, chosen = program.opened()
    entries = [catalog.find(name) for name in names or (chosen.engine, chosen.embedder)]
    pulled = program.pulled(weights, entries)
    here = [entry.name for entry in entries if entry.name not in pulled]
    if as_json:
        print_json({"pulled": pulled, "unchanged": here, "folder": weights.folder})
        return
    for entry in entries:
        click.echo(f"{entry.name} was downloaded." if entry.name in pulled else f"{entry.name} was downloaded before.")


def _info(program: Program, name: str | None, *, as_json: bool) -> None:
    weights, chosen = program.opened()
    entry = catalog.find(name or chosen.engine)
    facts = _facts(weights, entry, chosen) | {"sha256": weights.hashes(entry)}
    if entry.kind == "engine" and facts["state"] == "present":
        inside = asdict(looked_into(weights, entry))
        del inside["file"]
        facts |= inside | {"kv_bytes_per_token": bytes_per_token(inside.pop("kv_values"), chosen.room.kv)}
        facts["adapter"] = _adapter(weights, entry, chosen.adapter)
        if entry == catalog.find(chosen.engine):
            adapter = facts["adapter"] or {}
            adapter_hash = adapter["hash"] if adapter.get("in_force") else ""
            facts["draft"] = described(weights, chosen.draft, entry, adapter_hash)
            facts["exactness"] = exact_loading.described(
                weights.folder,
                weights.path(entry),
                chosen.room.kv,
                entry.adapter_file(chosen.adapter),
                adapter_hash,
                chosen.gpu_layers,
            )
    if as_json:
        print_json(facts)
    else:
        print_blocks([[(title.replace("_", " "), spelled(title, value)) for title, value in facts.items()]])


def _facts(weights: Weights, entry: Entry, chosen: ChosenModels) -> dict[str, Any]:
    state = weights.state(entry)
    memory, fits = None, None
    with suppress(WeightsError, EngineError):  # a person's own file that is no model
        cast = forecast(weights, entry, chosen.room)
        memory = cast.memory
        fits = None if memory is None else cast.fits_memory
    return {
        "name": entry.name,
        "kind": entry.kind,
        "description": entry.description,
        "state": state,
        "in_use": entry in [catalog.find(name) for name in (chosen.engine, chosen.embedder)],
        "licence": entry.licence,
        "source": entry.source,
        "size": model_size(weights.path(entry)) if entry.is_file and state == "present" else entry.size,
        "memory": memory,
        "fits_memory": fits,
    }


def _states(fact: dict[str, Any]) -> list[str]:
    in_use = ["in use"] if fact["in_use"] else []
    return [fact["state"], *in_use, *(["too large for the free memory"] if fact["fits_memory"] is False else [])]


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


def _reported(report: Report, doing: str, done: int, total: int) -> None:
    report(done, total or None, doing)
