"""A thread that keeps the connection to the companion server; callers deal with requests and events only.

It reconnects with a jittered back-off and resumes where the connection was lost. Bytes that leave the device are
counted per request, as they are on the wire. It uses the library `websockets` in its threaded form, as the server does.
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from socket import SHUT_RDWR
from urllib.parse import urlsplit

import msgspec
from websockets.exceptions import ConnectionClosed, WebSocketException
from websockets.sync.client import ClientConnection

from device_app.companion.link.backoff import Backoff
from device_app.companion.link.causes import of_code
from device_app.companion.link.compatibility import incompatible_reason
from device_app.companion.link.credentials import Credentials
from device_app.companion.link.dialing import MOST_REFUSED_S, Parted, closed, dial, parted
from device_app.companion.link.heartbeat import PING_S, Heartbeat
from device_app.companion.link.request import OnEvent, RemoteRequest, wire_bytes
from device_app.companion.link.resting import Resting, in_words
from device_app.companion.link.state import CurrentState, LinkState
from device_app.question.answer import AT
from shared.errors import LinkError, ProtocolError
from shared.printable import safe_line
from shared.protocol import codec
from shared.protocol import messages as m
from shared.protocol.codec import Frame
from shared.protocol.device import Arrived, DeviceSession, Lost

log = logging.getLogger(__name__)

_sockets = logging.getLogger(f"{__name__}.sockets")
_sockets.setLevel(logging.CRITICAL)  # failures are in the link's state


class Link:
    """The connection to the server. Any thread may call it; `close` ends it."""

    def __init__(self, credentials: Credentials, hello: m.Hello, resting: Resting | None = None) -> None:
        """Start to connect. `resting` records for all processes that a server broke the protocol; by default, it is in
        memory.
        """
        self._credentials, self._hello = credentials, hello
        self._resting = resting or Resting(credentials)
        self._broke = ""
        self.server = urlsplit(credentials.url).netloc
        self._lock = threading.RLock()
        self._session = DeviceSession(hello)
        self._socket: ClientConnection | None = None
        self._requests: dict[int, RemoteRequest] = {}
        self._closing = threading.Event()
        self._heartbeat = Heartbeat()
        self.current = CurrentState(self.server, self._lock)
        self._thread = threading.Thread(target=self._run, name="link", daemon=True)
        self._thread.start()

    @property
    def state(self) -> LinkState:
        """The current state of the connection."""
        return self.current.state

    def wait(self, seconds: float) -> LinkState:
        """Wait until the first attempt to connect has ended, at most `seconds`, and return the state."""
        return self.current.wait(seconds)

    def ask(self, ask: m.Ask, on_event: OnEvent) -> RemoteRequest:
        """Send a question under a number that the link chooses; `on_event` is called with each event of the request.

        The first event may come before `ask` returns. Raises LinkError if no question can be sent now.
        """
        with self._lock:
            if self._broke:  # a moment ago
                raise LinkError(self.blamed(self._broke))
            if not self.state.connected or self.state.offer is None:
                raise LinkError(self.state.why_not())
            if "question" not in self.state.offer.receives:
                raise LinkError(self.blamed("the server takes no questions"))
            number = self._session.next_request
            request = self._requests[number] = RemoteRequest(self, number, ask.credit, on_event)
            try:
                self.send(request, msgspec.structs.replace(ask, request=number))
            except ProtocolError as error:
                del self._requests[number]
                raise LinkError(self.blamed(f"the question cannot be sent: {error}")) from None
        return request

    def send(self, request: RemoteRequest, message: m.Ask | m.Start | m.Credit | m.Cancel | m.JointFromDevice) -> None:
        """Send a message of a request, now or after reconnecting; drop the message if the request is over.

        Raises ProtocolError.
        """
        with self._lock:
            if self._requests.get(request.number) is request:  # a later session reuses the number
                self._write(self._session.send(message), request.number)

    def close(self) -> None:
        """Close the connection, and end the thread."""
        self._closing.set()
        with self._lock:
            dials = self._socket is None
            if self._socket and self._requests:
                self._socket.socket.close()
            elif self._socket:
                self._write(self._session.send(m.Closing(m.CloseCode.DONE, "Goodbye.")), None)
                self._socket.close()
        self._thread.join(0.5 if dials else 5)  # an attempt to connect ends by itself

    def watched(self, changed: Callable[[LinkState], None]) -> AbstractContextManager[None]:
        """Return a context in which the link's thread calls `changed`, which must not block, with each state."""
        return self.current.watched(changed)

    def blamed(self, why: str) -> str:
        """Return a phrase for the user: that this server, by its address, failed, and `why`."""
        return f"{AT}{self.server} failed: {why}"

    def distrust(self, error: ProtocolError) -> str:
        """Disconnect from a server that sent an invalid message, and avoid it for a while; return the reason."""
        with self._lock:
            why = self._break(error)
            if self._socket:
                with suppress(OSError):
                    self._socket.socket.shutdown(SHUT_RDWR)  # the listening thread notices
        return why

    @property
    def by_text(self) -> bool:
        """Whether answers are handed over as text, because the server's model has another vocabulary."""
        return self._session.handover == "text"

    @property
    def incompatible_reason(self) -> str:
        """Return why no joint answer can be written with the connected server; "" if one can."""
        why = incompatible_reason(self.state.offer, self._hello)
        return f"{AT}{self.server} {why}" if why else ""

    def _run(self) -> None:
        end = LinkState("refused", why="the link failed; start Jackdaw again, and report this bug", cause="crashed")
        try:
            end = self._stay_connected()
        finally:  # callers must not wait for a thread that is gone
            with self._lock:
                self._socket = None
            self.current.publish(end)
            self._forget_all()

    def _stay_connected(self) -> LinkState:
        """Connect repeatedly until the server refuses for good or the link is closed; return the last state."""
        backoff = Backoff()
        while not self._closing.is_set():
            started, received = time.monotonic(), self._session.received
            rest, why = self._resting.left()
            end = Parted("protocol", in_words(why, rest), rest) if rest else self._connection()
            if self._closing.is_set():
                break
            self._cut()
            if end.final:
                return LinkState("refused", why=end.why or "", cause=end.cause)
            # Reconnect at once after a connection that carried messages; otherwise back off.
            brought = end.why is None and self._session.received > received
            pause = backoff.pause(succeeded=brought, lasted_s=time.monotonic() - started)
            pause = pause if end.wait_s is None else end.wait_s
            why = end.why or "the connection was lost"
            self.current.publish(replace(self.state, phase="waiting", why=why, retry_s=pause, cause=end.cause))
            self._closing.wait(pause)
        return LinkState("closed")

    def _connection(self) -> Parted:
        """Open one connection and keep it until it ends; return how it ended."""
        try:
            with dial(self._credentials, _sockets) as socket:
                with self._lock:
                    self._socket, self._broke = socket, ""
                    self._heartbeat.restart(time.monotonic())
                    self._write(self._session.connect(), None)
                end = self._listen(socket)
        except (WebSocketException, OSError) as error:
            end = parted(error)
        finally:
            with self._lock:
                self._socket = None
        return Parted("protocol", self._broke, self._resting.left()[0]) if self._broke else end

    def _listen(self, socket: ClientConnection) -> Parted:
        while not self._closing.is_set():
            try:
                frame = socket.recv(timeout=PING_S / 4 if self._requests else PING_S)
            except TimeoutError:
                if not self._is_alive():
                    with suppress(OSError):
                        socket.socket.shutdown(SHUT_RDWR)  # a closing handshake would take as long again
                    return Parted("silent", "the server has gone silent", 0.0)
                continue
            except ConnectionClosed as error:
                return closed(error)
            with self._lock:
                if self._closing.is_set() or self._broke:  # this frame crossed our goodbye
                    break
                self._heartbeat.received_at = time.monotonic()
                try:
                    received = self._session.receive(frame)
                except ProtocolError as error:
                    if error.code == m.CloseCode.VERSION:
                        self._send_raw([codec.closing(error)])
                        return Parted("version", str(error), final=True)
                    self._break(error)
                    break
                self._write(received.frames, None)
                for event in received.events:
                    ended = self._take(event)
                    if ended is not None:
                        return ended
                self._is_alive()
        return Parted()

    def _break(self, error: ProtocolError) -> str:
        """End the session with a server that broke the protocol, and avoid it for a while; return the reason."""
        if not self._broke:
            log.warning("The server broke the protocol: %s", error)
            self._broke = f"the server broke the protocol: {safe_line(str(error)).rstrip('.')}"
            self._broke = in_words(self._broke, self._resting.begin(self._broke))
            self._send_raw([codec.closing(error)])
            self._session = DeviceSession(self._hello)
            self._forget_all(self._broke)
        return self._broke

    def _take(self, event: Arrived) -> Parted | None:
        """Handle an event; return how the connection ended if the server closes it, else None."""
        match event:
            case m.Welcome():
                offer = msgspec.structs.replace(event.offer, model=safe_line(event.offer.model) or "an unnamed model")
                self.current.publish(LinkState("connected", offer, self.state.round_trip_s))
                self._ping()
            case m.Pong():
                if self._heartbeat.pong(event.number, time.monotonic()):
                    self.current.publish(replace(self.state, round_trip_s=self._heartbeat.round_trip_s))
            case m.Goaway():
                self.current.publish(replace(self.state, phase="leaving", why=event.reason, cause="ending"))
            case m.Closing():
                final = event.code in (m.CloseCode.VERSION, m.CloseCode.MALFORMED, m.CloseCode.ILLEGAL)
                wait = None if event.retry_after_s is None else min(event.retry_after_s, MOST_REFUSED_S)
                return Parted(of_code(event.code), event.message, wait, final)
            case _:
                if isinstance(event, m.Failed):
                    event = msgspec.structs.replace(event, message=safe_line(event.message))
                if request := self._requests.get(event.request):
                    if isinstance(event, Lost | m.Finished | m.Failed):
                        del self._requests[event.request]
                    request.on_event(request, event)
        return None

    def _is_alive(self) -> bool:
        """Send a ping when it is due; return False if the server has been silent for too long."""
        now, busy, welcomed = time.monotonic(), bool(self._requests), self.state.answering
        if welcomed and self._heartbeat.due(now, busy=busy):
            self._ping()
        return not self._heartbeat.is_lost(now, busy=busy, welcomed=welcomed)

    def _ping(self) -> None:
        with self._lock:
            self._write(self._session.send(m.Ping(self._heartbeat.ping(time.monotonic()))), None)

    def _write(self, frames: Sequence[Frame], request: int | None) -> None:
        """Send the frames; bytes that belong to no request are counted for the oldest open request."""
        sent = self._send_raw(frames)
        charged = request if request is not None else next(iter(self._requests), None)
        if charged is not None and (asking := self._requests.get(charged)):
            asking.sent_bytes += sum(map(wire_bytes, frames[:sent]))
        for frame in frames[:sent]:
            said = codec.from_device(frame)
            if isinstance(said, m.JointFromDevice) and (asking := self._requests.get(said.request)):
                asking.sent.add(said)

    def _send_raw(self, frames: Sequence[Frame]) -> int:
        """Send the frames; return how many of them were sent."""
        sent = 0
        with suppress(ConnectionClosed, OSError):  # the listening thread notices; the session resends
            for frame in frames if self._socket else ():
                assert self._socket
                self._socket.send(frame)
                sent += 1
        return sent

    def _cut(self) -> None:
        with self._lock:
            self._session.cut()
            self._heartbeat.restart(self._heartbeat.received_at)

    def _forget_all(self, why: str = "") -> None:
        with self._lock:
            forgotten = tuple(self._requests.values())
            self._requests.clear()
            for request in forgotten:  # its callback may ask again
                request.on_event(request, Lost(request.number, why))
