"""The fuzzer of a server that runs: it says every message and field, the same for a seed, and finds what is there."""

from collections import Counter
from random import Random

import pytest
from msgspec import Struct, inspect

from scripts.fuzzing import conversation
from scripts.fuzzing.campaign import fuzz
from scripts.fuzzing.conversation import KINDS, Conversation
from scripts.fuzzing.served import QUESTIONS
from scripts.fuzzing.values import extreme, impossible, ordinary
from shared.errors import ProtocolError
from shared.protocol import codec
from shared.protocol import messages as m


def talk(seed: str = "0:0") -> Conversation:
    return Conversation(seed, 258, "fake", "fake")


def test_every_message_and_field_is_said_with_extreme_values() -> None:
    said: Counter[str] = Counter()
    for number in range(500):
        one = talk(f"0:{number}")
        one.hello()
        for _ in range(96):
            one.next(1)
        said.update(one.said)
    assert {*said} == {f"{kind.cls.__name__}.{field.name}" for kind in KINDS for field in kind.fields}


def test_a_new_message_is_said_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    class Shrug(Struct, frozen=True, array_like=True, tag=99):
        request: m.RequestNumber
        how: m.Name | None

    new = inspect.type_info(Shrug)
    assert isinstance(new, inspect.StructType)
    monkeypatch.setattr(conversation, "KINDS", (*KINDS, new))
    one = talk()
    assert "Shrug" in {one.next(1)[0] for _ in range(500)}


def test_the_same_seed_says_the_same() -> None:
    def frames(seed: str) -> list[object]:
        one = talk(seed)
        return [one.hello(), *(one.next(5) for _ in range(200))]

    assert frames("3:7") == frames("3:7") != frames("3:8")


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.cls.__name__)
def test_values_are_within_the_bounds_or_beyond_them_as_is_meant(kind: inspect.StructType) -> None:
    chance, refused = Random(0), 0
    for number in range(400):
        make = (ordinary, extreme, impossible)[number % 3]
        values = make(kind, chance)
        if isinstance(values, dict):
            values |= {"versions": [m.VERSION]} if kind.cls is m.Hello else {}
            frame: bytes | str = conversation.as_text(kind, values)
        else:
            frame = conversation.as_binary(kind, values) if isinstance(values, list) else b"\xc1"
        try:
            codec.from_device(frame)
        except ProtocolError:
            assert make is impossible
            refused += 1
    assert refused > 60


def test_a_server_survives_some_thousand_frames() -> None:
    told = fuzz("fake", 4000, seed=1)["figures"]
    assert told["wrong"] == []
    assert told["frames"] >= 4000
    assert told["honest_answers"] == 4
    assert told["readyz_200"] > 0
    assert {"4000", "4001", "4003"} <= {*told["connections_closed_by_code"]}
    assert told["requests_ended"]["finished"] > 100


def test_a_server_that_fails_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(QUESTIONS, "fake", (QUESTIONS["fake"][0], "Another answer."))
    told = fuzz("fake", 1500, seed=1)["figures"]
    assert "An honest device was answered" in told["wrong"][0]
    assert told["last_frames"]
