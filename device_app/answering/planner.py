"""Decides what to do next for a question. Pure: called again whenever more is known.

`plan` returns an action with its reasons or, if that cannot be decided yet, the one fact that is missing. Facts are
thus not looked up needlessly: no model is loaded for a quote, and no server is asked if the files answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal

from device_app.question.answer import APART, UNDERSTOOD, WENT_ON

if TYPE_CHECKING:
    from device_app.answering.quoting import Quoted
    from device_app.answering.sources.source import Attempt
    from device_app.cache.answers.bank import Considered
    from device_app.companion.dispatch.aggregating import Choice
    from device_app.everyday.rule import Ruled
    from device_app.question.answer import Answer, LookedUp
    from device_app.question.request import Request
    from shared.prompt import Prompt
    from shared.types import Hit

Fact = Literal["rule", "kept answers", "joint request", "retrieval", "connection", "cost"]
"""Facts that may have to be found out; a joint request and a connection need the network."""

Kind = Literal[
    "answer by rule",
    "serve kept",
    "quote",
    "prefill",
    "generate",
    "fetch then generate",
    "together",
    "race",
    "write without files",
    "decline",
    "nothing",
    "end",
]

RULE: Final = "a rule answers it without a model, so nothing leaves this device"
OWN: Final = "your own files answer the question, so nothing leaves this device"
FORCED: Final = "both sides wrote the answer, as you asked"
NO_SERVER: Final = "no companion server is connected, or link.allowed is off (see: jackdaw status)"
UNASKED: Final = "with link.together = asked, nothing is sent unless you ask with --together or /together"
AS_ASKED: Final = "the model alone answers, as you asked"
NO_FILE: Final = "the request needs no file of yours, so the model alone answers"
UNSENT: Final = "with link.together = asked, no request is sent unless you ask with --send or /send"
NEARER: Final = "the server has no passage nearer to the question"


@dataclass(frozen=True, slots=True)
class Action:
    """An action, and the reasons for it as shown to the person.

    `lacks` names the part of the question that the files do not answer, if no server is asked for it or none answers: a
    later attempt may ask one.
    """

    kind: Kind
    reasons: tuple[str, ...] = ()
    lacks: str = ""


@dataclass(frozen=True, slots=True)
class Ruling:
    """The answer of a rule, or None if no rule understands the question."""

    ruled: Ruled | None


@dataclass(frozen=True, slots=True)
class Kept:
    """The kept answer that serves the question, or None; and all `similar` kept answers, if they were listed."""

    serving: Considered | None
    similar: Sequence[Considered] = ()


@dataclass(frozen=True, slots=True)
class Retrieved:
    """The passages nearest to the search query, best first. `missing` names the part of the question that no passage
    in the files covers; `quoted` is a quote from the passages, if the question asks for one; `newest` is the id of the
    newest stored passage when the retrieval began, `why_quoted` the reason for a quote that was not asked for.
    `local_only` is why no server may be asked after these passages.
    """

    hits: Sequence[Hit] = ()
    missing: str = ""
    quoted: Quoted | None = None
    newest: int = 0
    local_only: str = ""
    why_quoted: str = ""


@dataclass(frozen=True, slots=True)
class Joint:
    """The state of a joint request to a server: `refused` is why there is none."""

    refused: str = ""


@dataclass(frozen=True, slots=True)
class Connection:
    """Whether the server can be asked now, with the reason `why_not`. `incompatible` says why it cannot write a joint
    answer; `aggregation` are the ways of aggregation that it offers, None if unknown.
    """

    is_up: bool
    why_not: str = ""
    round_trip_s: float | None = None
    incompatible: str = ""
    aggregation: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Costed:
    """The prompt that the model would read from the files, and the plan chosen by its cost."""

    attempt: Attempt
    choice: Choice


@dataclass(frozen=True, slots=True)
class Fetched:
    """The server's passages that fit the question, and its `rounds` of retrieval; `failed` is why there are none."""

    hits: Sequence[Hit] = ()
    failed: str = ""
    rounds: Sequence[LookedUp] = ()


@dataclass(frozen=True, slots=True)
class Concluded:
    """The answer of an action, and whether any data had left the device by then.

    `prompt` is the last one that a model on this device has read for it, whose attention states may be kept.
    """

    action: Action
    answer: Answer
    has_sent: bool = False
    prompt: Prompt | None = None


@dataclass(frozen=True, slots=True)
class State:
    """The facts known so far, and the results of the actions done. None means not looked up, or not done."""

    ruling: Ruling | None = None
    kept: Kept | None = None
    joint: Joint | None = None
    retrieved: Retrieved | None = None
    connection: Connection | None = None
    costed: Costed | None = None
    fetched: Fetched | None = None
    concluded: Concluded | None = None

    def after(self, outcome: Concluded | Connection) -> State:
        """Return the state after an action that gave an answer, or found out that the server cannot be asked."""
        if isinstance(outcome, Connection):
            return replace(self, connection=outcome)
        return replace(self, concluded=outcome)

    @property
    def hits(self) -> Sequence[Hit]:
        """The passages nearest to the question, the best first."""
        return self.retrieved.hits if self.retrieved else ()


def plan(request: Request, state: State) -> Action | Fact:
    """Return the next action, or the fact that has to be known first."""
    if request.uses_rules and state.ruling is None:
        return "rule"
    if state.ruling and state.ruling.ruled:
        return Action("end") if state.concluded else _by_rule(state.ruling.ruled)
    return _without_files(request, state) if request.model_only else _with_files(request, state)


def _by_rule(ruled: Ruled) -> Action:
    return Action("answer by rule", (RULE, f"{UNDERSTOOD} {ruled.understood}"))


def _with_files(request: Request, state: State) -> Action | Fact:
    """Choose how to answer from a kept answer or from passages."""
    if request.uses_kept and state.kept is None:
        return "kept answers"
    if state.kept and state.kept.serving:
        return Action("end" if state.concluded else "serve kept")
    if request.options.together and state.joint is None and not (_refusal(request) or request.retrieves_first):
        return "joint request"  # before retrieval: the server searches meanwhile
    if state.retrieved is None:
        return "retrieval"
    done, retrieved = state.concluded, state.retrieved
    return _after(request, retrieved, done) if done else _from_passages(request, state, retrieved)


def _without_files(request: Request, state: State) -> Action | Fact:
    """Choose who writes the answer to a request that needs no file."""
    if state.concluded:
        return Action("end")
    options, why_here = request.options, ""
    if request.has_server:
        why_here = request.local_only or ("" if request.may_fetch or options.send else UNSENT)
        if not why_here and state.connection is None:
            return "connection"
        if not why_here and state.connection:
            if state.connection.is_up:
                return Action("race", (request.model_only,))
            why_here = _alone(state.connection.why_not)
    reasons = tuple(filter(None, (request.model_only, why_here)))
    return Action("decline" if request.server_begins else "write without files", reasons)


def _from_passages(request: Request, state: State, retrieved: Retrieved) -> Action | Fact:
    if not retrieved.hits:
        return Action("race" if request.has_server and not request.local_only else "nothing")
    local_only = request.local_only or retrieved.local_only
    missing = "" if local_only else retrieved.missing
    if request.options.together:
        return _forced(request, state, retrieved, local_only)
    if not request.has_server:
        return _here(request, retrieved, (), missing)
    if not missing:
        return _here(request, retrieved, (local_only or OWN,))
    if not request.may_fetch:
        return _here(request, retrieved, (missing, UNASKED), missing)
    return _with_server(request, state, retrieved)


def _forced(request: Request, state: State, retrieved: Retrieved, local_only: str) -> Action | Fact:
    """Choose a joint answer, as the person asked for it, unless there is a reason against it."""
    refused = _refusal(request) or local_only or (state.joint.refused if state.joint else "")
    if refused:
        return _here(request, retrieved, (_not_joint(refused),), "" if local_only else retrieved.missing)
    return Action("together", (FORCED,)) if state.joint else "joint request"


def _with_server(request: Request, state: State, retrieved: Retrieved) -> Action | Fact:
    """Choose between a joint answer, fetched passages and the files alone, when a server may be asked."""
    missing = retrieved.missing
    if state.connection is None:
        return "connection"
    if not state.connection.is_up:
        return _here(request, retrieved, (missing, _alone(state.connection.why_not)), missing)
    if state.costed is None:
        return "cost"
    choice = state.costed.choice
    match choice.plan:
        case "together":
            return _together(request, state, retrieved, (missing, choice.reason))
        case "fetch":
            return _fetch(request, state, retrieved, (missing, choice.reason))
        case "alone":
            return _here(request, retrieved, (missing, choice.reason))


def _together(request: Request, state: State, retrieved: Retrieved, reasons: tuple[str, str]) -> Action | Fact:
    if state.joint is None:
        return "joint request"
    if not state.joint.refused:
        return Action("together", reasons)
    return _here(request, retrieved, (retrieved.missing, _not_joint(state.joint.refused)), retrieved.missing)


def _fetch(request: Request, state: State, retrieved: Retrieved, reasons: tuple[str, str]) -> Action:
    if state.fetched is None or state.fetched.hits:
        return Action("fetch then generate", reasons)
    if state.fetched.failed:
        return _here(request, retrieved, (retrieved.missing, _alone(state.fetched.failed)), retrieved.missing)
    return _here(request, retrieved, (retrieved.missing, NEARER))


def _refusal(request: Request) -> str:
    """Return why no server is asked for a joint answer, as far as known locally; "" if there is no reason."""
    return request.local_only or ("" if request.has_server else NO_SERVER)


def _here(request: Request, retrieved: Retrieved, reasons: tuple[str, ...], lacks: str = "") -> Action:
    """Return the action that answers from the files alone."""
    if retrieved.quoted:
        return Action("quote", (*filter(None, (retrieved.why_quoted,)), *reasons), lacks)
    return Action("generate" if request.decode else "prefill", reasons, lacks)


def _after(request: Request, retrieved: Retrieved, concluded: Concluded) -> Action:
    """Return the next action after an answer.

    That is a race if the files turned out to hold no answer and a server may still be asked, else the end.
    """
    answer = concluded.answer
    is_open = concluded.action.kind != "race" and answer.abstained and not answer.guess and not concluded.action.lacks
    local_only = request.local_only or retrieved.local_only
    if is_open and request.may_fetch and not local_only and not concluded.has_sent:
        return Action("race", answer.decided)
    return Action("end")


def _not_joint(why: str) -> str:
    return f"{APART}{clause(why)}"


def _alone(why: str) -> str:
    return f"{WENT_ON}: {clause(why)}"


def clause(sentence: str) -> str:
    """Return a sentence in the form of a clause: first letter in lower case, no full stop."""
    return f"{sentence[:1].lower()}{sentence[1:].rstrip('.')}"
