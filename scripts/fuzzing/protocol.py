"""The link against hostile bytes: one side is ours and behaves; the other says whatever the bytes make of it."""

from contextlib import suppress

import msgspec

from scripts import protocol_page
from shared.errors import ProtocolError
from shared.protocol import codec
from shared.protocol import messages as m
from shared.protocol.codec import Frame
from shared.protocol.device import DeviceSession
from shared.protocol.server import MOST_KEPT_BYTES, MOST_KEPT_EVENTS, ServerSession
from shared.protocol.session import State

SESSION = "a-name-nobody-guesses"
OFFER = m.Offer("model", "words", "embedder", 2048, 3, 64, 60.0)
HELLO = m.Hello((m.VERSION,), "words", "embedder", "fuzzed")
USAGE = m.Usage(0, 0, 0, 0)
GOOD = (
    *map(codec.device_frame, protocol_page.FROM_DEVICE),
    *map(codec.server_frame, protocol_page.FROM_SERVER),
)


class Script:
    """Bytes as a supply of choices; when they run out, every choice is 0."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def __bool__(self) -> bool:
        return self._at < len(self._data)

    def number(self, below: int) -> int:
        """A number from 0, of one byte."""
        self._at += 1
        return self._data[self._at - 1] % below if self._at <= len(self._data) else 0

    def frame(self) -> Frame:
        """Bytes or characters, lone surrogates among them."""
        size = self.number(256)
        data = self._data[self._at : self._at + size]
        self._at += size
        return data if size % 2 else data.decode("utf-8", "surrogateescape")


def any_frame(data: bytes) -> None:
    """A frame is a message that survives the way, or refused, with words that can be sent."""
    for frame in (data, data.decode("utf-8", "surrogateescape"), _damaged(Script(data))):
        try:
            said = codec.from_device(frame)
            assert codec.from_device(codec.device_frame(said)) == said
        except ProtocolError as error:
            codec.from_server(codec.closing(error))
        with suppress(ProtocolError):
            heard = codec.from_server(frame)
            assert codec.from_server(codec.server_frame(heard)) == heard


def any_server(data: bytes) -> None:
    """Our device against any server: tokens come in order and within credit, or the session ends."""
    script, ours = Script(data), DeviceSession(HELLO)
    index: dict[int, int] = {}
    credit: dict[int, int] = {}
    while script:
        if ours.state is State.CUT:
            ours.connect()
        try:
            events = ours.receive(_server_frame(script, ours.received + 1, index)).events
        except ProtocolError as error:
            codec.closing(error)
            assert ours.state is State.BROKEN
            return
        for event in events:
            if isinstance(event, m.Tokens):
                assert event.index == index[event.request]
                index[event.request] += len(event.ids)
                assert index[event.request] <= credit[event.request]
        number = script.number(ours.next_request) + 1
        match script.number(6):
            case 0 | 1 if ours.may_ask:
                number = ours.next_request
                ours.send(m.Ask(number, "?", True, 1, 64, script.number(9)))
                index[number], credit[number] = 0, 8
            case 2 if number in ours.alive:
                credit[number] = max(script.number(65), credit[number])
                ours.send(m.Credit(number, credit[number]))
            case 3 if number in ours.alive:
                ours.send(m.Cancel(number))
            case 4:
                ours.cut()
        assert len(ours.alive) <= m.MOST_REQUESTS


def any_device(data: bytes) -> None:
    """Our server against any device: what it keeps stays bounded, whatever is never acknowledged."""
    script, ours = Script(data), ServerSession(SESSION, OFFER)
    ours.accept(HELLO)
    while script:
        try:
            if ours.state is State.CUT:
                ours.accept(msgspec.structs.replace(HELLO, resume=m.Resume(SESSION, script.number(64))))
            ours.receive(_device_frame(script))
        except ProtocolError as error:
            codec.closing(error)
            if ours.state is State.BROKEN:
                return
        for number in ours.alive:
            _answer(script, ours, number)
        events, size = ours.kept
        assert events <= MOST_KEPT_EVENTS + 2 * OFFER.requests
        assert size <= MOST_KEPT_BYTES + (1 + 2 * OFFER.requests) * m.MOST_FRAME_BYTES
        assert len(ours.alive) <= OFFER.requests


def _damaged(script: Script) -> Frame:
    """A good frame in which some bytes are others."""
    good = GOOD[script.number(len(GOOD))]
    damaged = bytearray(good if isinstance(good, bytes) else good.encode())
    while script:
        at = script.number(len(damaged) + 1)
        damaged[at : at + script.number(3)] = bytes(script.number(256) for _ in range(script.number(4)))
    return bytes(damaged) if isinstance(good, bytes) else damaged.decode("utf-8", "surrogateescape")


def _server_frame(script: Script, seq: int, index: dict[int, int]) -> Frame:
    """Mostly what a server may say now, and now and then anything."""
    request = script.number(max(index, default=0) + 1) + 1
    said: m.Welcome | m.Goaway | m.Closing | m.Pong | m.Event
    match script.number(16):
        case 0:
            return script.frame()
        case 1 | 2 | 3:
            resumed = bool(script.number(2))
            said = m.Welcome(1, SESSION, resumed, script.number(3) * resumed, OFFER)
        case 4:
            said = m.Goaway("", 0.0) if script.number(2) else m.Closing(1012, "")
        case 5:
            said = m.Pong(1)
        case 6 | 7 | 8:
            said = m.Sources(request, ())
        case 9:
            said = m.Finished(request, "cancelled" if script.number(2) else "end", USAGE)
        case 10:
            said = m.Failed(request, "busy", "")
        case 11:
            said = m.Queued(request, 0, 0)
        case _:
            said = m.Tokens(request, index.get(request, 0) + script.number(8) // 7, (0,) * (script.number(3) + 1))
    if isinstance(said, m.Welcome | m.Goaway | m.Closing):
        return msgspec.json.encode(said).decode()
    return msgspec.msgpack.encode(said if isinstance(said, m.Pong) else m.Numbered(seq + script.number(16) // 15, said))


def _device_frame(script: Script) -> Frame:
    request = script.number(8) + 1
    said: m.FromDevice
    match script.number(8):
        case 0:
            return script.frame()
        case 1 | 2 | 3:
            said = m.Ask(
                request, "?", bool(script.number(4)), 0, 64, script.number(65), accepted=(0,) * script.number(3)
            )
        case 4:
            said = m.Start(request, script.number(65), (0,) * script.number(3))
        case 5:
            said = m.Credit(request, script.number(65))
        case 6:
            said = m.Cancel(request) if script.number(2) else m.Ping(1)
        case _:
            said = m.Acknowledge(script.number(256))
    return msgspec.msgpack.encode(said)


def _answer(script: Script, ours: ServerSession, number: int) -> None:
    """A step of an honest answer; sources and ends are as large as they get."""
    passage = m.PublicPassage(1, "", "", "\U0001f426" * 2500, 0.0, 0.0)
    if sendable := ours.sendable(number):
        index = ours.next_index(number)
        ours.send(m.Tokens(number, index, (2**31 - 1,) * min(sendable, script.number(64) + 1)))
    elif script.number(2):
        with suppress(ProtocolError):  # they may have been sent
            ours.send(m.Sources(number, (passage,) * 16))
    elif script.number(8) == 0:
        ours.send(m.Failed(number, "busy", "x" * 500))
