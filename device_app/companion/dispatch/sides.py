"""The two sides of a race at their edges: the device's model in a thread, the server over the link.

Each is told to begin, how far it may write, and to stop; what becomes of it goes into one queue, on its own thread.
Tokens are `Piece`s: an id of this device's model or, from a server of another vocabulary, -1 and their text.
"""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from queue import SimpleQueue

from msgspec import structs

from device_app.companion.dispatch.migration import Ended, Failed, Token
from device_app.companion.link.link import Link
from device_app.companion.link.request import Heard as FromLink
from device_app.companion.link.request import RemoteRequest
from device_app.inference.local import LocalSource
from device_app.inference.prompting import SHORT_ANSWER
from models.interruptible import interruptible
from models.sampling import SamplingSettings
from shared.ending import Piece
from shared.errors import GaveWay, JackdawError, LinkError, ProtocolError
from shared.prompt import Prompt
from shared.protocol import messages as m
from shared.protocol.device import Lost
from shared.public import public_prompt
from shared.trace import Trace

WINDOW = 48
"""Tokens a server may be ahead of what arrived here: at 50 ms each way and 200 tokens a second, 20 are under way."""

MOST_CHARACTERS = 256
"""Characters of a token's text, on average: the longest of any vocabulary have 128."""


@dataclass(frozen=True, slots=True)
class Found:
    """The server's sources for the question."""

    passages: tuple[m.PublicPassage, ...]


@dataclass(frozen=True, slots=True)
class Waits:
    """The server says when it will begin, in seconds from now."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Broke:
    """A side cannot go on, and why."""

    failed: Failed
    why: str
    at: float


@dataclass(frozen=True, slots=True)
class Wrote:
    """A token came, at this moment of the monotonic clock."""

    token: Token[Piece]
    at: float


Heard = Found | Waits | Wrote | Ended | Broke
Ear = SimpleQueue[Heard]


class DeviceSide:
    """The model here. One stream at a time: a new one waits until the last has left the engine."""

    def __init__(
        self, source: Callable[[], LocalSource], question: str, sampling: SamplingSettings, max_tokens: int, ear: Ear
    ) -> None:
        """`source` may still wait for the model to load."""
        self.trace = Trace()
        self._source, self._question = source, question
        self._sampling, self._max_tokens, self._ear = sampling, max_tokens, ear
        self._stopped = threading.Event()
        self._allowed: float = float("inf")
        self._more = threading.Condition()
        self._thread: threading.Thread | None = None

    def begin(self, epoch: int, passages: Sequence[m.PublicPassage], accepted: Sequence[Piece]) -> None:
        """Write from these sources, from behind the accepted tokens on, as this epoch."""
        self.close()
        self._stopped = threading.Event()
        self._allowed = float("inf")
        arguments = (epoch, tuple(passages), tuple(accepted), self._stopped)
        self._thread = threading.Thread(target=self._run, args=arguments, name="device side", daemon=True)
        self._thread.start()

    def allow(self, upto: int | None) -> None:
        """Let it write tokens below that index; None lifts the limit."""
        with self._more:
            self._allowed = float("inf") if upto is None else upto
            self._more.notify()

    def stop(self) -> None:
        """Let it end within a batch."""
        self._stopped.set()
        with self._more:
            self._more.notify()

    def close(self) -> None:
        """Stop, and wait until the engine is free."""
        self.stop()
        if self._thread:
            self._thread.join()
            self._thread = None

    def _run(
        self,
        epoch: int,
        passages: Sequence[m.PublicPassage],
        accepted: Sequence[Piece],
        stopped: threading.Event,
    ) -> None:
        try:
            source = self._source()
            prompt = self._fitted(passages, source)
            source = replace(source, engine=interruptible(source.engine, stopped.is_set))
            ids = _ids(accepted, source)
            # Where the other side's tokens are not ours, the same text may take another number of ours.
            before = len(accepted) - len(ids)
            most = self._max_tokens - before
            drawn = source.go_on(prompt, ids, self._sampling, max_tokens=most, trace=self.trace)
            for index, token in enumerate(drawn, len(accepted)):
                piece = Piece(token, "", cut=index + 1 >= self._max_tokens)
                self._ear.put(Wrote(Token("device", epoch, index, piece), time.monotonic()))
                with self._more:
                    while index + 1 >= self._allowed and not stopped.is_set():
                        self._more.wait()
                if stopped.is_set():
                    return
            self._ear.put(Ended("device", epoch))
        except GaveWay:
            pass
        except JackdawError as error:
            self._ear.put(Broke(Failed("device", epoch), str(error), time.monotonic()))
        except BaseException:
            self._ear.put(Broke(Failed("device", epoch), "the model here has failed", time.monotonic()))
            raise

    def _fitted(self, passages: Sequence[m.PublicPassage], source: LocalSource) -> Prompt:
        """The prompt from as many passages, and as much of the first, as leave room for a short answer."""
        needed = min(self._max_tokens, SHORT_ANSWER)
        while True:
            prompt = public_prompt(self._question, passages, source.template)
            if source.room(prompt) >= needed or not passages:
                return prompt
            if len(passages) > 1:
                passages = passages[:-1]
            else:
                text = passages[0].text
                passages = (structs.replace(passages[0], text=text[: len(text) // 2]),) if text else ()


class ServerSide:
    """The server. The first request searches, and may write; later ones go on from the same sources."""

    def __init__(self, link: Link, ask: m.Ask, ear: Ear) -> None:
        """`ask` is what every request begins as."""
        self.usage: list[m.Usage] = []
        self._link, self._ask, self._ear = link, ask, ear
        self._requests: list[RemoteRequest] = []
        self._streams: list[_Stream] = []
        self._sources: tuple[int, ...] = ()

    @property
    def sent_bytes(self) -> int:
        """What left the device for this answer."""
        return sum(stream.request.sent_bytes for stream in self._streams)

    def search(self, *, generate: bool) -> None:
        """Find sources, and write as epoch 0 if told to. Raises LinkError."""
        self._open(structs.replace(self._ask, generate=generate, credit=self._window(0) if generate else 0), 0, 0)

    def start(self) -> None:
        """Let the request that searched write from the beginning, as epoch 0."""
        self._streams[-1].request.start(self._window(0))

    def begin(self, epoch: int, accepted: Sequence[Piece], text: str) -> None:
        """Write from behind the accepted tokens on, as this epoch; `text` is what they say."""
        by_text = self._link.by_text
        ids = () if by_text else tuple(piece.token for piece in accepted)
        ask = structs.replace(
            self._ask,
            generate=True,
            sources=self._sources,
            credit=self._window(len(ids)),
            accepted=ids,
            accepted_text=text if by_text else "",
        )
        try:
            self._open(ask, epoch, len(accepted) - len(ids))
        except LinkError as error:
            self._ear.put(Broke(Failed("server", epoch), str(error), time.monotonic()))

    def allow(self, upto: int | None) -> None:
        """Let it write tokens below that index; None lifts the limit."""
        self._streams[-1].limit(upto)

    def stop(self) -> None:
        """Nobody waits for it any more."""
        for stream in self._streams:
            stream.stop()

    def _open(self, ask: m.Ask, epoch: int, before: int) -> None:
        stream = _Stream(self, self._ear, epoch, before, ask)
        stream.request = self._link.ask(ask, stream.hear)
        self._streams.append(stream)

    def _window(self, index: int) -> int:
        return min(index + WINDOW, self._ask.max_tokens)

    def distrust(self, why: str) -> str:
        """Leave a server that said what none may; that in words."""
        return self._link.distrust(ProtocolError(m.CloseCode.MALFORMED, why))

    def found(self, passages: tuple[m.PublicPassage, ...]) -> None:
        """Remember what the answer is drawn from, for a request that goes on."""
        self._sources = tuple(passage.id for passage in passages)
        self._ear.put(Found(passages))


class _Stream:
    """One request of the server's side. `before` is what the race counts before its first token, and it does not."""

    request: RemoteRequest

    def __init__(self, side: ServerSide, ear: Ear, epoch: int, before: int, ask: m.Ask) -> None:
        self._side, self._ear, self._epoch, self._before = side, ear, epoch, before
        self._most = ask.max_tokens
        self._next = len(ask.accepted)
        self._characters = 0
        self._first = epoch == 0
        self._granted = ask.credit
        self._upto = self._most
        self._stopped = False

    def limit(self, upto: int | None) -> None:
        """Let it write tokens below that index of the race; None lifts the limit."""
        self._upto = self._most if upto is None else min(upto - self._before, self._most)
        self._allow()

    def stop(self) -> None:
        """Nobody waits for it any more."""
        if not self._stopped:
            self._stopped = True
            self.request.cancel()

    def hear(self, request: RemoteRequest, event: FromLink) -> None:
        """On the link's thread, and from the first moment on."""
        self.request = request
        now = time.monotonic()
        match event:
            case m.Sources():
                if self._first:
                    self._side.found(event.passages)
            case m.Queued():
                self._ear.put(Waits(event.wait_ms / 1000))
            case m.Tokens():
                self._characters += len(event.text or "")
                self._next = event.index + len(event.ids)
                if self._characters > MOST_CHARACTERS * (self._next + 1):
                    self._side.distrust("more text came than its tokens can have")
                    return
                for index, piece in enumerate(self._pieces(event), self._before + event.index):
                    self._ear.put(Wrote(Token("server", self._epoch, index, piece), now))
                self._allow()
            case m.Finished():
                self._stopped = True
                self._side.usage.append(event.usage)
                if event.reason != "cancelled":
                    self._ear.put(Ended("server", self._epoch))
            case m.Failed():
                self._ear.put(Broke(Failed("server", self._epoch), event.message or event.code, now))
            case Lost(_, why):
                self._ear.put(Broke(Failed("server", self._epoch), why or "it has lost this answer", now))

    def _pieces(self, tokens: m.Tokens) -> list[Piece]:
        end = tokens.index + len(tokens.ids)
        if tokens.text is None:
            return [Piece(token, "", index + 1 >= self._most) for index, token in enumerate(tokens.ids, tokens.index)]
        return [Piece(-1, "")] * (len(tokens.ids) - 1) + [Piece(-1, tokens.text, end >= self._most)]

    def _allow(self) -> None:
        """Keep the server a window ahead, at a message for every third of it."""
        upto = min(self._next + WINDOW, self._upto)
        if not self._stopped and (upto - self._granted >= WINDOW // 3 or self._granted < upto == self._upto):
            self._granted = upto
            self.request.allow(upto)


def said(pieces: Sequence[Piece], detokenize: Callable[[Sequence[int]], bytes]) -> str:
    """What the pieces say, as far as its characters are complete."""
    parts = (piece.text.encode() if piece.token < 0 else detokenize([piece.token]) for piece in pieces)
    return b"".join(parts).decode(errors="ignore")


def _ids(accepted: Sequence[Piece], source: LocalSource) -> list[int]:
    """Tokens of this device's model for what is written: the same ones, or those of the same text."""
    if all(piece.token >= 0 for piece in accepted):
        return [piece.token for piece in accepted]
    return source.engine.tokenize(said(accepted, source.engine.detokenize))
