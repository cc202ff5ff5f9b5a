"""The planner, a pure function from a request and the state to the next action: a test for each of its branches.

Also what is gathered for it before, and in which order.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_app.answering.facts import Facts
from device_app.answering.planner import AS_ASKED, FORCED, NEARER, NO_FILE, NO_SERVER, OWN, RULE, UNASKED, clause, plan
from device_app.answering.quoting import Quoted
from device_app.answering.state import (
    Action,
    Concluded,
    Connection,
    Costed,
    Fact,
    Fetched,
    Joint,
    Kept,
    Retrieved,
    State,
)
from device_app.companion.dispatch.aggregating import Choice
from device_app.english.query import Query
from device_app.everyday.rule import Ruled
from device_app.question.answer import Answer
from device_app.question.request import Request
from shared.trace import Trace
from tests.device_app.conftest import options

MISSING, PRIVATE = "your files say nothing of “rivers”", "it follows on what was said"
HITS, SERVING, ATTEMPT = cast(Any, ("passage",)), cast(Any, "kept"), cast(Any, "attempt")
QUOTE, CHANGED = Quoted("“The drill is blue.” [1]", HITS), Quoted("“The drill is red.” [1]", HITS, "it has changed")
NONE_KEPT = Kept(None)
RULED = Ruled("2 + 2 = 4", "arithmetic · 2 + 2")
BY_RULE = Action("answer by rule", (RULE, "understood as: arithmetic · 2 + 2"))
FOUND, LACKING = Retrieved(HITS), Retrieved(HITS, MISSING)
UP, DOWN = Connection(is_up=True), Connection(is_up=False, why_not="It is away.")


def request(**facts: Any) -> Request:
    """Return a request. Keywords set fields of `Request` or, if it has no such field, of its options."""
    fields = {name: facts.pop(name) for name in tuple(facts) if name in Request.__dataclass_fields__}
    query = Query("What of it?")
    chosen = replace(options(), **facts)
    return replace(Request(query, query, lambda: np.zeros(3, np.float32), chosen), **fields)


def state(**facts: Any) -> State:
    known: dict[str, Any] = {"kept": NONE_KEPT, "retrieved": FOUND} | facts
    return State(**known)


def chosen(way: str) -> Costed:
    return Costed(ATTEMPT, Choice(cast(Any, way), "it pays"))


def came(kind: str, has_sent: bool = False, lacks: str = "", **answer: Any) -> Concluded:
    said = Answer("text", HITS, None, Trace(), "model", **answer)
    return Concluded(Action(cast(Any, kind), (), lacks), said, has_sent)


@dataclass
class World:
    """Facts about a question that are made up, by the name of their field in the state; `looked_up` are their names."""

    facts: Mapping[str, Any]
    looked_up: list[str] = field(default_factory=list)

    def gathered(self, asked: Request, joint: Joint | None = None) -> State:
        return Facts.gathered(cast(Facts, self), asked, joint)

    def ruled(self, _: Request) -> Ruled | None:
        return cast("Ruled | None", self._looked_up("ruled"))

    def kept(self, _: Request) -> Kept:
        return cast(Kept, self._looked_up("kept"))

    def retrieved(self, _: Request, *, quotes: bool) -> Retrieved:
        return cast(Retrieved, self._looked_up("retrieved" if quotes else "retrieved, unquoted"))

    def _looked_up(self, name: str) -> object:
        self.looked_up.append(name)
        return self.facts[name.split(",", maxsplit=1)[0]]


SERVED = {"has_server": True, "reach": "question"}
TOGETHER = {"has_server": True, "together": True}
ASKED = {"connection": UP, "retrieved": LACKING}

CASES: dict[str, tuple[Request, State, Action | Fact]] = {
    "a rule answers": (request(), State(RULED), BY_RULE),
    "before a kept answer": (request(), State(RULED, Kept(SERVING)), BY_RULE),
    "even where a model would need no file": (request(model_only=NO_FILE), State(RULED), BY_RULE),
    "and that is all a rule does": (
        request(**SERVED),
        State(RULED, concluded=came("answer by rule")),
        Action("end"),
    ),
    "the model alone, as asked": (
        request(model_only=AS_ASKED, **{"options": replace(options(), model_only=True)}),
        State(),
        Action("write without files", (AS_ASKED,)),
    ),
    "a kept answer that serves": (request(), State(kept=Kept(SERVING)), Action("serve kept")),
    "and that is all": (request(), State(kept=Kept(SERVING), concluded=came("serve kept")), Action("end")),
    "from the files, without a server": (request(), state(), Action("generate")),
    "what they lack is noted": (request(), state(retrieved=LACKING), Action("generate", (), MISSING)),
    "from the files, which answer it": (request(**SERVED), state(), Action("generate", (OWN,))),
    "the same, when a server is only asked if told to": (request(has_server=True), state(), Action("generate", (OWN,))),
    "private": (
        request(**SERVED, local_only=PRIVATE),
        state(retrieved=LACKING),
        Action("generate", (PRIVATE,)),
    ),
    "not agreed to": (
        request(has_server=True),
        state(retrieved=LACKING),
        Action("generate", (MISSING, UNASKED), MISSING),
    ),
    "quoted": (request(), state(retrieved=Retrieved(HITS, "", QUOTE)), Action("quote")),
    "quoted unasked, with the reason": (
        request(),
        state(retrieved=Retrieved(HITS, "", CHANGED)),
        Action("quote", ("it has changed",)),
    ),
    "quoted, with a server, without asking it": (
        request(**SERVED),
        state(retrieved=Retrieved(HITS, "", QUOTE)),
        Action("quote", (OWN,)),
    ),
    "states alone, ahead": (request(decode=False), state(), Action("prefill")),
    "ahead, what is quoted needs none": (
        request(decode=False),
        state(retrieved=Retrieved(HITS, "", QUOTE)),
        Action("quote"),
    ),
    "the files lack something: is the server there?": (request(**SERVED), state(retrieved=LACKING), "connection"),
    "it is not": (
        request(**SERVED),
        state(retrieved=LACKING, connection=DOWN),
        Action("generate", ("your files say nothing of “rivers”", "this device wrote alone: it is away"), MISSING),
    ),
    "it is not, and the files are quoted": (
        request(**SERVED),
        state(retrieved=Retrieved(HITS, MISSING, QUOTE), connection=DOWN),
        Action("quote", (MISSING, "this device wrote alone: it is away"), MISSING),
    ),
    "it is: what would it cost?": (request(**SERVED), state(**ASKED), "cost"),
    "alone": (request(**SERVED), state(**ASKED, costed=chosen("alone")), Action("generate", (MISSING, "it pays"))),
    "fetch": (
        request(**SERVED),
        state(**ASKED, costed=chosen("fetch")),
        Action("fetch then generate", (MISSING, "it pays")),
    ),
    "fetched": (
        request(**SERVED),
        state(**ASKED, costed=chosen("fetch"), fetched=Fetched(HITS)),
        Action("fetch then generate", (MISSING, "it pays")),
    ),
    "fetched nothing nearer": (
        request(**SERVED),
        state(**ASKED, costed=chosen("fetch"), fetched=Fetched()),
        Action("generate", (MISSING, NEARER)),
    ),
    "could not fetch": (
        request(**SERVED),
        state(**ASKED, costed=chosen("fetch"), fetched=Fetched(failed="It broke.")),
        Action("generate", (MISSING, "this device wrote alone: it broke"), MISSING),
    ),
    "fetched nothing, and the files are quoted": (
        request(**SERVED),
        state(
            connection=UP,
            retrieved=Retrieved(HITS, MISSING, QUOTE),
            costed=chosen("fetch"),
            fetched=Fetched(),
        ),
        Action("quote", (MISSING, NEARER)),
    ),
    "together, by the cost: does it write along?": (
        request(**SERVED),
        state(**ASKED, costed=chosen("together")),
        "joint request",
    ),
    "it does": (
        request(**SERVED),
        state(**ASKED, costed=chosen("together"), joint=Joint()),
        Action("together", (MISSING, "it pays")),
    ),
    "it does not": (
        request(**SERVED),
        state(**ASKED, costed=chosen("together"), joint=Joint("It cannot.")),
        Action("generate", (MISSING, "it was not written together: it cannot"), MISSING),
    ),
    "together begins before retrieval": (request(**TOGETHER), State(), "joint request"),
    "together": (request(**TOGETHER), state(joint=Joint()), Action("together", (FORCED,))),
    "together, refused": (
        request(**TOGETHER),
        state(joint=Joint("It cannot.")),
        Action("generate", ("it was not written together: it cannot",)),
    ),
    "together, refused, and the files are quoted": (
        request(**TOGETHER),
        state(joint=Joint("It cannot."), retrieved=Retrieved(HITS, "", QUOTE)),
        Action("quote", ("it was not written together: it cannot",)),
    ),
    "together without a server": (
        request(together=True),
        state(),
        Action("generate", (f"it was not written together: {clause(NO_SERVER)}",)),
    ),
    "together, private": (
        request(**TOGETHER, local_only=PRIVATE),
        state(),
        Action("generate", (f"it was not written together: {PRIVATE}",)),
    ),
    "together, where the passages have to be known first": (
        request(**TOGETHER, retrieves_first=True),
        state(),
        "joint request",
    ),
    "together, nothing found: a race instead": (
        request(**TOGETHER),
        State(joint=Joint(), retrieved=Retrieved()),
        Action("race"),
    ),
    "nothing in the files": (request(**SERVED), state(retrieved=Retrieved()), Action("race")),
    "nothing, and private": (
        request(**SERVED, local_only=PRIVATE),
        state(retrieved=Retrieved()),
        Action("nothing"),
    ),
    "nothing, without a server": (request(), state(retrieved=Retrieved()), Action("nothing")),
    "answered": (request(**SERVED), state(concluded=came("generate")), Action("end")),
    "abstained": (request(**SERVED), state(concluded=came("generate", abstained=True)), Action("race")),
    "abstained, and the race takes the reasons along": (
        request(**SERVED),
        state(concluded=came("generate", abstained=True, decided=("why",))),
        Action("race", ("why",)),
    ),
    "for a guess nobody is asked": (
        request(**SERVED),
        state(concluded=came("generate", abstained=True, guess="x")),
        Action("end"),
    ),
    "abstained, private": (
        request(**SERVED, local_only=PRIVATE),
        state(concluded=came("generate", abstained=True)),
        Action("end"),
    ),
    "abstained, but something has left": (
        request(**SERVED),
        state(concluded=came("fetch then generate", has_sent=True, abstained=True)),
        Action("end"),
    ),
    "abstained where the server could not be asked": (
        request(**SERVED),
        state(concluded=came("generate", lacks=MISSING, abstained=True)),
        Action("end"),
    ),
    "abstained, not agreed to": (
        request(has_server=True),
        state(concluded=came("generate", abstained=True)),
        Action("end"),
    ),
    "a race brought nothing": (request(**SERVED), state(concluded=came("race", abstained=True)), Action("end")),
    "nothing was found": (request(), state(concluded=came("nothing", abstained=True, found=False)), Action("end")),
}


GATHERED: dict[str, tuple[Request, dict[str, Any], list[str]]] = {
    "first, rules": (request(), {"ruled": RULED}, ["ruled"]),
    "even where it is to be new, as a rule's answer is": (request(fresh=True), {"ruled": RULED}, ["ruled"]),
    "even with a server that may be asked": (request(**SERVED), {"ruled": RULED}, ["ruled"]),
    "even where a model would need no file": (request(model_only=NO_FILE), {"ruled": RULED}, ["ruled"]),
    "and there, nothing else": (request(model_only=NO_FILE), {}, ["ruled"]),
    "but not where the model is to write alone": (
        request(model_only=AS_ASKED, **{"options": replace(options(), model_only=True)}),
        {},
        [],
    ),
    "nor where a server is to write along": (request(**TOGETHER), {}, ["retrieved"]),
    "nor where its pipeline is named": (request(pipeline="plain"), {}, ["retrieved"]),
    "nor where the request is to be sent": (request(send=True, has_server=True), {}, ["kept", "retrieved"]),
    "then, kept answers": (request(), {"kept": Kept(SERVING)}, ["ruled", "kept"]),
    "none serves": (request(), {}, ["ruled", "kept", "retrieved"]),
    "not where it is to be new": (request(fresh=True), {}, ["ruled", "retrieved"]),
    "nor where something else is looked for": (request(search_query=Query("roof")), {}, ["ruled", "retrieved"]),
}


@pytest.mark.parametrize("case", GATHERED)
def test_facts_are_looked_up_only_until_the_question_is_answered(case: str) -> None:
    asked, facts, looked_up = GATHERED[case]
    world = World({"ruled": None, "kept": NONE_KEPT, "retrieved": FOUND} | facts)
    known = world.gathered(asked)
    assert world.looked_up == looked_up
    assert (known.ruled, known.kept or NONE_KEPT) == (facts.get("ruled"), facts.get("kept", NONE_KEPT))
    assert known.retrieved == (FOUND if "retrieved" in looked_up else None)


@pytest.mark.parametrize(("joint", "name"), [(Joint(), "retrieved, unquoted"), (Joint("It cannot."), "retrieved")])
def test_nothing_is_quoted_while_both_sides_write(joint: Joint, name: str) -> None:
    world = World({"retrieved": FOUND})
    assert world.gathered(request(**TOGETHER), joint) == State(joint=joint, retrieved=FOUND)
    assert world.looked_up == [name]


@pytest.mark.parametrize("case", CASES)
def test_every_branch(case: str) -> None:
    asked, known, step = CASES[case]
    assert plan(asked, known) == step


requests = st.builds(
    request,
    fresh=st.booleans(),
    together=st.booleans(),
    has_server=st.booleans(),
    local_only=st.sampled_from(["", PRIVATE]),
    reach=st.sampled_from(["asked", "question", "fitting"]),
    decode=st.booleans(),
)
retrievals = st.builds(
    Retrieved, st.sampled_from([(), HITS]), st.sampled_from(["", MISSING]), st.sampled_from([None, QUOTE])
)
worlds = st.fixed_dictionaries(
    {
        "ruled": st.sampled_from([None, RULED]),
        "kept": st.sampled_from([NONE_KEPT, Kept(SERVING)]),
        "retrieved": retrievals,
        "connection": st.sampled_from([UP, DOWN]),
        "joint": st.sampled_from([Joint(), Joint("It cannot.")]),
        "costed": st.sampled_from([chosen(way) for way in ("alone", "fetch", "together")]),
        "fetched": st.sampled_from([Fetched(), Fetched(HITS), Fetched(failed="It broke.")]),
        "abstains": st.booleans(),
    }
)
FACTS = {"joint request": "joint", "connection": "connection", "cost": "costed"}


@given(requests, worlds)
def test_it_ends_asks_for_no_fact_twice_and_nobody_where_none_may_be(asked: Request, world: dict[str, Any]) -> None:
    steps: list[Action | Fact] = ["joint request"] if asked.begins_jointly else []
    known = World(world).gathered(asked, world["joint"] if asked.begins_jointly else None)
    while True:
        step = plan(asked, known)
        assert step not in steps
        steps.append(step)
        if isinstance(step, str):
            name = FACTS[step]
            assert getattr(known, name) is None
            known = replace(known, **{name: world[name]})
        elif step.kind == "fetch then generate" and known.fetched is None:
            known = replace(known, fetched=world["fetched"])
            steps.remove(step)
        elif step.kind in ("end", "prefill"):
            break
        else:
            known = replace(known, concluded=came(step.kind, lacks=step.lacks, abstained=world["abstains"]))
    asks = {"joint request", "connection"} & {step for step in steps if isinstance(step, str)}
    asks |= {step.kind for step in steps if isinstance(step, Action)} & {"race", "fetch then generate", "together"}
    if asked.local_only or not asked.has_server:
        assert not asks
    if known.ruled:
        assert steps == [BY_RULE, Action("end")]
    if known.kept and known.kept.serving:
        assert steps == [Action("serve kept"), Action("end")]
