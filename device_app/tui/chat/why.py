"""The window that explains an answer: its timing, the saved answers compared with its question, and the data sent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from device_app.presentation import STEPS, basis_rows
from device_app.tui.wording import egress, gains, looked_up_line, milliseconds, safe_line
from shared.errors import JackdawError

if TYPE_CHECKING:
    from device_app.tui.edge.answers import Answers, Weighed
    from device_app.tui.edge.facts import Turn

_BAR = 14


class WhyScreen(ModalScreen[None]):
    """A window with the record of a turn, and the saved answers that would be compared with its question now."""

    BINDINGS = [Binding("escape,q", "dismiss", show=False)]  # noqa: RUF012 (as Textual declares it)

    def __init__(self, answers: Answers, turn: Turn) -> None:
        super().__init__()
        self._answers = answers
        self._turn = turn

    def compose(self) -> ComposeResult:
        """Yield the turn's record, and a widget that is filled with the saved answers later."""
        with Vertical(classes="window") as window:
            window.border_title = "Why this answer"
            window.border_subtitle = "Esc back"
            with VerticalScroll():
                yield Static(_record(self._turn.record), markup=False)
                yield Static(Content.styled("\ncomparing saved answers …", "$quiet"), id="weighed", markup=False)

    def on_mount(self) -> None:
        """Look up the saved answers in the background, after any answer that is being generated."""
        self.query_one(VerticalScroll).focus()
        self.run_worker(self._weigh())

    async def _weigh(self) -> None:
        shown = self.query_one("#weighed", Static)
        try:
            shown.update(_weighed(await self._answers.why(self._turn.question), self._turn))
        except JackdawError as error:
            shown.update(Content.styled(f"\n{safe_line(str(error))}", "$warning"))


def _record(record: dict[str, Any]) -> Content:
    trace, kept = record["trace"], record["cache"]
    longest = max((step["ms"] for step in trace["steps"]), default=0.0) or 1.0
    lines = [Content.styled("Where the time went", "bold")]
    for step in trace["steps"]:
        bar = "━" * max(1, round(step["ms"] / longest * _BAR))
        name = STEPS.get(step["name"], step["name"])
        lines.append(
            Content.assemble(
                (f"{name:<9}", "$quiet"),
                f"{milliseconds(step['ms']):>8} ",
                (bar, "$primary"),
            )
        )
    first = trace["ttft_ms"]
    total = f"{milliseconds(trace['total_ms'])} in all"
    lines.append(Content.styled(total if first is None else f"first token {milliseconds(first)} · {total}", "$quiet"))
    lines += [Content.styled(gain, "$quiet") for gain in gains(record)]
    states = kept["kv"]
    lines += [
        Content(),
        Content.styled("What the answer was made from", "bold"),
        Content(f"model   {safe_line(record['model']) or 'none: answered without a model'}"),
    ]
    if states["tokens_cached"] or states["tokens_prefilled"]:
        lines.append(
            Content(f"states  {states['tokens_cached']:,} tokens saved, {states['tokens_prefilled']:,} newly read")
        )
    if kept["qa"]["hit"]:
        asked = f"saved   “{safe_line(kept['qa']['matched'])}” ({kept['qa']['similarity']:.2f})"
        lines.append(Content(asked))
    lines.append(Content(f"egress  {egress(record)}"))
    if record["sources"]:
        scores = " · ".join(f"[{source['number']}] {source['score']:.2f}" for source in record["sources"])
        lines.append(Content(f"scores  {scores}"))
    if decided := trace.get("decided"):
        lines += [Content(), Content.styled("Who wrote the answer, and why", "bold")]
        lines += [Content(safe_line(reason)) for reason in decided]
    if basis := trace.get("dispatch"):
        lines += [Content(f"{name.lower():<8}{safe_line(said)}") for name, said in basis_rows(basis)]
    if rounds := trace.get("rounds"):
        lines += [Content(), Content.styled("What the server looked up", "bold")]
        lines += [Content(looked_up_line(looked_up)) for looked_up in rounds]
    return Content("\n").join(lines)


def _weighed(weighed: Sequence[Weighed], turn: Turn) -> Content:
    lines = [Content(), Content.styled("Saved answers compared with this question", "bold")]
    for candidate in weighed:
        own = candidate.serves and candidate.question == turn.question and not turn.record["cache"]["qa"]["hit"]
        reason = "this answer itself, saved for next time" if own else safe_line(candidate.reason)
        verdict = (reason, "$success" if candidate.serves else "$quiet")
        lines.append(Content.assemble((f"{candidate.similarity:.2f} ", "$accent"), safe_line(candidate.question)))
        lines.append(Content.assemble("     ", verdict))
    if not weighed:
        lines.append(Content.styled("no saved answer is similar", "$quiet"))
    return Content("\n").join(lines)
