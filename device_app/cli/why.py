"""`jackdaw why`: explains how a question would be answered now, or how the last answer came about. Sends nothing."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import click

from device_app.cli.last_answer import explain_last
from device_app.cli.models import ensure_models, say_if_refused, yes_option
from device_app.cli.opening import opened
from device_app.cli.public_plan import aggregation_json, aggregation_rows, plan_json, plan_rows
from device_app.device import Device
from shared.cli.frame import Command
from shared.cli.output import print_blocks, print_json
from shared.errors import ExitCode
from shared.printable import safe_line

if TYPE_CHECKING:
    from device_app.answering.state import Action, Fact, State
    from device_app.cache.answers.bank import Considered
    from device_app.companion.dispatch.aggregating import Choice
    from device_app.companion.dispatch.weighed import Weighed
    from shared.types import Hit

Block = list[tuple[str, object]]
AnsweredFrom = Literal["rule", "kept", "files", "both", "server", "model", "nothing"]

ANSWERED_FROM: dict[str, AnsweredFrom] = {
    "answer by rule": "rule",
    "serve kept": "kept",
    "joint request": "both",
    "fetch then generate": "both",
    "together": "both",
    "quote": "files",
    "generate": "files",
    "prefill": "files",
    "race": "server",
    "write without files": "model",
}
"""Where the answer would come from, for each next step of the planner. "joint request" is not an action but a fact that
the planner still needs: it means that both sides would write.
"""

BOTH = {
    "fetch": "Your files answer a part of the question: the question is sent, and this device "
    "writes from both sides' passages.",
    "together": "Your files answer a part of the question: both sides write the answer, and "
    "drafts of it leave this device.",
}

FILES = "The answer is written on this device, from your own files"
RULE = "A rule answers the question on this device, without a model"
QUOTED = "The answer is quoted on this device, from your own files"
MODEL = "The request needs no file of yours: the model of this device writes the answer alone, without a source"
NOTHING_OWN = "Your own files have nothing on this question, so the companion server is asked."
SERVER = (
    "The request needs no file of yours: the model of this device or of the companion server writes the answer alone, "
    "without a source. The request is sent if the server writes."
)
FILES_AGAIN = "The question is tried again on this device, with your own files"
NOTHING_SENT = "nothing is sent."
OR_SERVER = "the question is sent if your files turn out not to answer it."

MOST_SIMILAR = 3
"""The most kept answers to show; the most similar ones come first."""


@click.command(
    cls=Command,
    examples=(
        ("Explain how a question would be answered", 'jackdaw why "When is the dentist?"'),
        ("Explain the last answer", "jackdaw why"),
    ),
)
@click.argument("question", nargs=-1)
@yes_option
def command(question: tuple[str, ...], yes: bool, as_json: bool) -> int | None:
    """Explain how QUESTION would be answered now; without QUESTION, how the last one was answered. Nothing is sent.

    Each saved question is shown with its cosine, from -1 to 1. The cosine, the wording and later changes of files
    decide together whether its answer can be used. If your own files do not answer the question and the companion
    server may be asked, the output shows which side would begin, what that costs, and when the answer would move to the
    other side. If your files answer only a part, the output shows whether the server would send passages or help to
    write, and why.

    Exit code 3: nothing would be found, or nothing has been asked yet.
    """
    with opened() as device:
        if not question:
            return explain_last(device.conversations, as_json)
        from device_app.answering.early import is_for_rule

        text = " ".join(question)
        if not is_for_rule(device, text):
            ensure_models(device, yes=yes)
            device.begin_loading()
        refused = say_if_refused(device)
        outlook = _outlook(device, text)
        say_if_refused(device, refused)
    if as_json:
        print_json(outlook.as_json())
    else:
        click.echo(f"{outlook.verdict}\n")
        print_blocks(outlook.blocks())
    return ExitCode.NOTHING if outlook.answered_from == "nothing" else None


@dataclass(frozen=True)
class Outlook:
    """A forecast of how a question would be answered. `kept` are ids of passages whose attention states are kept.

    `weighed` holds the costs by which the side is chosen, if a server would be asked; `not_asked` is why none is.
    `beyond` is what the files lack, and how a server would be asked for it. `may_fetch`: a server may be asked if the
    model finds no answer in the files. `quoted`: the files are quoted and no model writes. `uses_kept`: kept answers
    are considered. `model_only`: the request needs no file. `understood` is how a rule reads the question.
    """

    question: str
    answered_from: AnsweredFrom
    similar: "Sequence[Considered]"
    hits: "Sequence[Hit]"
    kept: set[int]
    weighed: "Weighed | None"
    not_asked: str
    beyond: "tuple[str, Choice] | None" = None
    may_fetch: bool = False
    quoted: bool = False
    uses_kept: bool = True
    model_only: bool = False
    understood: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return the object that `why QUESTION --json` prints."""
        return {
            "question": self.question,
            "road": self.answered_from,
            "similar": [
                {
                    "question": candidate.entry.question,
                    "similarity": candidate.similarity,
                    "serves": candidate.serves,
                    "reason": candidate.reason,
                }
                for candidate in self.similar
            ],
            "passages": [
                {
                    "id": hit.passage.id,
                    "title": hit.passage.title,
                    "path": hit.passage.path,
                    "kept": hit.passage.id in self.kept,
                }
                for hit in self.hits
            ],
            "public": None if self.weighed is None else plan_json(self.weighed),
            "not_asked": self.not_asked,
            "quoted": self.quoted,
            "model_only": self.model_only,
            "understood": self.understood,
            "beyond": self.beyond
            and {
                "reason": self.beyond[0],
                "plan": self.beyond[1].plan,
                "why": self.beyond[1].reason,
                "aggregation": (settled := self.beyond[1].aggregation) and aggregation_json(settled),
            },
        }

    @property
    def verdict(self) -> str:
        """Return in a sentence or two how the question would be answered."""
        sentences = {
            "rule": f"{RULE}; {NOTHING_SENT}",
            "kept": "A saved answer would be used.",
            "files": self._files,
            "both": BOTH.get(self.beyond[1].plan, "") if self.beyond else "",
            "server": SERVER if self.model_only else NOTHING_OWN,
            "model": f"{MODEL}; {NOTHING_SENT}",
            "nothing": "" if self.is_declined else "Nothing relevant would be found.",
        }
        return "\n".join(filter(None, (sentences[self.answered_from], self.not_asked)))

    @property
    def is_declined(self) -> bool:
        """Whether nobody would answer the request, as the model of this device is too small for it."""
        return self.model_only and self.answered_from == "nothing"

    @property
    def _files(self) -> str:
        if self.quoted:
            return f"{QUOTED}; {NOTHING_SENT}"
        before = next((candidate.failed for candidate in self.similar if candidate.failed), "")
        sentence = f"{FILES_AGAIN if before else FILES}; {OR_SERVER if self.may_fetch else NOTHING_SENT}"
        return (
            f"{sentence}\nThe last time, the question could not be answered: {safe_line(before)}"
            if before
            else sentence
        )

    def blocks(self) -> list[Block]:
        """Return the facts that decide the outcome, in blocks for a person."""
        similar = [
            f"{candidate.similarity:.2f}  {safe_line(candidate.entry.question)}\n"
            f"      {'can be used' if candidate.serves else 'cannot be used'}: {candidate.reason}"
            for candidate in self.similar[:MOST_SIMILAR]
        ]
        read = "to be cited" if self.understood else "to be quoted" if self.quoted else "to be read by the model"
        passages = [
            f"{safe_line(hit.passage.title)}\n"
            f"      {'its attention state is saved' if hit.passage.id in self.kept else read}"
            for hit in self.hits
        ]
        blocks: list[Block] = [list(plan_rows(plan_json(self.weighed)))] if self.weighed else []
        if self.beyond:
            settled = self.beyond[1].aggregation
            rows = aggregation_rows(settled) if settled else ()
            blocks.append([("Beyond your files", self.beyond[0]), ("How", self.beyond[1].reason), *rows])
        if self.understood:
            blocks.append([("Understood as", safe_line(self.understood))])
        if self.uses_kept:
            blocks.append([("Saved answers", "\n".join(similar) or "no answer is saved yet, so none can be used")])
        if passages:
            title = "Otherwise from" if self.answered_from == "kept" else "From"
            blocks.append([(title, "\n".join(passages))])
        return blocks


def _outlook(device: Device, question: str) -> Outlook:
    from device_app.answering import conclusion
    from device_app.answering.state import Action
    from device_app.companion.dispatch.public import SERVER_BEGINS
    from device_app.knowledge.absence import not_asked, reasons
    from shared.types import Hit

    explained = device.assistant.explain(question, device.options())
    request, state, otherwise = explained.request, explained.state, explained.otherwise
    answered_from = _answered_from(explained.step)
    if ruled := state.ruled:
        cited = [Hit(passage, 1.0, 0.0) for passage in ruled.sources]
        return Outlook(
            question, answered_from, (), cited, set(), None, "", uses_kept=False, understood=ruled.understood
        )
    similar = state.kept.similar if state.kept else ()
    hits = state.hits[: request.options.plan.passages]
    quoted = state.retrieved.quoted if state.retrieved else None
    is_quoted = quoted is not None and isinstance(otherwise, Action) and otherwise.kind == "quote"
    if quoted and is_quoted:
        hits = quoted.hits
    kept = set() if is_quoted else device.assistant.states_kept(request, hits)
    weighed, why_not = None, ""
    if answered_from == "server" and device.public:
        weighed = device.public.weighed(
            request.query.text, request.options.max_tokens, model_only=bool(request.model_only)
        )
        if request.server_begins:
            weighed = replace(weighed, fixed=SERVER_BEGINS)
    if request.model_only and answered_from in ("nothing", "model"):
        reasons_here = () if isinstance(otherwise, str) else otherwise.reasons[1:]
        why_not = "\n".join((*reasons_here, *([conclusion.unsuited(request)] if answered_from == "nothing" else [])))
    elif answered_from == "nothing":
        connected, allowed = device.paths.link.exists(), device.public is not None
        refused = not_asked(question, connected=connected, allowed=allowed) or request.local_only
        why_not = "\n".join((*reasons(device.knowledge, device.people, question), refused))
    return Outlook(
        question,
        answered_from,
        similar,
        hits,
        kept,
        weighed,
        why_not,
        None if request.model_only else _beyond(state, otherwise),
        may_fetch=request.may_fetch and not request.local_only,
        quoted=is_quoted,
        uses_kept=request.uses_kept and not request.model_only,
        model_only=bool(request.model_only),
    )


def _answered_from(step: "Action | Fact") -> AnsweredFrom:
    """Return where the planner's next step takes the answer from."""
    return ANSWERED_FROM.get(step if isinstance(step, str) else step.kind, "nothing")


def _beyond(state: "State", step: "Action | Fact") -> "tuple[str, Choice] | None":
    """Return what the files lack and how a server would be asked for it; None if no server would be asked."""
    from device_app.companion.dispatch.aggregating import Choice

    if state.costed and state.retrieved:
        return state.retrieved.missing, state.costed.choice
    reasons = () if isinstance(step, str) else step.reasons
    return (reasons[0], Choice("alone", reasons[1])) if len(reasons) == 2 else None  # missing part; why alone
