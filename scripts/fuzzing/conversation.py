"""What a device says on one connection: every message and every field of the protocol, in an order that is mostly
legal, with values that mostly are not what the server expects.

Made from the message definitions (`FromDevice`): a new message or field is said without a change here. Decided by the
seed alone, but for the numbers of events to acknowledge, which the server chooses.
"""

import json
import typing
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import msgspec
from msgspec import inspect

from scripts.fuzzing.values import extreme, impossible, ordinary
from shared.aggregation.distribution import encode, quantise
from shared.protocol import messages as m
from shared.protocol.codec import Frame

KINDS: tuple[inspect.StructType, ...] = tuple(
    kind for kind in map(inspect.type_info, typing.get_args(m.FromDevice)) if isinstance(kind, inspect.StructType)
)
RARE = {m.Hello: 0.02, m.Closing: 0.02, m.Acknowledge: 0.2, m.Ask: 1.5}
"""How often a message is said, where not as often as any other: these end a session, or are much work."""

WILD, IMPOSSIBLE, DAMAGED = 0.25, 0.06, 0.004
"""Shares: of messages with extreme values; of such values, those that no message may hold; of frames cut or altered."""

MOST_ALIVE = 4
"""Requests of a conversation that are not cancelled, beyond which it asks no other."""

ORDERING = ("request", "seq", "number")
"""Fields with which nearly every other value ends the session."""

JOINT = frozenset(typing.get_args(m.JointFromDevice))
TOGETHER = (
    ("coupled", "both"),
    ("coupled", "device"),
    ("coupled", "server"),
    ("algorithm1", "both"),
    ("algorithm1", "device"),
    ("greedy", "device"),
)


class Conversation:
    """One. `vocabulary` is the number of the model's tokens, the fingerprints what the server's are."""

    def __init__(self, seed: str, vocabulary: int, words: str, embedder: str) -> None:
        self.seed, self.by_text, self.pinged = seed, False, 0
        self.said: dict[str, int] = {}
        """How often each field had an extreme value, by message and name."""
        self._chance = Random(seed)
        self._vocabulary, self._words, self._embedder = vocabulary, words, embedder
        self._asked = 0
        self._alive: dict[int, dict[str, Any]] = {}  # what was asked, by number
        self._weights = [RARE.get(kind.cls, 1.0) for kind in KINDS]

    def hello(self, resume: m.Resume | None = None) -> Frame:
        """The first frame, mostly one that is welcomed."""
        given: dict[str, Any] = {"versions": [m.VERSION], "vocabulary": self._words, "embedder": self._embedder}
        given |= {"resume": None if resume is None else msgspec.to_builtins(resume)}
        if resume is None:
            self.by_text = self._chance.random() < 0.1
        if self.by_text:
            given["vocabulary"] = "another"
        self.pinged = 0
        return self._frame(_kind(m.Hello), given, wild=self._chance.random() < 0.05)

    def ping(self) -> Frame:
        """One that is legal."""
        self.pinged += 1
        return msgspec.msgpack.encode(m.Ping(self.pinged))

    def resumes(self) -> bool:
        """Whether the device comes back once it was cut."""
        return self._chance.random() < 0.3

    def next(self, last_seq: int) -> tuple[str, Frame]:
        """What is said next, by the message's name; `last_seq` is the last event that came."""
        fit = [weight * self._fits(kind) for kind, weight in zip(KINDS, self._weights, strict=True)]
        kind = self._chance.choices(KINDS, fit)[0]
        given = self._ordered(kind, last_seq)
        frame = self._frame(kind, given, wild=self._chance.random() < WILD)
        return kind.cls.__name__, self._damaged(frame) if self._chance.random() < DAMAGED else frame

    def _frame(self, kind: inspect.StructType, given: dict[str, Any], *, wild: bool) -> Frame:
        values = {field.name: self._value(field, given) for field in kind.fields}
        for field in self._chosen(kind.fields) if wild else ():
            name = f"{kind.cls.__name__}.{field.name}"
            self.said[name] = self.said.get(name, 0) + 1
            possible = self._chance.random() >= IMPOSSIBLE
            values[field.name] = (extreme if possible else impossible)(field.type, self._chance)
        if kind.array_like:
            return as_binary(kind, list(values.values()))
        return as_text(kind, {field.encode_name: values[field.name] for field in kind.fields})

    def _fits(self, kind: inspect.StructType) -> bool:
        """Whether the message may be said now."""
        if kind.cls is m.Ask:
            return len(self._alive) < MOST_ALIVE
        return bool(self._numbers(kind)) or not any(field.name == "request" for field in kind.fields)

    def _chosen(self, fields: Sequence[inspect.Field]) -> Sequence[inspect.Field]:
        """One or two that get extreme values; of the numbers that order everything fewer, or little else is reached."""
        rarely = [field for field in fields if field.name not in ORDERING or self._chance.random() < 0.2]
        return self._chance.sample(rarely, min(self._chance.choice((1, 1, 2)), len(rarely)))

    def _value(self, field: inspect.Field, given: dict[str, Any]) -> Any:
        """What is given, else mostly the default, where there is one."""
        if field.name in given:
            return given[field.name]
        if not field.required and self._chance.random() < 0.95:
            return msgspec.to_builtins(field.default, builtin_types=(bytes,))
        return ordinary(field.type, self._chance)

    def _ordered(self, kind: inspect.StructType, last_seq: int) -> dict[str, Any]:
        """Values of the fields that the order of messages decides, or without which little would be reached."""
        chance = self._chance
        if kind.cls is m.Ask:
            return self._ask()
        given: dict[str, Any] = {"seq": max(last_seq, 1)}
        if kind.cls is m.Ping:
            self.pinged += 1
            given["number"] = self.pinged
        number = chance.choice(self._numbers(kind) or list(self._alive) or [1])
        given["request"] = number
        if kind.cls is m.Cancel and number in self._alive:
            del self._alive[number]
        if kind.cls is m.Start and number in self._alive:
            self._alive[number] = self._alive[number] | {"generate": True}
        asked = self._alive.get(number, {})
        if kind.cls in JOINT:
            place = chance.choice((0, 0, 0, 1, chance.randint(0, 40)))
            given |= {"position": place, "epoch": chance.choice((0, place)), "mine": 0, "yours": 0}
            given["ids"] = [chance.randrange(self._vocabulary) for _ in range(min(asked.get("ahead", 1), 3))]
            given["distributions"] = []
            if asked.get("rule") == "algorithm1":
                given["distributions"] = [encode(quantise([token], [1.0])) for token in given["ids"]]
        return given

    def _ask(self) -> dict[str, Any]:
        """One that is answered: of one side, a search alone, or written together."""
        chance = self._chance
        self._asked += 1
        asked: dict[str, Any] = {"request": self._asked, "generate": True, "passages": chance.randint(0, 3)}
        asked |= {"max_tokens": chance.randint(1, 64), "credit": chance.choice((0, 3, 64))}
        asked |= {"rule": "coupled", "place": "both", "ahead": 0, "rows": 1, "accepted": [], "accepted_text": ""}
        match chance.randrange(4):
            case 0:
                asked["generate"] = False
            case 1 if self.by_text:
                asked["accepted_text"] = "The Danube flows"
            case 1:
                asked["max_tokens"] = 64
                asked["accepted"] = [chance.randrange(self._vocabulary) for _ in range(chance.randint(0, 9))]
            case 2 if not self.by_text:
                rule, place = chance.choice(TOGETHER)
                asked |= {"rule": rule, "place": place, "ahead": chance.randint(1, 8), "rows": chance.randint(1, 4)}
                asked |= {"passages": 3, "sources": []}
                asked |= {"sampling": ordinary(inspect.type_info(m.Sampling), chance)} if rule != "greedy" else {}
        self._alive[self._asked] = asked
        return asked

    def _numbers(self, kind: inspect.StructType) -> list[int]:
        """Requests that the message may be about."""
        if kind.cls in JOINT:
            rules = ("coupled", "algorithm1") if kind.cls in (m.Drafts, m.Switch) else ("greedy",)
            wanted = rules if kind.cls in (m.Drafts, m.Switch, m.Fetch) else ("coupled", "algorithm1", "greedy")
            joint = [number for number, asked in self._alive.items() if asked["ahead"] and asked["rule"] in wanted]
            settles = kind.cls in (m.Targets, m.Switch)
            return [number for number in joint if not (settles and self._alive[number]["place"] == "both")]
        if kind.cls is m.Start:
            return [number for number, asked in self._alive.items() if not asked["generate"]]
        return list(self._alive)

    def _damaged(self, frame: Frame) -> Frame:
        """The frame cut short, with a byte changed, or with something behind it."""
        data = bytearray(frame if isinstance(frame, bytes) else frame.encode())
        match self._chance.randrange(3):
            case 0:
                del data[self._chance.randrange(len(data)) :]
            case 1:
                data[self._chance.randrange(len(data))] = self._chance.randrange(256)
            case _:
                data += self._chance.randbytes(3)
        return bytes(data) if isinstance(frame, bytes) else data.decode("utf-8", "replace")


def as_binary(kind: inspect.StructType, values: Sequence[Any]) -> bytes:
    """The frame of a message with these fields, whatever they are."""
    return msgspec.msgpack.encode([kind.tag, *values])


def as_text(kind: inspect.StructType, values: Mapping[str, Any]) -> str:
    """The same for the messages that are JSON, numbers that JSON does not have among them."""
    return json.dumps({str(kind.tag_field): kind.tag, **values}, default=repr)


def _kind(message: type) -> inspect.StructType:
    return next(kind for kind in KINDS if kind.cls is message)
