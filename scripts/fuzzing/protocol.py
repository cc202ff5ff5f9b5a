"""Fuzzing targets for the link protocol: one side is Jackdaw's code, the other side's messages are made from bytes."""

from contextlib import suppress

import msgspec
import numpy as np

from scripts import protocol_page
from scripts.fuzzing.script import Script
from shared.aggregation import messages as a
from shared.aggregation.aggregator import Aggregator, JointPhase
from shared.aggregation.distribution import Distribution, Top, encode, quantise
from shared.aggregation.terms import Terms
from shared.aggregation.wire import Assembly, from_wire, to_wire
from shared.errors import ProtocolError
from shared.protocol import codec
from shared.protocol import messages as m
from shared.protocol.codec import Frame
from shared.protocol.device import DeviceSession
from shared.protocol.server import MOST_KEPT_BYTES, MOST_KEPT_EVENTS, ServerSession
from shared.protocol.session import SessionState
from shared.side import Side

SESSION = "a-name-nobody-guesses"
OFFER = msgspec.structs.replace(
    protocol_page.OFFER, model="model", vocabulary="words", embedder="embedder", requests=3, max_tokens=64
)
HELLO = m.Hello(m.VERSIONS, "words", "embedder", "fuzzed")
USAGE = m.Usage(0, 0, 0, 0)
RULES: tuple[m.Rule, ...] = ("coupled", "algorithm1", "greedy")
PLACES: tuple[m.Place, ...] = ("both", "device", "server")
SIDES: tuple[Side, ...] = ("device", "server")
VOCABULARY = 100
LIKELY = Top(np.array([5, 9]), np.array([0.5, 0.3], np.float32), whole=False)
QUANTISED = quantise([5, 9], [0.6, 0.4])
PASSAGE = m.PublicPassage(1, "", "", "\U0001f426" * 2500, 0.0, 0.0)
RIGHT, WRONG = encode(LIKELY), b"\x07" * 9
GOOD = (
    *map(codec.device_frame, protocol_page.FROM_DEVICE),
    *map(codec.server_frame, protocol_page.FROM_SERVER),
)


def any_frame(data: bytes) -> None:
    """Check that any frame is either decoded to a message that can be encoded again, or refused with a valid reason."""
    for frame in (data, data.decode("utf-8", "surrogateescape"), _damaged(Script(data))):
        try:
            said = codec.from_device(frame)
            assert codec.from_device(codec.device_frame(said)) == said
        except ProtocolError as error:
            codec.from_server(codec.closing(error))
        with suppress(ProtocolError):
            message = codec.from_server(frame)
            assert codec.from_server(codec.server_frame(message)) == message


def any_server(data: bytes) -> None:
    """Check Jackdaw's device side with any server: tokens come in order and within credit, or the session ends."""
    script, ours = Script(data), DeviceSession(HELLO)
    index: dict[int, int] = {}
    credit: dict[int, int] = {}
    while script:
        if ours.state is SessionState.CUT:
            ours.connect()
        try:
            events = ours.receive(_server_frame(script, ours.received + 1, index)).events
        except ProtocolError as error:
            codec.closing(error)
            assert ours.state is SessionState.BROKEN
            return
        for event in events:
            if isinstance(event, m.Tokens):
                assert event.index == index[event.request]
                index[event.request] += len(event.ids)
                assert index[event.request] <= credit[event.request]
        number = script.number(ours.next_request) + 1
        match script.number(8):
            case 0 | 1 if ours.may_ask:
                number = ours.next_request
                chosen: m.ChosenPipeline = "hyde" if ours.version > 1 and script.number(2) else ""
                ours.send(m.Ask(number, "?", True, 1, 64, script.number(9), pipeline=chosen))
                index[number], credit[number] = 0, 8
            case 5 if ours.may_ask:
                number = ours.next_request
                ours.send(_joint_ask(script, number))
                index[number], credit[number] = 0, 0
            case 6 if number in ours.alive:
                with suppress(ProtocolError):
                    ours.send(_from_both(script, number) if script.number(3) else _from_device(script, number))
            case 2 if number in ours.alive:
                credit[number] = max(script.number(65), credit[number])
                ours.send(m.Credit(number, credit[number]))
            case 3 if number in ours.alive:
                ours.send(m.Cancel(number))
            case 4:
                ours.cut()
        assert len(ours.alive) <= m.MOST_REQUESTS


def any_device(data: bytes) -> None:
    """Check Jackdaw's server side with any device: stored events stay bounded, even if none is acknowledged."""
    script, ours = Script(data), ServerSession(SESSION, OFFER)
    hello = msgspec.structs.replace(HELLO, versions=m.VERSIONS[: script.number(2) + 1])
    ours.accept(hello)
    while script:
        try:
            if ours.state is SessionState.CUT:
                ours.accept(msgspec.structs.replace(hello, resume=m.Resume(SESSION, script.number(64))))
            ours.receive(_device_frame(script, ours.version))
        except ProtocolError as error:
            codec.closing(error)
            if ours.state is SessionState.BROKEN:
                return
        for number in ours.alive:
            _answer(script, ours, number)
        events, size = ours.kept
        assert events <= MOST_KEPT_EVENTS + 2 * OFFER.requests
        assert size <= MOST_KEPT_BYTES + (1 + 2 * OFFER.requests) * m.MOST_FRAME_BYTES
        assert len(ours.alive) <= OFFER.requests


def _damaged(script: Script) -> Frame:
    """Return a valid frame with some bytes replaced."""
    good = GOOD[script.number(len(GOOD))]
    damaged = bytearray(good if isinstance(good, bytes) else good.encode())
    while script:
        at = script.number(len(damaged) + 1)
        damaged[at : at + script.number(3)] = bytes(script.number(256) for _ in range(script.number(4)))
    return bytes(damaged) if isinstance(good, bytes) else damaged.decode("utf-8", "surrogateescape")


def _server_frame(script: Script, seq: int, index: dict[int, int]) -> Frame:
    """Return in most cases a message that a server may send now, sometimes any message."""
    request = script.number(max(index, default=0) + 1) + 1
    said: m.Welcome | m.Goaway | m.Closing | m.Pong | m.Event
    match script.number(20):
        case 0:
            return script.frame()
        case 1 | 2 | 3:
            resumed = bool(script.number(2))
            said = m.Welcome(script.number(3) + 1, SESSION, resumed, script.number(3) * resumed, OFFER)
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
            looked_up = m.Round(request, script.number(3) + 1, "hyde", ("?",) * script.number(3), (PASSAGE,))
            said = looked_up if script.number(2) else m.Queued(request, 0, 0)
        case 12 | 13 | 14:
            said = _from_both(script, request)
        case 15:
            said = m.Rest(request, script.number(9), script.number(2) * m.PIECE_BYTES, script.number(200) + 1, RIGHT)
        case _:
            said = m.Tokens(request, index.get(request, 0) + script.number(8) // 7, (0,) * (script.number(3) + 1))
    if isinstance(said, m.Welcome | m.Goaway | m.Closing):
        return msgspec.json.encode(said).decode()
    return msgspec.msgpack.encode(said if isinstance(said, m.Pong) else m.Numbered(seq + script.number(16) // 15, said))


def _device_frame(script: Script, version: int) -> Frame:
    request = script.number(8) + 1
    said: m.FromDevice
    match script.number(12):
        case 0:
            return script.frame()
        case 1 | 2 | 3:
            said = m.Ask(
                request, "?", bool(script.number(4)), 0, 64, script.number(65), accepted=(0,) * script.number(3)
            )
        case 7 | 8:
            said = _joint_ask(script, request)
        case 9 | 10:
            said = _from_both(script, request)
        case 11:
            said = _from_device(script, request) if script.number(4) else m.RoundTrip(request, 50_000)
        case 4:
            said = m.Start(request, script.number(65), (0,) * script.number(3))
        case 5:
            said = m.Credit(request, script.number(65))
        case 6:
            said = m.Cancel(request) if script.number(2) else m.Ping(1)
        case _:
            said = m.Acknowledge(script.number(256))
    return codec.device_frame(said, version) if isinstance(said, m.Ask) else msgspec.msgpack.encode(said)


def _joint_ask(script: Script, request: int) -> m.Ask:
    """Return an Ask for a joint answer, which may be inconsistent only in ways that a device would notice."""
    rule = RULES[script.number(3)]
    place = "device" if rule == "greedy" else PLACES[script.number(3)]
    return m.Ask(request, "?", True, 1, 64, 0, ahead=script.number(m.MOST_AHEAD) + 1, rule=rule, place=place, rows=2)


def _from_both(script: Script, request: int) -> m.Weight | m.Drafts | m.Targets | m.Switch:
    """Return a message about a joint answer that both sides may send, correct or not."""
    position, count = script.number(65), script.number(8) + 1
    match script.number(4):
        case 0:
            return m.Weight(request, None if script.number(2) else 12.5)
        case 1:
            return m.Targets(request, position, (VOCABULARY - 1,) * count)
        case 2:
            return m.Switch(request, position, script.number(65), script.number(65))
        case _:
            given = (WRONG if script.number(8) == 0 else RIGHT,) * (count if script.number(2) else 0)
            return m.Drafts(request, script.number(position + 1), position, (5,) * count, given)


def _from_device(script: Script, request: int) -> m.Fetch | m.FollowingWeight | m.Reweight:
    """Return a message about a joint answer that only a device sends, correct or not."""
    match script.number(3):
        case 0:
            return m.FollowingWeight(request, 12.5, script.number(2) + 4)
        case 1:
            return m.Reweight(request, script.number(65), 0.5)
    return m.Fetch(request, script.number(65), 16 ** (script.number(5) + 1))


def any_joint(data: bytes) -> None:
    """Check one side of a joint answer with a peer's valid frames: final tokens stay, within the length limit."""
    script = Script(data)
    side = SIDES[script.number(2)]
    ask = _joint_ask(script, 1)
    terms = Terms(side, ask.rule, ask.place, 1, VOCABULARY, ask.max_tokens, frozenset({0}), ask.ahead)
    machine, assembly = Aggregator(terms), Assembly(VOCABULARY)
    while script and machine.phase is not JointPhase.OVER:
        known = len(machine.settled)
        try:
            for command in machine.receive(_event(script, machine, assembly)):
                unlike = a.Fetch | a.Rest | a.Reweight | a.Stop
                if isinstance(command, a.Send) and not isinstance(command.message, unlike):
                    for message in to_wire(1, command.message):
                        codec.device_frame(message)
        except ProtocolError:
            machine.receive(a.Lost("the other side broke the protocol"))
            assert machine.phase is not JointPhase.TOGETHER
        assert known <= len(machine.settled) <= ask.max_tokens
        assert len(machine._others) <= ask.max_tokens


def _event(script: Script, machine: Aggregator, assembly: Assembly) -> a.Event:
    """Return the next event at the checked side: in most cases a message of the peer."""
    drafts: dict[str, Distribution | None] = {"coupled": None, "algorithm1": QUANTISED, "greedy": LIKELY}
    match script.number(8):
        case 0 | 1 if machine.next_draft is not None:
            return a.Drafted(machine.epoch, machine.next_draft, 5, drafts[machine.terms.rule])
        case 2:
            return a.Weighed(12.5, script.number(9))
        case 3:
            size = script.number(4) * 300
            rest = assembly.put(m.Rest(1, script.number(9), 0, size or len(RIGHT), bytes(size) or RIGHT))
            return rest or a.Weighed(12.5)
        case 4:
            return a.HandOver()
        case 5:
            return from_wire(_from_device(script, 1), VOCABULARY)
    return from_wire(_from_both(script, 1), VOCABULARY)


def _answer(script: Script, ours: ServerSession, number: int) -> None:
    """Send one step of an honest answer; sources and failures have their maximum size."""
    joint = ours._requests[number].together
    if joint and joint.weighed:
        with suppress(ProtocolError):
            ours.send(m.Rest(number, 0, 0, m.PIECE_BYTES, bytes(m.PIECE_BYTES)))
            ours.send(_from_both(script, number))
    elif (next_round := ours.next_round(number)) and script.number(4) == 0:
        ours.send(m.Round(number, next_round, "hyde", ("\U0001f426" * 512,) * 16, (PASSAGE,) * 16))
    elif sendable := ours.sendable(number):
        index = ours.next_index(number)
        ours.send(m.Tokens(number, index, (2**31 - 1,) * min(sendable, script.number(64) + 1)))
    elif script.number(2):
        with suppress(ProtocolError):  # they may have been sent already
            ours.send(m.Sources(number, (PASSAGE,) * 16))
            ours.send(m.Weight(number, 0.0))
    elif script.number(8) == 0:
        ours.send(m.Failed(number, "busy", "x" * 500))


TARGETS = (any_frame, any_server, any_device, any_joint)
