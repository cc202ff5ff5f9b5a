"""A fuzzing device's part of a connection: every message and field of the protocol, in mostly legal order, with mostly
unexpected values.

Messages are generated from their definitions (`FromDevice`), so that new messages and fields are included
automatically. They are determined by the seed alone, except for the acknowledged event numbers, which the server
chooses. A local session predicts which frames the server's session refuses: most of these are left out, as each ends
the connection and would so hide later code.
"""

import typing
from collections.abc import Sequence
from contextlib import suppress
from random import Random
from typing import Any

import msgspec
from msgspec import inspect

from scripts.fuzzing.frames import KINDS, Utterance, as_binary, as_text, damaged, kind_of
from scripts.fuzzing.values import extreme, impossible, ordinary
from shared.aggregation.distribution import encode, quantise
from shared.errors import ProtocolError
from shared.protocol import codec
from shared.protocol import messages as m
from shared.protocol.codec import Frame
from shared.protocol.server import ServerSession
from shared.protocol.session import SessionState

WEIGHTS = {m.Hello: 0.05, m.Closing: 0.02, m.Ping: 0.3, m.Cancel: 0.5, m.Ask: 1.5, m.Start: 2.0, m.Switch: 0.2}
"""The relative frequencies of messages, if other than 1: these messages begin or end a session or a request."""

WILD, IMPOSSIBLE, DAMAGED = 0.25, 0.06, 0.004
"""The share of messages with extreme values, the share of impossible values among those, and the share of damaged
frames.
"""

FATAL = 0.1
"""The share of session-ending frames that are sent, although they end the session."""

BEYOND_STARTED, BEYOND_JOINT = 0.2, 0.02
"""The shares of otherwise legal messages that get a token id beyond the vocabulary: of messages that hand an answer
over, and of messages about joint answers, where the id ends the session.
"""

MOST_ALIVE = 4
"""The most uncancelled requests of a conversation; with that many, the device asks no more."""

ORDERING = ("request", "seq", "number")
"""The fields whose values depend on the order of messages: almost any wrong value ends the session."""

JOINT = frozenset(typing.get_args(m.JointFromDevice))
PLACES: dict[m.Rule, tuple[m.Place, ...]] = {
    "coupled": ("both", "device", "server"),
    "algorithm1": ("both", "device"),
    "greedy": ("device",),
}
"""The sides (device or server) that may be the first to decide the answer's final tokens, by the rule of a joint
answer.
"""


class Conversation:
    """A device's part of a conversation, over several connections if it resumes.

    `vocabulary` is the number of the model's tokens, `offer` the server's offer.
    """

    def __init__(self, seed: str, vocabulary: int, offer: m.Offer) -> None:
        self.seed, self.pinged = seed, 0
        self._chance = Random(seed)
        self._vocabulary, self._offer = vocabulary, offer
        self._session = self._new_session()
        self._asked = 0
        self._alive: dict[int, dict[str, Any]] = {}  # by number: the fields of the Ask
        self._weights = [WEIGHTS.get(kind.cls, 1.0) for kind in KINDS]

    @property
    def by_text(self) -> bool:
        """Whether answers are handed over as text in this session."""
        return self._session.handover == "text"

    def hello(self, resume: m.Resume | None = None) -> Utterance:
        """Return the first frame of a connection, usually one that the server accepts."""
        by_text = self.by_text if resume else self._chance.random() < 0.1
        versions = self._session.version if resume else self._chance.choice(m.VERSIONS)
        given: dict[str, Any] = {"versions": [versions], "embedder": self._offer.embedder}
        given |= {"vocabulary": "another" if by_text else self._offer.vocabulary}
        given |= {"resume": None if resume is None else msgspec.to_builtins(resume)}
        self.pinged = 0
        made = self._utterance(kind_of(m.Hello), given, wild=self._chance.random() < 0.05)
        legal = False
        with suppress(ProtocolError):
            hello = codec.from_device(made.frame)
            assert isinstance(hello, m.Hello)
            if resume is None:
                self._session = self._new_session()
            self._session.cut()
            self._session.accept(msgspec.structs.replace(hello, resume=m.Resume(self._session.id, 0)))
            legal = True
        return Utterance(made.name, made.frame, made.extremes, legal)

    def not_resumed(self) -> None:
        """Record that the server began a new session, which knows none of the earlier requests."""
        before, self._session = self._session, self._new_session()
        words = "another" if before.handover == "text" else self._offer.vocabulary
        self._session.accept(m.Hello((before.version,), words, self._offer.embedder, ""))
        self._alive.clear()

    def ping(self) -> Frame:
        """Return a legal ping."""
        self.pinged += 1
        return msgspec.msgpack.encode(m.Ping(self.pinged))

    def resumes(self) -> bool:
        """Return whether the device reconnects after the server has cut its connection."""
        return self._chance.random() < 0.3

    def next(self, acknowledged: int, last_seq: int) -> Utterance:
        """Return the next frame; `last_seq` is the last received event, `acknowledged` the last acknowledged one."""
        while True:
            fit = [weight * self._fits(kind, last_seq) for kind, weight in zip(KINDS, self._weights, strict=True)]
            kind = self._chance.choices(KINDS, fit)[0]
            given, foreign = self._ordered(kind, last_seq)
            made = self._utterance(kind, given, wild=self._chance.random() < WILD and not foreign)
            frame = damaged(made.frame, self._chance) if self._chance.random() < DAMAGED else made.frame
            legal = self._legal(frame, acknowledged, last_seq) and not (foreign and kind.cls in JOINT)
            if legal or foreign or self._chance.random() < FATAL:
                self._note(kind, given)
                return Utterance(made.name, frame, made.extremes, legal)

    def _new_session(self) -> ServerSession:
        """Return a local session that accepts every frame that the server's session accepts. It allows more requests,
        because it does not learn when a request ends.
        """
        return ServerSession("of-nobody-at-all", msgspec.structs.replace(self._offer, requests=m.MOST_REQUESTS))

    def _legal(self, frame: Frame, acknowledged: int, last_seq: int) -> bool:
        """Return whether the server's session would continue after the frame."""
        try:
            match codec.from_device(frame):
                case m.Acknowledge(seq):  # of events that the local session has not sent
                    return acknowledged <= seq <= last_seq
                case m.Ping(number):  # after a higher number, no other ping could follow
                    return number == self.pinged
                case m.Closing():
                    return False
            self._session.receive(frame)
        except ProtocolError:
            self._session.state = SessionState.OPEN  # the frame may be left out
            return False
        return True

    def _note(self, kind: inspect.StructType, given: dict[str, Any]) -> None:
        """Record the request that a frame begins."""
        number = given.get("request", 0)
        if kind.cls is m.Ask:
            self._alive[number] = given
        elif kind.cls is m.Cancel:
            self._alive.pop(number, None)
        elif kind.cls is m.Start and number in self._alive:
            self._alive[number] |= {"generate": True}
        elif kind.cls in (m.Weight, m.FollowingWeight) and number in self._alive:
            self._alive[number] |= {"weighed": True}

    def _utterance(self, kind: inspect.StructType, given: dict[str, Any], *, wild: bool) -> Utterance:
        name = kind.cls.__name__
        spoken = kind.fields[:-1] if kind.cls is m.Ask and self._session.version == 1 else kind.fields
        values = {field.name: self._value(field, given) for field in spoken}
        chosen = self._chosen(spoken) if wild else ()
        for field in chosen:
            possible = self._chance.random() >= IMPOSSIBLE
            values[field.name] = (extreme if possible else impossible)(field.type, self._chance)
        if kind.array_like:
            frame: Frame = as_binary(kind, list(values.values()))
        else:
            frame = as_text(kind, {field.encode_name: values[field.name] for field in kind.fields})
        return Utterance(name, frame, tuple(f"{name}.{field.name}" for field in chosen))

    def _fits(self, kind: inspect.StructType, last_seq: int) -> bool:
        """Return whether the message may be sent now."""
        if kind.cls is m.Ask:
            return len(self._alive) < MOST_ALIVE
        if kind.cls is m.Acknowledge:
            return last_seq > 0
        return bool(self._numbers(kind)) or not any(field.name == "request" for field in kind.fields)

    def _chosen(self, fields: Sequence[inspect.Field]) -> Sequence[inspect.Field]:
        """Choose one or two fields for extreme values; fields that depend on the order of messages less often, as they
        end the session.
        """
        rarely = [field for field in fields if field.name not in ORDERING or self._chance.random() < 0.2]
        return self._chance.sample(rarely, min(self._chance.choice((1, 1, 2)), len(rarely)))

    def _value(self, field: inspect.Field, given: dict[str, Any]) -> Any:
        """Return the given value or, in most cases, the field's default if it has one."""
        if field.name in given:
            return given[field.name]
        if not field.required and self._chance.random() < 0.95:
            return msgspec.to_builtins(field.default, builtin_types=(bytes,))
        return ordinary(field.type, self._chance)

    def _ordered(self, kind: inspect.StructType, last_seq: int) -> tuple[dict[str, Any], bool]:
        """Return values for fields that depend on the order of messages, or that are needed to reach deep code; and
        whether a token id in an otherwise legal message is beyond the vocabulary.
        """
        chance = self._chance
        if kind.cls is m.Ask:
            return self._ask()
        given: dict[str, Any] = {"seq": max(last_seq, 1)}
        if kind.cls is m.Ping:
            self.pinged += 1
            given["number"] = self.pinged
        number = chance.choice(self._numbers(kind) or list(self._alive) or [1])
        given["request"] = number
        ask = self._alive.get(number, {})
        foreign = False
        if kind.cls is m.Start:
            given["credit"] = chance.choice((0, 3, 64))
            handed_over, foreign = self._handed_over(ask.get("max_tokens", 1))
            given |= handed_over
        if kind.cls in JOINT:
            most = ask.get("max_tokens", 1)
            place = min(chance.choice((0, 0, 0, 1, chance.randint(0, 40))), most - 1)
            given |= {"position": place, "epoch": chance.choice((0, place)), "mine": 0, "yours": 0}
            given |= {"log_h": float(number % 5), "count": chance.choice((1, 2, 40, self._vocabulary))}
            count = min(ask.get("ahead", 1), 3, most - place)
            # If repeated, a settled token is the same.
            given["ids"] = self._tokens(count) if kind.cls is m.Drafts else list(range(place, place + count))
            foreign = kind.cls in (m.Drafts, m.Targets) and chance.random() < BEYOND_JOINT
            if foreign:
                self._put_beyond(given["ids"])
            given |= {"every": 4, "log_odds": float(number % 5)}
            if kind.cls is m.Reweight:
                given["position"] = min(4 * place, most - 1)
            given["distributions"] = []
            if ask.get("rule") == "algorithm1":
                given["distributions"] = [encode(quantise([token], [1.0])) for token in given["ids"]]
        return given, foreign

    def _ask(self) -> tuple[dict[str, Any], bool]:
        """Return the fields of an Ask that the server can answer: by itself, by a search alone, or jointly."""
        chance = self._chance
        self._asked += 1
        ask: dict[str, Any] = {"request": self._asked, "generate": True, "passages": chance.randint(0, 3)}
        ask |= {"max_tokens": chance.randint(1, 64), "credit": chance.choice((0, 3, 64))}
        ask |= {"rule": "coupled", "place": "both", "ahead": 0, "rows": 1, "accepted": [], "accepted_text": ""}
        foreign = False
        match chance.randrange(5):
            case 0:
                ask["generate"] = False
            case 1:
                handed_over, foreign = self._handed_over(ask["max_tokens"])
                ask |= handed_over
            case 2 | 3 if not self.by_text:
                rule = chance.choice(tuple(PLACES))
                ask |= {"rule": rule, "place": chance.choice(PLACES[rule])}
                ask |= {"ahead": chance.randint(1, 8), "rows": chance.randint(1, 4), "passages": 3, "sources": []}
                ask |= {"sampling": ordinary(inspect.type_info(m.Sampling), chance)} if rule != "greedy" else {}
        return ask, foreign

    def _handed_over(self, max_tokens: int) -> tuple[dict[str, Any], bool]:
        """Return an answer to continue, shorter than `max_tokens`, and whether it has a token beyond the vocabulary."""
        if self.by_text:
            return {"accepted": [], "accepted_text": "The Danube flows"}, False
        accepted = self._tokens(self._chance.randint(0, min(max_tokens - 1, 9)))
        foreign = bool(accepted) and self._chance.random() < BEYOND_STARTED
        if foreign:
            self._put_beyond(accepted)
        return {"accepted": accepted, "accepted_text": ""}, foreign

    def _tokens(self, count: int) -> list[int]:
        return [self._chance.randrange(self._vocabulary) for _ in range(count)]

    def _put_beyond(self, tokens: list[int]) -> None:
        """Replace one token by an id at the end of the vocabulary, or far beyond."""
        place = self._chance.randrange(len(tokens))
        tokens[place] = self._chance.choice((self._vocabulary, self._vocabulary + 1, 2**31 - 1))

    def _numbers(self, kind: inspect.StructType) -> list[int]:
        """Return the numbers of the requests to which the message may refer."""
        if kind.cls in JOINT:
            rules = ("coupled", "algorithm1") if kind.cls in (m.Drafts, m.Switch, m.RoundTrip) else ("greedy",)
            some = m.Drafts, m.Switch, m.RoundTrip, m.Fetch
            fitting = rules if kind.cls in some else ("coupled", "algorithm1", "greedy")
            joint = [number for number, ask in self._alive.items() if ask["ahead"] and ask["rule"] in fitting]
            if kind.cls in (m.Weight, m.FollowingWeight):
                return [number for number in joint if "weighed" not in self._alive[number]]
            settles = kind.cls in (m.Targets, m.Switch, m.RoundTrip)
            return [number for number in joint if not settles or self._alive[number]["place"] == "device"]
        if kind.cls is m.Start:
            return [number for number, ask in self._alive.items() if not ask["generate"]]
        return list(self._alive)
