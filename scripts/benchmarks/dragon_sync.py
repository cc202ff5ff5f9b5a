"""The paper's baselines in their leanest form: the sides exchange distributions at each token, or all at once at the
end; or the server sends its passages with their attention states (`states`), and the device writes alone.

Uses a plain socket with length-prefixed messages. The distributions are those of the product's rules, truncated and
quantised (`whole`: every probability in single precision, as published).
"""

import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Literal

import msgspec
import numpy as np

from cloud_server.pipelines.answering import Answering
from models import kv_file
from models.decoder import Decoder
from models.engine import Engine, KVSlice, Logits
from models.sampling import SamplingSettings, distribution
from shared.aggregation.distribution import Quantised, Top, decode, encode, quantise, top
from shared.aggregation.noise import Stream, uniforms
from shared.aggregation.weights import device_share, log_weight
from shared.protocol import messages as m

Mode = Literal["token", "sequence", "whole", "states"]

Begin = Callable[["JointRequest", Sequence[m.PublicPassage]], Decoder]
"""A function that prefills the prompt in the server's model and returns a decoder."""

States = Callable[["JointRequest", Sequence[m.PublicPassage]], Sequence[KVSlice]]
"""A function that returns the attention states of the prompt's instructions (its head) and of each passage, one after
the other, as bytes.
"""

_LENGTH: Final = struct.Struct("<I")


class JointRequest(msgspec.Struct, frozen=True, array_like=True):
    """The device's request for an answer of `tokens` tokens in one of the baselines' modes."""

    mode: Mode
    question: str
    passages: int
    tokens: int
    temperature: float
    min_p: float
    seed: int

    @property
    def sampling(self) -> SamplingSettings:
        """The sampling settings."""
        return SamplingSettings(temperature=self.temperature, min_p=self.min_p, seed=self.seed)


@dataclass(frozen=True, slots=True)
class Exchanged:
    """The tokens of an answer, and the time (`time.perf_counter`) at which each was known."""

    tokens: list[int]
    at: list[float]


def send(to: socket.socket, data: bytes) -> None:
    """Send one message."""
    to.sendall(_LENGTH.pack(len(data)) + data)


def receive(source: socket.socket) -> bytes:
    """Receive one message. Raises EOFError at the end."""
    (size,) = _LENGTH.unpack(_exactly(source, _LENGTH.size))
    return _exactly(source, size)


def _exactly(source: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        got = source.recv(min(size - len(data), 1 << 20))
        if not got:
            raise EOFError
        data += got
    return bytes(data)


def given(logits: Logits, sampling: SamplingSettings, drawn: list[int], *, whole: bool) -> Quantised | Top:
    """Return the next token's distribution in the form in which it is sent."""
    if whole:
        likely = np.exp((logits - logits.max()) / np.float32(sampling.temperature))
        return top(likely / likely.sum(), len(likely))
    left = distribution(logits, sampling, drawn)
    return quantise(left.tokens, left.probabilities)


def drawn_from(device: Quantised | Top, server: Quantised | Top, share: float, seed: int, position: int) -> int:
    """Draw a token from the weighted mixture of the device's and the server's next-token distributions."""
    ids = np.union1d(device.ids, server.ids)
    sides = [np.zeros(len(ids)), np.zeros(len(ids))]
    for values, part in zip(sides, (device, server), strict=True):
        held = part.counts if isinstance(part, Quantised) else part.probabilities
        values[np.searchsorted(ids, part.ids)] = held / held.sum(dtype=np.float64)
    cumulative = np.cumsum(sides[0] * share + sides[1] * (1 - share))
    chance = uniforms(seed, position, Stream.VERDICT, 1)[0]
    return int(ids[np.searchsorted(cumulative, chance * cumulative[-1], side="right")])


def serve(listening: socket.socket, answering: Answering, begin: Begin, states: States) -> None:
    """Serve devices as long as the process lives; each connection asks one question at a time."""
    while True:
        device, _ = listening.accept()
        device.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=_converse, args=(device, answering, begin, states), daemon=True).start()


def _converse(device: socket.socket, answering: Answering, begin: Begin, states: States) -> None:
    with device, suppress(EOFError, OSError):
        while True:
            request = msgspec.msgpack.decode(receive(device), type=JointRequest)
            [passages] = answering.search(list(answering.embedder.embed([request.question])), request.passages)
            if request.mode == "states":
                send_states(device, passages, states(request, passages))
            else:
                _write(device, request, passages, begin)


def _write(device: socket.socket, request: JointRequest, passages: Sequence[m.PublicPassage], begin: Begin) -> None:
    weight = struct.pack("<d", log_weight([passage.similarity for passage in passages]))
    decoder = begin(request, passages)
    written: list[int] = []
    if request.mode == "token":
        send(device, weight)
        while True:
            send(device, encode(given(decoder.mixture, request.sampling, written, whole=False)))
            (token,) = _LENGTH.unpack(receive(device))
            written.append(token)
            if len(written) == request.tokens:
                return
            decoder.append(token)
    parts = [weight]
    for position in range(request.tokens):
        own = given(decoder.mixture, request.sampling, written, whole=request.mode == "whole")
        parts.append(encode(own))
        written.append(drawn_from(own, own, 1.0, request.seed, position))
        if position + 1 < request.tokens:
            decoder.append(written[-1])
    send(device, msgspec.msgpack.encode(parts))


def ask(server: socket.socket, request: JointRequest) -> None:
    """Send the request to the server."""
    send(server, msgspec.msgpack.encode(request))


def send_states(to: socket.socket, passages: Sequence[m.PublicPassage], slices: Sequence[KVSlice]) -> None:
    """Send passages and the attention states of the prompt that begins with them."""
    send(to, msgspec.msgpack.encode((passages, [b"".join(kv_file.pack(each)) for each in slices])))


def receive_states(server: socket.socket) -> tuple[list[m.PublicPassage], list[KVSlice]]:
    """Receive the server's passages and the attention states of the prompt that begins with them."""
    passages, packed = msgspec.msgpack.decode(receive(server), type=tuple[list[m.PublicPassage], list[bytes]])
    return passages, [kv_file.unpack(each) for each in packed]


def token_wise(
    server: socket.socket, request: JointRequest, decoder: Decoder, log_h: float, engine: Engine
) -> Exchanged:
    """Write an answer as in equation 2: at each token the device mixes both distributions and draws, and both sides
    decode the token.
    """
    done = Exchanged([], [])
    share = device_share(log_h, struct.unpack("<d", receive(server))[0])
    while True:
        own = given(decoder.mixture, request.sampling, done.tokens, whole=False)
        theirs = decode(receive(server), engine.info.vocabulary)
        done.tokens.append(drawn_from(own, theirs, share, request.seed, len(done.tokens)))
        done.at.append(time.perf_counter())
        send(server, _LENGTH.pack(done.tokens[-1]))
        if len(done.tokens) == request.tokens:
            return done
        decoder.append(done.tokens[-1])


def sequence_wise(
    server: socket.socket, request: JointRequest, decoder: Decoder, log_h: float, engine: Engine
) -> Exchanged:
    """Write an answer on both sides separately; then the server's distributions arrive all at once and are mixed
    position by position.
    """
    own: list[Quantised | Top] = []
    written: list[int] = []
    for position in range(request.tokens):
        own.append(given(decoder.mixture, request.sampling, written, whole=request.mode == "whole"))
        written.append(drawn_from(own[-1], own[-1], 1.0, request.seed, position))
        if position + 1 < request.tokens:
            decoder.append(written[-1])
    weight, *theirs = msgspec.msgpack.decode(receive(server), type=list[bytes])
    share = device_share(log_h, struct.unpack("<d", weight)[0])
    tokens = list(_mixed(own, theirs, share, request.seed, engine.info.vocabulary))
    return Exchanged(tokens, [time.perf_counter()] * len(tokens))


def _mixed(own: list[Quantised | Top], theirs: list[bytes], share: float, seed: int, vocabulary: int) -> Iterator[int]:
    for position, (token, other) in enumerate(zip(own, theirs, strict=True)):
        yield drawn_from(token, decode(other, vocabulary), share, seed, position)
