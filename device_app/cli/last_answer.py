"""Explains the last answer from its record: who wrote it, its sources, its speed, and the data that left the device."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from device_app.commands.turns import last_if_any
from device_app.presentation import ORIGINS, STEPS, basis_rows, gains
from device_app.question.answer import MODEL_ONLY, looked_up_line
from shared.cli.output import age, print_blocks, print_json
from shared.errors import ExitCode
from shared.printable import counted, safe_line

if TYPE_CHECKING:
    from storage.conversations import ConversationStore, Turn


def explain_last(conversations: "ConversationStore", as_json: bool) -> ExitCode | None:
    """Print the explanation of the newest conversation's last answer, or its record and the time of asking as JSON."""
    last = last_if_any(conversations)
    if as_json:
        heading = last and {"asked_at": last.asked_at, "complete": last.complete}
        print_json({"question": last and last.question, **(heading or {}), **(last.record if last else {})})
    elif last:
        print_blocks([list(_rows(last))])
    else:
        click.echo("Nothing has been asked yet.")
        click.echo('Ask something: jackdaw ask "…". To see how a question would be answered: jackdaw why "…"')
    return None if last else ExitCode.NOTHING


def _rows(turn: "Turn") -> Iterator[tuple[str, object]]:
    yield "Asked", f"{safe_line(turn.question)}\n{age(turn.asked_at)}"
    if not turn.complete:
        yield (
            "Answered",
            "only in part: the answer was interrupted or is still being written; only complete answers are explained",
        )
        if left := turn.record.get("egress"):
            yield "Left the device", _left(left)
        return
    record = turn.record
    yield "Answered", safe_line(_origin(record, turn.answer))
    if record.get("wrong"):
        yield "Marked", "as wrong by you"
    if stale := record.get("stale"):
        yield "Files", "\n".join(safe_line(file["reason"]) for file in stale)
    if decided := record["trace"].get("decided"):
        yield "Why", "\n".join(map(safe_line, decided))
    if basis := record["trace"].get("dispatch"):
        yield from basis_rows(basis)
    trace, states = record["trace"], record["cache"]["kv"]
    if rounds := trace.get("rounds"):
        yield "Looked up", "\n".join(map(looked_up_line, rounds))
    first = "" if trace["ttft_ms"] is None else f"first token after {trace['ttft_ms']:.0f} ms, "
    steps = ", ".join(f"{STEPS.get(step['name'], step['name'])} {step['ms']:.0f}" for step in trace["steps"])
    yield "Time", f"{first}{trace['total_ms']:.0f} ms in all ({steps})"
    if gained := gains(record):
        yield "Faster", "\n".join(gained)
    if states["tokens_cached"] or states["tokens_prefilled"]:
        yield (
            "Prompt",
            f"{states['tokens_cached']:,} tokens from saved states, {states['tokens_prefilled']:,} newly read",
        )
    yield "Left the device", _left(record["egress"])


def _left(egress: Mapping[str, Any]) -> str:
    items = safe_line(", ".join(map(str, egress["items"])))
    return f"{egress['bytes']:,} bytes: {items}" if egress["bytes"] else "nothing"


def _origin(record: Mapping[str, Any], text: str) -> str:
    kept, sources = record["cache"]["qa"], record["sources"]
    if kept["hit"]:
        return (
            f"{ORIGINS['qa_bank'].sentence}: “{kept['matched']}” ({kept['similarity']:.2f}), {age(kept['answered_at'])}"
        )
    if not record["found"]:
        return text
    theirs = sum(source["side"] == "server" for source in sources)
    counts = ((len(sources) - theirs, "of your own"), (theirs, "of the server"))
    passages = " and ".join(f"{counted(count, 'passage')} {whose}" for count, whose in counts if count)
    if record["origin"] == "rule":
        return ORIGINS["rule"].sentence + (f", from {passages}" if passages else "")
    if record.get("quoted"):
        return f"on this device, quoted from {passages}"
    origin = ORIGINS.get(record["origin"], ORIGINS["device"]).sentence
    if record.get("model_only"):
        return f"{origin}, {MODEL_ONLY}, with {record['model']}"
    how = f"{origin}, from {passages}, with {record['model']}"
    return f"{text} Judged {how}" if record.get("abstained") else how
