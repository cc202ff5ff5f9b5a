"""The fuzzer of a running server: it sends every message and field, the same for a seed, and detects planted errors."""

import logging
import os
import re
import threading
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from http import HTTPStatus
from random import Random

import pytest
from msgspec import Struct, inspect
from msgspec.structs import replace
from websockets.asyncio.server import ServerConnection
from websockets.http11 import Request, Response

from cloud_server.monitoring.load import Load
from cloud_server.monitoring.metrics import Metrics
from cloud_server.pipelines.answering import Answering
from cloud_server.serving.server import CompanionServer
from models.fake import VOCABULARY
from scripts.fuzzing import campaign
from scripts.fuzzing import conversation as conversation_module
from scripts.fuzzing.campaign import fuzz
from scripts.fuzzing.conversation import Conversation
from scripts.fuzzing.frames import KINDS, as_binary, as_text
from scripts.fuzzing.served import QUESTIONS
from scripts.fuzzing.values import extreme, impossible, ordinary
from shared.errors import ExitCode, ProtocolError
from shared.protocol import codec
from shared.protocol import messages as m
from shared.protocol.server import ServerSession

FRAMES, SEED = 4000, 1


OFFER = m.Offer("fake", "fake", "fake", 4096, 16, 1024, 2.0, follows_text=True)


def talk(seed: str = "0:0") -> Conversation:
    return Conversation(seed, VOCABULARY, OFFER)


def greeted(seed: str = "0:0") -> Conversation:
    conversation = talk(seed)
    while not conversation.hello().legal:
        pass
    return conversation


def test_every_message_and_field_is_said_with_extreme_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversation_module, "FATAL", 1.0)  # so that few frames show it
    extremes: set[str] = set()
    for number in range(400):
        conversation = talk(f"0:{number}")
        extremes.update(conversation.hello().extremes)
        for _ in range(96):
            extremes.update(conversation.next(0, 1).extremes)
    assert extremes == {f"{kind.cls.__name__}.{field.name}" for kind in KINDS for field in kind.fields}


def test_a_new_message_is_said_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    class Shrug(Struct, frozen=True, array_like=True, tag=99):
        request: m.RequestNumber
        how: m.Name | None

    new = inspect.type_info(Shrug)
    assert isinstance(new, inspect.StructType)
    monkeypatch.setattr(conversation_module, "KINDS", (*KINDS, new))
    shrugging = greeted()
    assert "Shrug" in {shrugging.next(0, 1).name for _ in range(500)}


def test_the_same_seed_says_the_same() -> None:
    def frames(seed: str) -> list[object]:
        conversation = talk(seed)
        return [conversation.hello(), *(conversation.next(5, 5) for _ in range(200))]

    assert frames("3:7") == frames("3:7") != frames("3:8")


def test_most_frames_are_legal_and_the_others_do_not_end_what_is_asked() -> None:
    legal: Counter[bool] = Counter()
    for number in range(20):
        conversation = greeted(f"0:{number}")
        legal.update(conversation.next(0, 40).legal for _ in range(200))
    assert 0.01 < legal[False] / legal.total() < 0.1


def test_what_is_called_legal_is_taken_by_a_session() -> None:
    for number in range(20):
        session = ServerSession("of-nobody-at-all", OFFER)
        conversation = talk(f"0:{number}")
        hello = conversation.hello()
        if not hello.legal:
            continue
        first = codec.from_device(hello.frame)
        assert isinstance(first, m.Hello)
        session.accept(first)
        for _ in range(40):
            said = conversation.next(0, 0)
            if not said.legal:
                break
            session.receive(said.frame)


def test_ids_beyond_the_vocabulary_are_said_in_messages_that_are_legal_but_for_them() -> None:
    beyond: Counter[str] = Counter()
    for number in range(50):
        conversation = greeted(f"0:{number}")
        for _ in range(100):
            said = conversation.next(0, 0)
            if said.extremes or not isinstance(said.frame, bytes):
                continue
            with suppress(ProtocolError):
                message = codec.from_device(said.frame)
                ids = getattr(message, "accepted", getattr(message, "ids", ()))
                beyond[said.name] += max(ids, default=0) >= VOCABULARY
    assert all(beyond[name] > 3 for name in ("Ask", "Start", "Drafts", "Targets")), beyond


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.cls.__name__)
def test_values_are_within_the_bounds_or_beyond_them_as_is_meant(kind: inspect.StructType) -> None:
    chance, refused = Random(0), 0
    for number in range(400):
        make = (ordinary, extreme, impossible)[number % 3]
        values = make(kind, chance)
        if isinstance(values, dict):
            values |= {"versions": list(m.VERSIONS)} if kind.cls is m.Hello else {}
            frame: bytes | str = as_text(kind, values)
        else:
            frame = as_binary(kind, values) if isinstance(values, list) else b"\xc1"
        try:
            codec.from_device(frame)
        except ProtocolError:
            assert make is impossible
            refused += 1
    assert refused > 60


@pytest.mark.long
def test_a_server_survives_some_thousand_frames() -> None:
    figures = fuzz("fake", FRAMES, SEED)["figures"]
    assert figures["wrong"] == []
    assert figures["frames"] >= FRAMES
    assert figures["honest_answers"] == 4
    assert figures["readyz_200"] > 0
    assert {"4000", "4001", "4003"} <= {*figures["connections_closed_by_code"]}
    assert figures["requests_ended"]["finished"] > 100
    assert figures["requests_ended"]["invalid"] > 10
    assert figures["resumed"] > 0
    for name in ("Ask", "Start", "Credit", "Acknowledge", "Drafts", "Targets", "Fetch"):
        assert figures["legal_frames_by_message"][name] > 20, name


def knows_every_token(_server: CompanionServer) -> None:
    Answering.knows = lambda *_: True  # type: ignore[method-assign]


def writes_an_error(_server: CompanionServer) -> None:
    threading.Timer(1.0, logging.getLogger("spoiled").error, ("spoiled",)).start()


def ends_badly(server: CompanionServer) -> None:
    def end() -> None:
        server.lost = "what was spoiled"
        server.ending.set()

    server.end = end  # type: ignore[method-assign]


def ends_early(_server: CompanionServer) -> None:
    threading.Timer(1.0, os._exit, (ExitCode.FAILED,)).start()


def is_not_ready(server: CompanionServer) -> None:
    probe = server._probe

    def spoiled(connection: ServerConnection, request: Request) -> Response | Awaitable[None]:
        if request.path == "/readyz":
            return connection.respond(HTTPStatus.SERVICE_UNAVAILABLE, "not ready\n")
        return probe(connection, request)

    server._probe = spoiled  # type: ignore[method-assign]


def stays_busy(server: CompanionServer) -> None:
    server.metrics = Metrics(lambda: Load(writing=1), lambda: 0)


def greets_in_no_language(_server: CompanionServer) -> None:
    ServerSession.accept = lambda *_: [b"\xff"]  # type: ignore[method-assign]


def counts_wrongly(_server: CompanionServer) -> None:
    real = ServerSession.send

    def send(self: ServerSession, message: m.Event | m.Goaway | m.Closing) -> list[codec.Frame]:
        frames = real(self, message)
        if not (frames and isinstance(message, m.Tokens)):
            return frames
        return [codec.server_frame(m.Numbered(self._sent, replace(message, index=message.index + 1)))]

    ServerSession.send = send  # type: ignore[method-assign]


@pytest.mark.long
@pytest.mark.parametrize(
    ("spoil", "frames", "wrong"),
    [
        (knows_every_token, FRAMES, "An error in the server's log: .*an answer failed with an error"),
        pytest.param(writes_an_error, FRAMES, "An error in the server's log: .*spoiled", marks=pytest.mark.long),
        (ends_badly, 200, "The server ended with exit code 70"),
        pytest.param(
            ends_early, FRAMES, "The server ended with exit code 1|/readyz: 0 not there|Error", marks=pytest.mark.long
        ),
        (is_not_ready, FRAMES, "/readyz: 503 not ready"),
        (stays_busy, 200, "The server still generates or counts connections"),
        pytest.param(greets_in_no_language, 200, "ProtocolError: A frame holds no valid", marks=pytest.mark.long),
        (counts_wrongly, FRAMES, "ProtocolError: Tokens came at index 1 where 0 is next"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_server_that_fails_is_found_out(
    spoil: Callable[[CompanionServer], None], frames: int, wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(campaign, "IDLE_S", 2.0)
    figures = fuzz("fake", frames, SEED, f"{__name__}:{spoil.__name__}")["figures"]
    assert any(re.search(wrong, figure) for figure in figures["wrong"]), figures["wrong"]
    assert "last_frames" in figures


@pytest.mark.long
def test_a_wrong_answer_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(QUESTIONS, "fake", (QUESTIONS["fake"][0], "Another answer."))
    figures = fuzz("fake", 1500, SEED)["figures"]
    assert "An honest device was answered" in figures["wrong"][0]
    assert figures["last_frames"]
