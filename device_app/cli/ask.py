"""`jackdaw ask`: one question, answered from the person's own files."""

import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any

import click

from device_app.cli import spoken
from device_app.cli.models import ensure_models, say_if_refused, yes_option
from device_app.cli.opening import opened
from device_app.commands.turns import advice, asked, last, was_model_only
from device_app.presentation import ORIGINS, drawn_from, place_in
from device_app.question.abstention import NEAREST
from device_app.question.answer import GUESS, MODEL_ONLY, NEAREST_SENTENCE, QUOTED, UNDERSTOOD, UNSUPPORTED, fell_short
from device_app.question.options import AGREE
from device_app.system.activity import Activity
from device_app.system.awake import awake
from shared.cli.frame import Command
from shared.cli.output import age, console, print_json
from shared.errors import ExitCode, UsageError
from shared.printable import safe, safe_line
from shared.types import StoredPassage

if TYPE_CHECKING:
    from rich.console import Console

    from device_app.device import Device
    from device_app.question.answer import Answer
    from device_app.question.options import Asked
    from shared.protocol.messages import Pipeline


@click.command(
    cls=Command,
    examples=(
        ("Ask a question", 'jackdaw ask "When is the dentist?"'),
        ("Ask about some of your files only", 'jackdaw ask "in:mail from:anna after:2026-03 what did she order?"'),
        ("Ask a follow-up question", 'jackdaw ask -c "And what did it cost?"'),
        ("Ask the last question again", "jackdaw ask --again"),
        ("Let the model write without your files", 'jackdaw ask --model-only "Write a limerick about tea."'),
        ("On a phone, ask by voice and hear the answer", "jackdaw ask --voice --speak"),
        ("Ask from a script", 'echo "Who has my drill?" | jackdaw ask --json'),
    ),
)
@click.argument("question", nargs=-1)
@click.option("-c", "--continue", "follow", is_flag=True, help="Continue the last conversation.")
@click.option("--again", is_flag=True, help="Ask the last question again and replace its answer.")
@click.option("--show-prompt", is_flag=True, help="Print the model's prompt instead of answering.")
@click.option("--no-sources", is_flag=True, help="Print the answer without sources, evidence and timing.")
@click.option("--max-tokens", type=int, help="Most tokens in the answer; a longer answer is cut.")
@click.option("--temperature", type=float, help="Randomness of the answer's words; 0 always takes the likeliest word.")
@click.option("--seed", type=int, help="Seed of the random choices: the same seed gives the same answer.")
@click.option("--fresh", is_flag=True, help="Write a new answer even if a saved answer exists.")
@click.option("--together", is_flag=True, help="Write the answer jointly with the companion server's model.")
@click.option("--local-only", is_flag=True, help="Do not ask the companion server; nothing leaves this device.")
@click.option("--model-only", is_flag=True, help="Let the model answer alone: no file is read, no source is given.")
@click.option("--send", is_flag=True, help="Allow any request to be sent to the companion server; it is shown first.")
@click.option("--pipeline", metavar="NAME", help="The pipeline by which the companion server answers: plain, hyde, …")
@click.option("--voice", is_flag=True, help="On a phone: ask by voice.")
@click.option("--speak", is_flag=True, help="On a phone: read the answer aloud.")
@click.option("--passages", type=int, help="Passages to answer from; 0 takes the number that measured best.")
@yes_option
def command(
    question: tuple[str, ...],
    follow: bool,
    again: bool,
    show_prompt: bool,
    no_sources: bool,
    max_tokens: int | None,
    temperature: float | None,
    seed: int | None,
    fresh: bool,
    together: bool,
    local_only: bool,
    model_only: bool,
    send: bool,
    pipeline: str | None,
    voice: bool,
    speak: bool,
    passages: int | None,
    yes: bool,
    as_json: bool,
) -> int | None:
    """Answer QUESTION from your own files, with sources. Without QUESTION, it is read from standard input.

    The question may hold filters: from:NAME, in:PART-OF-PATH, kind:mail, after:2026-03, before:2026-03-14, on:2026.
    Kinds are call, chat, contact, data, event, mail, note, page, paper, table, task. Cited files that have changed are
    read again first if that is quick; other changed files are named. With --again, the last question is answered again;
    if that gives no answer, the earlier answer stays.

    If your files answer only a part, the companion server may be asked as well: the setting link.together decides what
    is sent. With --pipeline, the server answers by its pipeline NAME if it is asked, and no saved answer is used. With
    --together, drafts of an answer from your files leave this device: the server can read the text that they repeat.

    A request that needs no file (write, translate, explain, summarise a text in the request) is answered by the model
    alone if the model is large enough; with --model-only, any request is. Such an answer has no source and is not used
    again. The companion server may write it, unless the request holds text or a name from your files, or is a
    follow-up. With --send, any request may be sent, without your files; it is shown first.

    Exit code 3: nothing relevant was found, nothing was asked yet, or the passages found do not answer the question.
    Exit code 1: the model failed or wrote nothing.
    """
    given = {"max_tokens": max_tokens, "temperature": temperature, "seed": seed, "passages": passages}
    flags = {f"answer.{name}": value for name, value in given.items() if value is not None}
    if again and (question or follow or show_prompt):
        raise UsageError("--again repeats the last question as it was asked. Run: jackdaw ask --again")
    _require_compatible(together, local_only, model_only or send, show_prompt, pipeline is not None)
    if send and (local_only or show_prompt):
        raise UsageError("--send asks a server; --local-only and --show-prompt ask no server. Leave one out.")
    spoken.require(question, voice=voice, speak=speak, again=again)
    text, fresh = "" if again or voice else _question(question), fresh or again
    with opened(flags) as device, Activity(device.paths.activity).noted(), awake(device.paths.awake):
        text = spoken.question(device.settings) if voice else text
        replaced = last(device.conversations) if again else None
        text = replaced.question if replaced else text
        model_only = model_only or (not (together or pipeline) and was_model_only(replaced))
        from device_app.answering.early import is_for_rule, needs_model

        for_model = show_prompt or together or model_only or send or pipeline is not None
        conversation = device.conversations.latest() if again or follow else None
        by_rule = not for_model and is_for_rule(device, text, conversation if follow else None)
        if not by_rule:
            ensure_models(device, yes=yes)
        chosen = "" if pipeline is None else _offered(device, pipeline)
        begins = follow or show_prompt or together or model_only
        if not by_rule and (begins or needs_model(device, text, fresh=fresh)):
            device.begin_loading()  # in the background, during the remaining imports and the search for passages
        from device_app.question.answer import Answer, Found, Wrote

        if send and not _shown_and_agreed(device, text, yes=yes):
            return ExitCode.FAILED
        way: Asked = {"together": together, "pipeline": chosen, "model_only": model_only or send, "send": send}
        options = device.options(**way | {"fresh": fresh, "public": not local_only})
        refused = say_if_refused(device)
        if show_prompt:
            prompt = device.assistant.prompt(text, options, conversation)
            say_if_refused(device, refused)
            return _show_prompt(prompt, as_json)
        code, said, answer = None, "", None
        with closing(asked(device, text, options, conversation, replaced)) as events:
            for event in events:
                if isinstance(event, Answer):
                    if event.guess and said.strip() != event.text and not as_json:
                        click.echo(f"\n{UNSUPPORTED}", nl=False)
                    code, answer = _finish(event, as_json, sources=not no_sources), event
                elif isinstance(event, Wrote) and not as_json:
                    said += event.text
                    click.echo(safe(event.text), nl=False)
                elif isinstance(event, Found) and not event.hits:
                    for reason in advice(device, text, local_only=local_only):
                        click.echo(safe_line(reason), err=True)
        say_if_refused(device, refused)
        spoken.say(answer if speak else None)
        return code


def _require_compatible(together: bool, local_only: bool, model_only: bool, show_prompt: bool, names: bool) -> None:
    """Raise UsageError if options contradict each other; `names` is whether a pipeline is named."""
    if together and local_only:
        raise UsageError("--together asks the companion server, --local-only forbids that. Leave one option out.")
    if names and (local_only or together):
        other = "--local-only asks no server" if local_only else "with --together both sides write"
        raise UsageError(f"--pipeline says how the companion server answers, and {other}. Leave one of them out.")
    if model_only and (together or names):
        raise UsageError(
            "--model-only and --send take no passages; --together and --pipeline do. Leave one option out."
        )
    if names and show_prompt:
        raise UsageError("--show-prompt asks no server, and --pipeline needs one. Leave one of them out.")


def _offered(device: "Device", name: str) -> "Pipeline":
    """Return the server's pipeline of that name. Raises UsageError if there is none, LinkError without a connection."""
    from device_app.answering.planner import NO_SERVER

    if device.public is None:
        raise UsageError(f"--pipeline says how the companion server answers, and {NO_SERVER}. Leave it out.")
    return device.public.check_pipeline(name)


def _shown_and_agreed(device: "Device", text: str, *, yes: bool) -> bool:
    """Show the request that would be sent; on a terminal, return whether the person agrees. Raises UsageError."""
    from device_app.answering.planner import NO_SERVER

    if device.public is None:
        raise UsageError(f"--send is for the companion server, and {NO_SERVER}. Leave it out.")
    click.echo(f"This request is sent to the companion server:\n{safe(text)}\n", err=True)
    return yes or not sys.stdin.isatty() or click.confirm("Send it?", err=True)


def _question(words: tuple[str, ...]) -> str:
    if words:
        return " ".join(words)
    if sys.stdin.isatty():
        raise UsageError('There is no question. Ask one, for example: jackdaw ask "When is the dentist?"')
    return sys.stdin.buffer.read(1_000_000).decode("utf-8", "replace").strip()


def _show_prompt(prompt: Any, as_json: bool) -> int | None:
    from device_app.question.answer import NOTHING_FOUND

    if prompt is None:
        if as_json:
            print_json({"prompt": None, "found": False})
        else:
            click.echo(NOTHING_FOUND)
        return ExitCode.NOTHING
    if as_json:
        print_json({"prompt": prompt.text(), "found": True, "rows": len(prompt.passages)})
    else:
        click.echo(safe(prompt.text()))
    return None


def _finish(answer: "Answer", as_json: bool, *, sources: bool) -> ExitCode | None:
    """Print what follows the answer's text, or the whole answer as JSON; return the exit code."""
    if as_json:
        print_json(answer.as_json())
    elif answer.found:
        _print_support(answer, sources=sources)
    else:
        click.echo(answer.text)
        for reason in () if answer.model_only else answer.decided:
            click.echo(safe_line(reason), err=True)
    for file in () if as_json else answer.stale:
        click.echo(safe_line(file.reason), err=True)
    return ExitCode.NOTHING if answer.abstained else None


def _print_support(answer: "Answer", *, sources: bool) -> None:
    """Print what supports the answer: its citation, the evidence and the sources, followed by the timing."""
    click.echo((" …" if answer.cut else "") + (f" [{answer.evidence.source}]" if answer.evidence and sources else ""))
    if not (sources or answer.understood or answer.model_only):
        return  # before Rich is imported
    from rich.text import Text

    out = console()
    _print_label(out, answer)
    if not sources:
        return
    _print_carried(out, answer)
    if answer.hits:
        out.print(f"\n{NEAREST}" if answer.abstained else "")
    for number, hit in enumerate(answer.hits, 1):
        out.print(f"[{number}] {safe_line(hit.passage.title)}", style="bold")
        for passage in (hit.passage, *hit.copies):
            whose = " · the server" if hit.side == "server" else ""
            out.print(f"    {safe_line(_place(passage))}{whose}", style="dim")
        if answer.abstained:
            for line in Text(safe(hit.passage.text)).wrap(out, max(out.width - 4, 8)):
                line.rstrip()
                out.print(Text.assemble("    ", line))
    if answer.guess:
        out.print(f"\n{GUESS} {safe_line(answer.guess)}", style="dim")
    timing = answer.trace.as_json()
    spent = f"first token {timing['ttft_ms']:.0f} ms · {timing['total_ms']:.0f} ms"
    if answer.matched:
        asked = f"“{safe_line(answer.matched.question)}” ({answer.matched.similarity:.2f})"
        out.print(f"\n{ORIGINS['qa_bank'].line} · {asked} · {age(answer.matched.answered_at)} · {spent}", style="dim")
    else:
        origin = ORIGINS[answer.written].line or drawn_from(answer.written, {hit.side for hit in answer.hits})
        left = f" · {answer.egress.bytes:,} bytes left this device" if answer.egress.bytes else ""
        by = [origin, safe_line(answer.model), f"{spent}{left}"]
        out.print(f"\n{' · '.join(filter(None, by))}", style="dim")
        for reason in [each for each in answer.decided if AGREE in each]:
            out.print(safe_line(reason), style="dim")
        for reason in fell_short(answer.decided):
            out.print(safe_line(reason), style="yellow")


def _print_label(out: "Console", answer: "Answer") -> None:
    if answer.understood:
        out.print(f"\n  {UNDERSTOOD} {safe_line(answer.understood)}", style="dim")
    if answer.model_only and not answer.abstained:
        out.print(f"\n  {MODEL_ONLY}", style="yellow")


def _print_carried(out: "Console", answer: "Answer") -> None:
    """Print the sentence that proves the answer, in quotation marks; or else the nearest sentence, without them."""
    proof, near = answer.evidence, answer.nearest
    if answer.quoted:
        out.print(f"\n  {QUOTED}", style="green")
    elif proof and answer.support == "word for word":
        out.print(f"\n  ✓ word for word in [{proof.source}]", style="green")
    elif proof:
        out.print(f"\n  “{safe_line(proof.sentence)}” [{proof.source}]", style="italic")
    elif near:
        out.print(f"\n  {NEAREST_SENTENCE} {safe_line(near.sentence)} [{near.source}]", style="dim")


def _place(passage: StoredPassage) -> str:
    place = passage.path
    within = place_in(passage.path, passage.line, passage.page)
    # Terminals and editors open PATH:LINE.
    place += f":{passage.line}" if within.startswith("line") else f", {within}" if within else ""
    if passage.date is not None:
        place += f" · {passage.date[:16].replace('T', ' ')}"
    return place
