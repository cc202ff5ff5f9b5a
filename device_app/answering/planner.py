"""Decides what to do next for a question. Pure: called again whenever more is known.

What this device knows is gathered before (`Facts.gathered`). `plan` returns an action with its reasons or, if that
cannot be decided yet, the one further fact that is missing. Facts are thus not looked up needlessly: no model is loaded
for a quote, and no server is asked if the files answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from device_app.answering.state import Action, Concluded, Fact, Retrieved, State
from device_app.question.answer import APART, UNDERSTOOD, WENT_ON

if TYPE_CHECKING:
    from device_app.everyday.rule import Ruled
    from device_app.question.request import Request

RULE: Final = "a rule answers it without a model, so nothing leaves this device"
OWN: Final = "your own files answer the question, so nothing leaves this device"
FORCED: Final = "both sides wrote the answer, as you asked"
NO_SERVER: Final = "no companion server is connected, or link.allowed is off (see: jackdaw status)"
UNASKED: Final = "with link.together = asked, nothing is sent unless you ask with --together or /together"
AS_ASKED: Final = "the model alone answers, as you asked"
NO_FILE: Final = "the request needs no file of yours, so the model alone answers"
UNSENT: Final = "with link.together = asked, no request is sent unless you ask with --send or /send"
NEARER: Final = "the server has no passage nearer to the question"


def plan(request: Request, state: State) -> Action | Fact:
    """Return the next action, or the fact that has to be known first."""
    if state.ruled:
        return Action("end") if state.concluded else _by_rule(state.ruled)
    return _without_files(request, state) if request.model_only else _with_files(request, state)


def _by_rule(ruled: Ruled) -> Action:
    return Action("answer by rule", (RULE, f"{UNDERSTOOD} {ruled.understood}"))


def _with_files(request: Request, state: State) -> Action | Fact:
    """Choose how to answer from a kept answer or from passages."""
    if state.kept and state.kept.serving:
        return Action("end" if state.concluded else "serve kept")
    if request.begins_jointly and state.joint is None:
        return "joint request"
    done, retrieved = state.concluded, state.retrieved
    assert retrieved
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
    """Choose the joint answer that the person asked for, unless there is a reason against it.

    `local_only` is why nothing may be sent, or "".
    """
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
    """Return the action that answers from the files alone: the quote or, if there is none, text of the model.

    `reasons` and `lacks`, the part of the question that the files do not answer, are put into the action.
    """
    if retrieved.quoted:
        return Action("quote", (*filter(None, (retrieved.quoted.why,)), *reasons), lacks)
    return Action("generate" if request.decode else "prefill", reasons, lacks)


def _after(request: Request, retrieved: Retrieved, concluded: Concluded) -> Action:
    """Return the next action after an answer.

    That is a race with the server, if the files turned out to hold no answer and a server may still be asked; else the
    end.
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
    """Return a sentence as a clause: with a small first letter, and without a full stop."""
    return f"{sentence[:1].lower()}{sentence[1:].rstrip('.')}"
