"""`jackdaw ask` with a server that sends wrong messages: the device answers, and a line names the server and what was
wrong.
"""

import json
import resource
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import Struct, inspect, structs

from device_app.answering.planner import FORCED
from device_app.companion.dispatch.policy import Decision
from device_app.companion.dispatch.weighed import Weighed
from device_app.companion.joint import aggregated
from device_app.companion.link import credentials
from device_app.companion.link.credentials import Credentials
from scripts.fuzzing import values
from shared.protocol import messages as m
from storage.paths import Paths
from tests.companion import FACTS, Serve, Served, Slow, serve
from tests.device_app.companion.dispatch.test_race import DEAR_DEVICE
from tests.devices import fake_device
from tests.faults import OFFER, RIVERS
from tests.limits import wait_at_most
from tests.lying import Lie, Said, lying
from tests.racing import terms

__all__ = ["serve"]

DANUBE = "Which countries does the Danube flow through, and where?"
DRILL = "Petra has borrowed the blue drill."
ROWED = "We rowed on the Danube through Vienna in May."
BOTH = "Through which European countries does the Danube flow, where we rowed?"
TRIP = "Which countries does the Danube flow through? We saw four of them."
THERE = FACTS[0][1]

FROM_SERVER, FROM_DEVICE = Decision(None, 0.0, "the server alone"), Decision(0.0, None, "the device alone")


@dataclass(frozen=True)
class Way:
    """A case in which a server is needed: the content of the files, the question, and the answer that the device gives
    alone.
    """

    note: str
    words: tuple[str, ...]
    alone: tuple[str, ...]
    decision: Decision = FROM_SERVER


WAYS = {
    "search": Way(ROWED, (BOTH,), (ROWED,)),
    "generate": Way(DRILL, (DANUBE,), (THERE,)),
    "together": Way(TRIP, ("--together", DANUBE), (TRIP,)),
    "drawn together": Way(TRIP, ("--together", "--temperature", "2", "--seed", "4", DANUBE), (TRIP,)),
    "moved": Way(DRILL, (DANUBE,), (THERE,), FROM_DEVICE),
    "without files": Way(DRILL, ("Write a poem about the sea",), ()),
}


@dataclass
class Told:
    """The output of `jackdaw ask`, as text or as JSON, and the seconds that it took."""

    code: int
    answer: dict[str, Any]
    seconds: float
    reasons: list[str] = field(default_factory=list)


Asks = Callable[[str, Callable[[], Lie]], Told]


@pytest.fixture
def quick(jackdaw: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten all waits for a server, and use a fake device."""
    wait_at_most(monkeypatch, sources_s=1.0, token_s=0.5, alone_s=0.5, passages_s=1.0, connect_s=1.0, rounds_s=2.0)
    monkeypatch.setattr("device_app.companion.dispatch.patience.PACE_S", 0.1)
    monkeypatch.setattr("device_app.companion.dispatch.patience.MOST_PROMISED_S", 2.0)
    monkeypatch.setattr(aggregated, "PACE_S", 0.1)
    jackdaw.make = partial(fake_device, engine=partial(Slow, 0.002))
    monkeypatch.setattr(Weighed, "terms", lambda *_: terms(DEAR_DEVICE, reading_rate=100.0, rate=500.0))


@pytest.fixture
def asks(
    quick: None, tmp_path: Path, jackdaw: Any, paths: Paths, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Asks]:
    """Asks a question in one of the ways in `WAYS`, while the server sends the messages that a `Lie` has changed."""
    served: Served = serve(Slow(0.002), limits={"tokens_per_minute": 1e9, "searches_per_minute": 1e6})
    token, folder = served.token(), tmp_path / "notes"
    folder.mkdir()
    with ExitStack() as leaving:

        def asked(way: str, lie: Callable[[], Lie]) -> Told:
            how = WAYS[way]
            leaving.close()
            (folder / "note.md").write_text(how.note)
            assert jackdaw("add", str(folder)).code == 0
            credentials.save(paths.link, Credentials(leaving.enter_context(lying(served, token, lie)), "token"))
            monkeypatch.setattr(Weighed, "decide", lambda *_: how.decision)
            start = time.monotonic()
            outcome = jackdaw("ask", "--fresh", "--json", *how.words)
            answer = json.loads(outcome.out)
            return Told(outcome.code, answer, time.monotonic() - start, answer["trace"]["decided"])

        yield asked


def instead(kind: type, *others: Any, after: int = 0) -> Callable[[], Lie]:
    """Return a lie that replaces messages of type `kind`, after the first `after`, by `others` with the same request
    and index.
    """

    def lie() -> Lie:
        seen = 0

        def say(said: Said) -> Iterable[Any]:
            nonlocal seen
            if not isinstance(said, kind):
                return (said,)
            seen += 1
            if seen <= after:
                return (said,)
            return [_like(said, other) for other in others]

        return say

    return lie


def _like(said: Said, other: Any) -> Any:
    if callable(other):
        return other(said)
    if not isinstance(other, Struct):
        return other
    same = {name: getattr(said, name) for name in ("request", "index") if hasattr(said, name) and hasattr(other, name)}
    return structs.replace(other, **same) if same else other


def tokens(*ids: int, text: str | None = None) -> m.Tokens:
    return m.Tokens(1, 0, ids, text)


def welcome(**changes: Any) -> Callable[[], Lie]:
    return instead(m.Welcome, lambda said: structs.replace(said, offer=structs.replace(said.offer, **changes)))


def trickle(said: m.Tokens) -> m.Tokens:
    time.sleep(0.4)
    return structs.replace(said, ids=said.ids[:1])


def trickling(kind: type[m.Sources | m.Tokens]) -> Callable[[], Lie]:
    """Return a lie that replaces each message of the given type by an endless series of rounds of retrieval."""

    def lie() -> Lie:
        def say(said: Said) -> Iterator[Said]:
            if not isinstance(said, kind):
                yield said
                return
            for number in range(1, m.MOST_ROUNDS + 1):
                time.sleep(0.2)
                yield _like(said, looked_up(number))

        return say

    return lie


def looked_up(number: int, request: int = 1, *queries: str) -> m.Round:
    return m.Round(request, number, "hyde", queries, (RIVERS,))


def round_in_version_1() -> Lie:
    def say(said: Said) -> Iterable[Any]:
        if isinstance(said, m.Welcome):
            return (structs.replace(said, version=1),)
        return (_like(said, looked_up(1)),) if isinstance(said, m.Tokens) else (said,)

    return say


def many(said: m.Sources) -> m.Sources:
    return structs.replace(said, passages=(RIVERS,) * 16)


END = m.Finished(1, "end", m.Usage(0, 0, 0, 0))
BIRDS = structs.replace(RIVERS, text="\U0001f426" * 2500)
BAD = 49_152

GENERATED: dict[str, tuple[Callable[[], Lie], str]] = {
    "a token outside the vocabulary": (instead(m.Tokens, tokens(BAD)), "outside its vocabulary"),
    "the largest token there is": (instead(m.Tokens, tokens(2**31 - 1)), "outside its vocabulary"),
    "such a token later": (instead(m.Tokens, tokens(BAD), after=2), "outside its vocabulary"),
    "more tokens than were granted": (instead(m.Tokens, tokens(*(b"x" * 512))), "beyond the granted"),
    "a wait of 2**31 ms": (instead(m.Queued, m.Queued(1, 2**31 - 1, 2**31 - 1), None), "first token is too late"),
    "a wait again and again": (
        instead(m.Queued, *(m.Queued(1, 1, 100) for _ in range(m.MOST_QUEUED + 1))),
        "queued more than 1000 times",
    ),
    "control characters alone": (instead(m.Tokens, tokens(*b"\x1b\x07\x1b\x00"), END, None), "no readable text"),
    "blanks without end": (
        instead(m.Tokens, lambda said: structs.replace(said, ids=(10,) * len(said.ids))),
        "no readable text",
    ),
    "no token": (instead(m.Tokens, END, None), "wrote nothing"),
    "a failure with a forged line": (
        instead(m.Tokens, m.Failed(1, "internal", "all is well\nServer: \x1b[31m\u202econnected"), None),
        "all is well Server: [31mconnected",
    ),
    "an answer nobody cancelled": (instead(m.Tokens, m.Finished(1, "cancelled", END.usage)), "nobody cancelled"),
    "text where there are tokens": (instead(m.Tokens, tokens(84, text="x" * 8192)), "carry text"),
    "silence before the first token": (instead(m.Tokens, None), "first token is too late"),
    "silence in the middle": (instead(m.Tokens, None, after=3), ""),
    "tokens that trickle": (instead(m.Tokens, trickle, None, after=0), ""),
    "an index that falls": (instead(m.Tokens, m.Sources(1, ()), after=1), "sources came twice"),
    "a welcome in the middle": (instead(m.Tokens, m.Welcome(1, "0" * 32, False, 0, OFFER), after=1), "second welcome"),
    "an event of nobody's": (instead(m.Tokens, lambda _: m.Failed(99, "busy", ""), after=1), "not open"),
    "a closing that asks for a day": (
        instead(m.Tokens, m.Closing(1013, "Full.\nAll is well.", 86_400.0), after=1),
        "",
    ),
    "no message": (instead(m.Tokens, b"\xc1", after=1), "no valid message"),
    "a joint answer's drafts": (
        instead(m.Tokens, m.Drafts(1, 0, 0, (1,)), after=1),
        "joint-answer message came before",
    ),
    "a pong to no ping": (instead(m.Tokens, m.Pong(77), after=1), "a pong without a ping"),
    "one token at most": (welcome(max_tokens=1), "writes 1 token at most"),
    "sources twice": (instead(m.Sources, m.Sources(1, (RIVERS,)), m.Sources(1, ())), "sources came twice"),
}

BEYOND = [21, 1, m.MOST_ROUNDS + 1, "hyde", [], []]
GENERATED |= {
    "a round out of order": (instead(m.Tokens, looked_up(2), after=1), "where 1 is next"),
    "a round of nobody's": (instead(m.Tokens, lambda _: looked_up(1, 99)), "not open"),
    "rounds without end": (instead(m.Tokens, *map(looked_up, range(1, m.MOST_ROUNDS + 1)), BEYOND), "no valid message"),
    "17 queries": (instead(m.Tokens, [21, 1, 1, "hyde", ["?"] * 17, []]), "no valid message"),
    "a long query": (instead(m.Tokens, [21, 1, 1, "hyde", ["?" * 513], []]), "no valid message"),
    "a pipeline that nobody knows": (instead(m.Tokens, [21, 1, 1, "magic", [], []]), "no valid message"),
    "a round in version 1": (round_in_version_1, "in protocol version 1"),
    "rounds that trickle": (trickling(m.Tokens), "first token is too late"),
}

FOUND: dict[str, tuple[Callable[[], Lie], str]] = {
    "16 passages for 1": (instead(m.Sources, many), "16 passages came where"),
    "tokens before sources": (instead(m.Sources, tokens(1)), "before their sources"),
    "silence": (instead(m.Sources, None), ""),
    "a failure without a word": (instead(m.Sources, m.Failed(1, "internal", "\u202e\x07")), ""),
    "silence from the first word on": (instead(m.Welcome, None), "has not answered yet"),
    "another version": (instead(m.Welcome, lambda said: structs.replace(said, version=9)), "version"),
    "a session of another": (
        instead(m.Welcome, lambda said: structs.replace(said, resumed=True)),
        "resumed",
    ),
    "it takes no questions": (welcome(receives=()), ""),
    "drafts alone": (welcome(receives=("drafts",)), ""),
    "events before any question": (lambda: lambda said: (said, m.Weight(1, None)), ""),
}

FOUND |= {
    "a round out of order": (instead(m.Sources, looked_up(2)), "round"),
    "a round behind the end": (instead(m.Sources, END, looked_up(1)), ""),
    "rounds, and then silence": (instead(m.Sources, looked_up(1), looked_up(2), None), ""),
    "rounds that trickle": (trickling(m.Sources), ""),
}

JOINT: dict[str, tuple[Callable[[], Lie], str]] = {
    "two weights": (instead(m.Weight, m.Weight(1, 1.0), m.Weight(1, 1.0)), "came twice"),
    "drafts outside the vocabulary": (instead(m.Drafts, lambda said: structs.replace(said, ids=(BAD,))), ""),
    "drafts of the far future": (instead(m.Drafts, m.Drafts(1, 8191, 8191, (1,))), "beyond the answer's length"),
    "targets outside the vocabulary": (instead(m.Drafts, m.Targets(1, 0, (BAD,))), ""),
    "a hand-over of nothing": (instead(m.Drafts, m.Switch(1, 8191, 8191, 8191)), ""),
    "silence": (instead(m.Drafts, None), "took too long"),
    "silence later": (instead(m.Drafts, None, after=3), "took too long"),
    "a failure": (instead(m.Drafts, m.Failed(1, "busy", "No.")), "no"),
    "an end at once": (instead(m.Drafts, END), "stopped writing"),
    "a round": (instead(m.Drafts, looked_up(1)), "or for a joint answer"),
    "one token at most": (welcome(max_tokens=1), "writes 1 token at most"),
}


def checked(reply: Told, why: str) -> None:
    """Check that there is an answer in time, and a line that names the server and says `why`."""
    assert reply.code == 0, reply
    assert reply.answer["answer"].strip()
    assert reply.seconds < 8, reply
    lines = [reason.lower() for reason in reply.reasons if "the server at 127.0.0.1:" in reason.lower()]
    assert any(why.lower() in line for line in lines), reply.reasons


@pytest.mark.long
@pytest.mark.parametrize("lie", GENERATED)
def test_whoever_lies_while_it_writes(asks: Asks, lie: str) -> None:
    reply = asks("generate", GENERATED[lie][0])
    checked(reply, GENERATED[lie][1])
    assert reply.answer["answer"].endswith(THERE[-10:])


@pytest.mark.long
@pytest.mark.parametrize("way", ["search", "together", "drawn together"])
@pytest.mark.parametrize("lie", FOUND)
def test_whoever_lies_while_it_searches(asks: Asks, way: str, lie: str) -> None:
    reply = asks(way, FOUND[lie][0])
    checked(reply, FOUND[lie][1])
    assert reply.answer["answer"] in WAYS[way].alone or way == "drawn together"


@pytest.mark.parametrize("way", ["together", "drawn together"])
@pytest.mark.parametrize("lie", JOINT)
def test_whoever_lies_while_both_write(asks: Asks, way: str, lie: str) -> None:
    reply = asks(way, JOINT[lie][0])
    if reply.reasons == [FORCED]:  # at temperature 0 the device may need none of its drafts
        assert (reply.code, reply.answer["answer"], way) == (0, TRIP, "together")
    else:
        checked(reply, JOINT[lie][1])


@pytest.mark.long
@pytest.mark.parametrize("lie", GENERATED)
def test_whoever_lies_when_an_answer_moves_there(asks: Asks, lie: str) -> None:
    reply = asks("moved", GENERATED[lie][0])
    assert (reply.code, reply.answer["answer"].endswith(THERE[-10:])) == (0, True), reply


@pytest.mark.long
@pytest.mark.parametrize("lie", FOUND)
def test_where_the_files_have_nothing_a_liar_brings_nothing(asks: Asks, lie: str) -> None:
    reply = asks("generate", FOUND[lie][0])
    assert (reply.code, reply.answer["found"]) == (3, False)
    lines = [reason.lower() for reason in reply.reasons if "the server at 127.0.0.1:" in reason.lower()]
    assert any(FOUND[lie][1].lower() in line for line in lines), reply.reasons


def test_passages_that_the_device_has_no_room_for_are_cut(asks: Asks) -> None:
    def lie() -> Lie:
        def say(said: Said) -> Iterable[Said]:
            if isinstance(said, m.Sources):
                return (structs.replace(said, passages=(BIRDS,)),)
            return (_like(said, tokens(BAD)) if isinstance(said, m.Tokens) else said,)

        return say

    reply = asks("generate", lie)
    checked(reply, "outside its vocabulary")
    assert set(reply.answer["answer"]) == {"\U0001f426"}


def test_what_was_looked_up_drives_no_terminal(asks: Asks, jackdaw: Any) -> None:
    query = "all is well\r\nServer: \x1b[2J\u202econnected\u2028"
    rounds = tuple(looked_up(number, 1, *(f"{query}{'x' * (512 - len(query))}",) * 16) for number in (1, 2))
    reply = asks("generate", instead(m.Sources, *rounds, lambda said: said))
    assert (reply.code, reply.answer["answer"]) == (0, THERE)
    harmless = f"all is well Server: [2Jconnected {'x' * (512 - len(query))}"
    assert reply.answer["trace"]["rounds"] == 2 * [{"pipeline": "hyde", "queries": [harmless] * 16, "passages": [0]}]
    shown = [line for line in jackdaw("why").out.splitlines() if "hyde" in line]
    assert len(shown) == 2
    assert all(line.endswith("13 more (1 passage)") for line in shown)


def test_a_liar_is_left_alone_for_a_while_by_every_process(asks: Asks, jackdaw: Any) -> None:
    checked(asks("search", FOUND["16 passages for 1"][0]), "16 passages came")
    again = json.loads(jackdaw("ask", "--fresh", "--json", BOTH).out)
    assert (again["answer"], again["egress"]["bytes"]) == (ROWED, 0)
    assert "16 passages came where 1 were asked for; the server is not asked for" in again["trace"]["decided"][-1]
    assert "the server is not asked for" in jackdaw("status").out
    assert "16 passages came" in jackdaw("ask", "--fresh", BOTH).out


@pytest.mark.parametrize("receives", [(), ("answer", "drafts")])
@pytest.mark.parametrize("way", ["search", "generate", "together"])
def test_what_a_server_does_not_receive_is_not_sent(asks: Asks, way: str, receives: tuple[str, ...]) -> None:
    assert asks(way, welcome(receives=receives)).answer["egress"] == {"bytes": 0, "items": []}


def test_a_name_forges_no_line_of_the_status(asks: Asks, jackdaw: Any) -> None:
    asks("search", welcome(model="fake\nServer: none\x1b[2J\u202e"))
    assert "It answers with fake Server: none[2J (" in jackdaw("status").out
    assert json.loads(jackdaw("status", "--json").out)["server"]["model"] == "fake Server: none[2J"


def wild(nth: int, seed: int) -> Callable[[], Lie]:
    """Return a lie that changes some fields of the server's `nth` message to extreme values."""

    def lie() -> Lie:
        chance, seen = Random(seed), iter(range(nth + 1))

        def say(said: Said) -> Iterable[Any]:
            if isinstance(said, m.Pong) or next(seen, nth + 1) != nth:
                return (said,)
            kind = inspect.type_info(type(said))
            assert isinstance(kind, inspect.StructType)
            held = msgspec.to_builtins(said, builtin_types=(bytes,))
            for place, part in enumerate(kind.fields, 1):
                if chance.random() < 0.4 and part.name != "request":
                    held[part.name if isinstance(held, dict) else place] = values.extreme(part.type, chance)
            return (json.dumps(held) if isinstance(held, dict) else held,)

        return say

    return lie


@pytest.mark.long
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(way=st.sampled_from(sorted(WAYS)), nth=st.integers(0, 12), seed=st.integers(0, 2**32))
def test_whatever_the_fields_hold_there_is_an_answer(asks: Asks, way: str, nth: int, seed: int) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    reply = asks(way, wild(nth, seed))
    # What both sides drew at random may be a guess, which is shown as none.
    nothing = (WAYS[way].note == DRILL and not reply.answer["found"]) or bool(reply.answer["guess"])
    assert reply.code == (3 if nothing else 0), reply
    assert reply.answer["answer"].strip()
    assert reply.seconds < 8, reply
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # kilobytes


@pytest.mark.parametrize("lie", ["control characters alone", "no token", "one token at most"])
def test_too_small_a_device_writes_nothing_in_the_place_of_a_liar(asks: Asks, lie: str) -> None:
    reply = asks("without files", GENERATED[lie][0])
    assert (reply.code, reply.answer["found"], reply.answer["model_only"]) == (3, False, True)
    assert GENERATED[lie][1] in reply.answer["answer"]


def test_a_wait_for_a_silent_server_is_learned_from(asks: Asks, paths: Paths) -> None:
    asks("drawn together", JOINT["silence"][0])
    waits = json.loads(paths.dispatch.read_text())["knowledge"]["server"]
    assert (waits["events"], sum(waits["censored"].values())) == ({}, 1.0)
