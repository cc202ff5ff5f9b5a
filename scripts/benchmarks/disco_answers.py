"""Simulates answers token by token, with migration, using the app's state machine in simulated time."""

import math
from dataclasses import dataclass, field

import numpy as np

from device_app.companion.dispatch.cost import Costs
from device_app.companion.dispatch.dispatcher import Estimates
from device_app.companion.dispatch.events import Allow, Begin, Command, Ended, Finish, Stop, Tick, Token
from device_app.companion.dispatch.handover import Terms
from device_app.companion.dispatch.migration import Migration
from scripts.benchmarks.disco_data import ANSWER_LIMIT, Device
from shared.side import Side

READING_RATE = 4.8
"""Tokens a second at which a reader reads (§2.2: 4 to 5)."""

ROUND_TRIP_S = 0.05
_SERVER_PREFILL = 1_000.0
"""Tokens a second at which a server prefills a few more tokens after a prompt that it has cached."""

BOTH: tuple[Side, Side] = ("device", "server")


@dataclass(slots=True)
class Stream:
    """The decoding of one side: the time and index of its next token, its seconds per token, and the index up to which
    it may decode.
    """

    at: float
    index: int
    gap: float
    limit: float = math.inf


@dataclass(slots=True)
class Written:
    """The result of one simulated answer: tokens by side; whether the losing side continued its prefill; the time of
    each token, in s.
    """

    written: dict[Side, int] = field(default_factory=lambda: dict.fromkeys(BOTH, 0))
    again: dict[Side, int] = field(default_factory=lambda: dict.fromkeys(BOTH, 0))
    kept: bool = False
    moved: bool = False
    given: list[float] = field(default_factory=list)

    def bill(self, costs: Costs, started: dict[Side, float]) -> dict[Side, float]:
        """Return the cost by side: the prompt, if it was started there, repeated prefill, and decoded tokens."""
        return {
            side: costs.prompt(side) * (started[side] + self.again[side]) + costs.decode(side) * self.written[side]
            for side in BOTH
        }

    def delayed(self) -> int:
        """Return the number of tokens that came too late for a reader who began to read at the first token."""
        planned = self.given[0] + np.arange(len(self.given)) / READING_RATE
        return int((np.array(self.given) > planned + 1e-3).sum())


def write(
    knowledge: Estimates,
    costs: Costs,
    device: Device,
    server_rate: float,
    *,
    winner: Side,
    prompt: int,
    answer: int,
    server_s: float,
    left_s: float | None,
) -> Written:
    """Simulate one answer from its first token at 0 s; `server_s` is the server's time to the first token if it is
    asked again.

    The losing side would need `left_s` more seconds to its own first token, and keeps prefilling if migration already
    pays off; if `left_s` is None, it stops. The device does not know in advance how long the server still needs.
    """
    rates: dict[Side, float] = {"device": device.decode, "server": max(server_rate, 0.1)}
    now, keeps = 0.0, left_s is not None
    left = left_s or 0.0

    def ready_s(side: Side, length: int) -> float:
        if side == "device":
            return length / device.prefill - (min(now, left) if keeps else 0.0)
        return ROUND_TRIP_S + (length / _SERVER_PREFILL if keeps and now >= left else knowledge.server.quantile(0.95))

    held: dict[Side, int] = {}
    if keeps:
        held = {"device": prompt - math.ceil(left * device.prefill)} if winner == "server" else {"server": prompt}
    terms = Terms(
        costs,
        prompt,
        rates,
        READING_RATE,
        ready_s=ready_s,
        remaining=lambda written: knowledge.remaining(written, ANSWER_LIMIT),
        held=held,
    )
    reply, live = Written(), Migration[int](terms, winner)
    reply.kept = keeps and winner == "server" and live.buffer.paced
    streams = {(winner, 0): Stream(0.0, 0, 1 / rates[winner])}
    finished = False
    while not finished or live.buffer.waiting:
        running = {key: stream for key, stream in streams.items() if stream.index < stream.limit}
        key = min(running, key=lambda number: running[number].at, default=None)
        due = live.buffer.next_due()
        if key is None or (due is not None and due <= running[key].at):
            now = max(due or 0.0, reply.given[-1] if reply.given else 0.0)
            reply.given += [now] * len(live.buffer.due(now))
            commands = live.receive(Tick())
        else:
            stream = running[key]
            now = stream.at
            if stream.index < answer:
                reply.written[key[0]] += 1
                commands = live.receive(Token(*key, stream.index, stream.index))
                stream.index, stream.at = stream.index + 1, now + stream.gap
            else:
                commands = live.receive(Ended(*key))
                streams.pop(key, None)
            reply.given += [now] * len(live.buffer.due(now))
        for command in commands:
            if isinstance(command, Begin):
                length = prompt - held.get(command.side, 0) + command.accepted
                fresh = command.side == "server" and not (keeps and now >= left)
                takes = ROUND_TRIP_S + server_s if fresh else ready_s(command.side, length)
                reply.again[command.side] += length if not reply.kept else command.accepted
                streams[command.side, command.epoch] = Stream(now + takes, command.accepted, 1 / rates[command.side])
            finished = finished or isinstance(command, Finish)
            _obeyed(streams, command, now)
    reply.moved = bool(live.moves)
    if live.buffer.tokens() != list(range(answer)):
        raise AssertionError("an answer lost, repeated or moved a token")
    return reply


def _obeyed(streams: dict[tuple[Side, int], Stream], command: Command, now: float) -> None:
    if isinstance(command, Allow) and (own := streams.get((command.side, command.epoch))):
        own.limit = math.inf if command.upto is None else command.upto
        own.at = max(own.at, now)
    elif isinstance(command, Stop):
        streams.pop((command.side, command.epoch), None)
    elif isinstance(command, Finish):
        streams.clear()
