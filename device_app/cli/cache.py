"""`jackdaw cache`: shows and controls the kept answers and attention states."""

import os
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from device_app.cli.config import say_if_overruled
from device_app.cli.models import ensure_models, say_if_refused, yes_option
from device_app.cli.opening import opened
from device_app.commands.caches import Layer, set_limit
from device_app.commands.caches import clear as drop
from device_app.system.activity import Activity
from shared.cli.frame import Group
from shared.cli.output import print_blocks, print_json, print_table
from shared.errors import ExitCode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from device_app.ahead.usefulness import Tally
    from storage.qa_entries import Totals

command = Group(
    "cache",
    default="stats",
    help="Show and control the caches: saved answers, and saved attention states of passages.",
    examples=(
        ("Show what the caches hold and have saved", "jackdaw cache stats"),
        ("Prepare the answer to a question", 'jackdaw cache warm "What is on tomorrow?"'),
    ),
)


@command.command("stats", examples=(("Show what the caches hold and have saved", "jackdaw cache stats"),))
def stats(as_json: bool) -> None:
    """Show what the caches hold, their limits and hits, what the hits saved, and what filling the caches cost."""
    from device_app.ahead import usefulness
    from storage.cache_records import CacheRecords

    with opened() as device:
        answers, states = device.qa_bank.entries.totals(), CacheRecords(device.database).states_totals()
        counted = device.counters.all()
        tallies = usefulness.tallies(CacheRecords(device.database), datetime.now(UTC))
        limits = device.qa_bank.limit, device.qkv_tree.limit
    qa = {
        **asdict(answers),
        "limit_bytes": limits[0],
        "hits": int(counted.get("qa_hits", 0)),
        "ms_saved": round(counted.get("qa_ms_saved", 0)),
        "evictions": int(counted.get("qa_evictions", 0)),
    }
    kv = {
        "slices": states.slices,
        "tokens": states.tokens,
        "bytes": states.bytes,
        "limit_bytes": limits[1],
        "hits": int(counted.get("kv_hits", 0)),
        "tokens_saved": int(counted.get("kv_tokens_saved", 0)),
        "evictions": int(counted.get("kv_evictions", 0)),
        "damaged": int(counted.get("kv_damaged", 0)),
    }
    ahead = {
        "items": int(counted.get("population_items", 0)),
        "tokens_prefilled": int(counted.get("population_prefilled", 0)),
        "tokens_decoded": int(counted.get("population_decoded", 0)),
    }
    typed = {
        "passages": int(counted.get("typed_passages", 0)),
        "in_vain": int(counted.get("typed_in_vain", 0)),
        "tokens": int(counted.get("typed_tokens", 0)),
    }
    questions = int(counted.get("questions", 0))
    if as_json:
        predicted = {form: asdict(tally) | {"share": round(tally.share, 3)} for form, tally in tallies.items()}
        totals = {"qa": qa, "kv": kv, "population": ahead, "typed": typed, "questions": questions}
        print_json(totals | {"predictions": predicted})
        return
    not_answered = (
        ("questions wait for an answer", answers.waiting),
        ("questions could not be answered", answers.failed),
        ("answers are out of date", answers.stale),
    )
    print_blocks(
        [
            [
                (
                    "Questions",
                    f"{questions:,} asked so far, {qa['hits']:,} of them answered from saved answers",
                ),
                (
                    "Saved",
                    f"{qa['ms_saved'] / 1000:,.1f} s by saved answers, {kv['tokens_saved']:,} tokens by saved states",
                ),
                (
                    "Background work",
                    f"{ahead['items']:,} steps: {ahead['tokens_prefilled']:,} tokens read, "
                    f"{ahead['tokens_decoded']:,} written",
                ),
                *([("Predictions", _predictions(tallies))] if tallies else []),
                *([("While you typed", _while_typing(typed))] if typed["passages"] else []),
            ],
            [
                ("Answers", f"{answers.answered:,} saved, for {_origins(answers)}"),
                *(("", f"{count:,} {what}") for what, count in not_answered if count),
                ("Space", _space(answers.bytes, limits[0], qa["evictions"])),
            ],
            [
                ("Attention states", f"{states.slices:,} saved, of {states.tokens:,} tokens"),
                ("Space", _space(states.bytes, limits[1], kv["evictions"])),
            ],
        ]
    )


def _origins(answers: "Totals") -> str:
    return f"{answers.entries - answers.predicted:,} asked and {answers.predicted:,} predicted questions"


def _predictions(tallies: "Mapping[str, Tally]") -> str:
    """Return how many predicted questions were asked, and which forms are therefore predicted less often."""
    made, asked = (sum(getattr(tally, name) for tally in tallies.values()) for name in ("predicted", "asked"))
    fewer = [f"“{form}” {tally.share:.0%}" for form, tally in sorted(tallies.items()) if tally.share < 1]
    less = f"; predicted less: {', '.join(fewer)}" if fewer else ""
    return f"{asked:,.0f} asked of {made:,.0f} that had their chance{less}"


def _while_typing(typed: dict[str, int]) -> str:
    return f"{typed['passages']:,} passages read, {typed['in_vain']:,} of them not used: {typed['tokens']:,} tokens"


def _space(taken: int, limit: int, evicted: int) -> str:
    space = f"{taken / 1e6:,.1f} of {limit / 1e6:,.0f} MB"
    return f"{space}; {evicted:,} deleted for lack of space" if evicted else space


@command.command("list", examples=(("List the ten answers used most", "jackdaw cache list --limit 10"),))
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="Most questions to show.")
def list_entries(limit: int, as_json: bool) -> int | None:
    """List the saved questions with their answers, the most used first."""
    from storage.cache_records import CacheRecords

    with opened() as device:
        entries = CacheRecords(device.database).most_used(limit)
    if as_json:
        shown = [{key: value for key, value in entry.items() if key != "failed"} for entry in entries]
        print_json({"entries": shown})
    elif entries:
        print_table(
            ("Uses", "Origin", "Question", "Answer"),
            [(entry["uses"], entry["origin"], entry["question"], _state(entry)) for entry in entries],
        )
    else:
        click.echo("No answer is saved yet. Ask something, or prepare answers now: jackdaw daemon run-once")
    return None if entries else ExitCode.NOTHING


@command.command("warm", examples=(("Prepare the answer to a question", 'jackdaw cache warm "What is on tomorrow?"'),))
@click.argument("question")
@yes_option
def warm(question: str, yes: bool, as_json: bool) -> int | None:
    """Answer QUESTION now and save the answer, so that it is shown at once when you ask.

    When its files change, the question is answered again in idle time, as if you had asked it.
    """
    from datetime import date

    with opened() as device, Activity(device.paths.activity).noted():
        ensure_models(device, yes=yes)
        device.begin_loading()
        refused = say_if_refused(device)
        from device_app.english.query import parse

        asked = parse(question, date.today())
        prepared = device.assistant.prepare(asked, device.options(), "asked", decode=True)
        say_if_refused(device, refused)
    kept = prepared is not None and not (prepared.abstained or prepared.at_once or prepared.marked_wrong)
    if as_json:
        print_json({"question": question, "kept": kept, "trace": prepared and prepared.trace.as_json()})
    elif prepared is None:
        click.echo("Your files hold nothing relevant to the question, so no answer was saved.")
    elif prepared.at_once:
        click.echo("The answer needs no model and is made when it is asked for, so no answer was saved.")
    elif prepared.marked_wrong:
        click.echo("The model wrote an answer that you marked as wrong, so no answer was saved.")
    elif prepared.abstained:
        click.echo("Your files do not seem to answer the question, so no answer was saved.")
    else:
        click.echo(f"The answer was saved after {prepared.trace.elapsed_ms() / 1000:.1f} s.")
    return None if kept else ExitCode.NOTHING


@command.command("clear", examples=(("Delete all saved answers and attention states", "jackdaw cache clear"),))
@click.option("--qa", is_flag=True, help="Delete saved answers only.")
@click.option("--kv", is_flag=True, help="Delete saved attention states only.")
def clear(qa: bool, kv: bool, as_json: bool) -> None:
    """Delete saved answers and attention states. Your files, the store of their contents and your conversations stay.

    Background work fills the caches again: to save nothing, set the limits to 0.
    """
    with opened() as device:
        answers, states = drop(device, answers=qa or not kv, states=kv or not qa)
    if as_json:
        print_json({"answers": answers, "states": states})
    else:
        click.echo(f"Deleted: {answers:,} answers, {states:,} attention states.")


@command.command("limit", examples=(("Save at most 500 MB of attention states", "jackdaw cache limit kv 500"),))
@click.argument("layer", type=click.Choice(["qa", "kv"]))
@click.argument("megabytes", type=float)
def limit(layer: Layer, megabytes: float, as_json: bool) -> None:
    """Set how many MEGABYTES answers (qa) or attention states (kv) may take; what exceeds the limit is deleted now."""
    with opened() as device:
        evicted = set_limit(device, os.environ, layer, megabytes)
    say_if_overruled(f"cache.{layer}_mb")
    if as_json:
        print_json({"layer": layer, "limit_mb": megabytes, "evicted": evicted})
    else:
        click.echo(f"The limit is now {megabytes:g} MB. Entries deleted for that: {evicted:,}.")


def _state(entry: dict[str, Any]) -> str:
    if entry["answer"] is None:
        return f"(not answered: {entry['failed']})" if entry["failed"] else "(waits)"
    return f"(out of date) {entry['answer']}" if entry["stale"] else str(entry["answer"])
