"""A device's and a server's session over a connection that loses frames at any moment: each token and each round of
retrieval arrives once, in order, in either protocol version.
"""

from collections import deque
from typing import Any

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from shared.protocol import codec
from shared.protocol import messages as m
from shared.protocol.codec import Frame
from shared.protocol.device import ACKNOWLEDGE_EVENTS, DeviceSession, Lost
from shared.protocol.server import MOST_KEPT_EVENTS, ServerSession
from shared.protocol.session import SessionState

OFFER = m.Offer("model", "words", "embedder", 2048, 3, 64, 60.0, pipelines=("plain", "hyde"), follows_text=True)
LENGTH = 12
"""The number of tokens of a complete answer."""


def token(request: int, index: int) -> int:
    """Return the token at this index of the answer to a request."""
    return request * 1000 + index


def text(request: int, index: int) -> str:
    """Return the token's text; some tokens complete no character, so that theirs is empty."""
    return f"{request}.{index} " if index % 3 else ""


class Exchange(RuleBasedStateMachine):
    """Random operations on one device, one server and the connection between them."""

    def __init__(self) -> None:
        super().__init__()
        self.up: deque[Frame] = deque()
        self.down: deque[Frame] = deque()
        self.servers = 0
        self.asked: dict[int, m.Ask] = {}
        self.started: set[int] = set()
        self.cancelled: set[int] = set()
        self.lost: set[int] = set()
        self.got: dict[int, list[int]] = {}
        self.read: dict[int, str] = {}
        self.rounds: dict[int, list[int]] = {}
        self.ended: dict[int, m.Finished | m.Failed] = {}
        self.drafts: dict[int, list[m.JointFromDevice]] = {}
        self.arrived: dict[int, set[m.JointFromDevice]] = {}
        self.chains: dict[int, int] = {}

    @initialize(
        same=st.booleans(),
        versions=st.sampled_from(((1,), m.VERSIONS)),
        searches=st.lists(st.booleans(), max_size=2),
        credit=st.integers(0, LENGTH),
    )
    def begin(self, same: bool, versions: tuple[int, ...], searches: list[bool], credit: int) -> None:
        """Connect device and server, whose vocabularies are the same or different, with some requests sent already."""
        self.by_text = not same
        self.device = DeviceSession(m.Hello(versions, "words" if same else "others", "embedder", "device"))
        self.server = self.new_server()
        self.connect()
        self.deliver_up(1)
        self.deliver_down(1)
        for search in searches:
            self.ask(not search, 0, credit, arrives=True)

    def new_server(self) -> ServerSession:
        """Return a server that knows no session, as after a restart."""
        self.servers += 1
        return ServerSession(f"a-name-nobody-guesses-{self.servers}", OFFER)

    # The pipe.

    @rule(noticed=st.booleans(), restarted=st.integers(0, 11).map(lambda drawn: drawn == 11), back=st.booleans())
    def cut(self, noticed: bool, restarted: bool, back: bool) -> None:
        """Lose all frames that are on the way.

        The server may fail to notice the cut before the device is back, or may be restarted.
        """
        self.up.clear()
        self.down.clear()
        self.device.cut()
        if restarted:
            self.server = self.new_server()
        elif noticed:
            self.server.cut()
        if back:
            self.connect()
            self.deliver_up(1)

    @precondition(lambda self: self.device.state is SessionState.CUT)
    @rule()
    def connect(self) -> None:
        """Let the device reconnect; its hello is on the way."""
        self.up.extend(self.device.connect())

    @rule(count=st.integers(1, 20))
    def deliver_up(self, count: int) -> None:
        """Deliver some frames to the server."""
        while self.up and count:
            self.server_hears(self.up.popleft())
            count -= 1

    @rule(count=st.integers(1, 20))
    def deliver_down(self, count: int) -> None:
        """Deliver some frames to the device."""
        while self.down and count:
            self.device_hears(self.down.popleft())
            count -= 1

    def server_hears(self, frame: Frame) -> None:
        """Process a frame that arrives at the server."""
        if isinstance(frame, str):
            hello = codec.from_device(frame)
            assert isinstance(hello, m.Hello)
            if hello.resume is None or hello.resume.session != self.server.id:
                self.server = self.new_server()
            self.down.extend(self.server.accept(hello))
            return
        events, frames = self.server.receive(frame)
        self.down.extend(frames)
        for event in events:
            if isinstance(event, m.Ask):
                assert event == self.asked[event.request]
            elif isinstance(event, m.JointFromDevice):
                self.arrived.setdefault(event.request, set()).add(event)

    def device_hears(self, frame: Frame) -> None:
        """Process a frame that arrives at the device."""
        events, frames = self.device.receive(frame)
        self.up.extend(frames)
        for event in events:
            match event:
                case m.Tokens(request, index, ids, words):
                    assert request not in self.cancelled
                    assert index == len(self.got[request])
                    self.got[request] += ids
                    self.read[request] += words or ""
                case m.Round(request, number):
                    assert request not in self.cancelled
                    self.rounds.setdefault(request, []).append(number)
                case m.Finished() | m.Failed():
                    assert event.request not in self.ended
                    self.ended[event.request] = event
                case Lost(request):
                    assert request not in self.ended
                    self.lost.add(request)

    # What a device does.

    @precondition(lambda self: self.device.may_ask)
    @rule(generate=st.booleans(), accepted=st.integers(0, 4), credit=st.integers(0, LENGTH), arrives=st.booleans())
    def ask(self, generate: bool, accepted: int, credit: int, arrives: bool) -> None:
        """Let the device send a question, or ask for the rest of an answer."""
        number = self.device.next_request
        start = tuple(token(number, index) for index in range(accepted)) if generate and not self.by_text else ()
        chosen: m.ChosenPipeline = "hyde" if self.device.version > 1 and number % 2 else ""
        ask = m.Ask(number, "?", generate, 1, LENGTH, credit, accepted=start, pipeline=chosen)
        self.asked[number] = ask
        self.got[number], self.read[number] = list(start), ""
        self.says(ask, arrives)

    @precondition(lambda self: self.device.may_ask and not self.by_text)
    @rule(greedy=st.booleans(), arrives=st.booleans(), follows=st.booleans())
    def ask_together(self, greedy: bool, arrives: bool, follows: bool = False) -> None:
        """Let the device ask for a joint answer, in which either the device or the server makes tokens final; without
        `greedy`, its weight may follow the text.
        """
        number = self.device.next_request
        plain = m.Ask(number, "?", True, 1, LENGTH, 0, ahead=4)
        self.asked[number] = msgspec.structs.replace(plain, rule="greedy", place="device") if greedy else plain
        self.got[number], self.read[number], self.drafts[number] = [], "", []
        self.says(self.asked[number], arrives)
        changing = follows and not greedy
        weight: m.JointFromDevice = m.FollowingWeight(number, 1.0, 2) if changing else m.Weight(number, 1.0)
        self.draft(number, weight, arrives)

    @rule(choice=st.integers(0, 9), counts=st.lists(st.integers(1, 4), max_size=3), arrives=st.booleans())
    def draft_on(self, choice: int, counts: list[int], arrives: bool) -> None:
        """Let the device draft more tokens or, by the greedy rule, make some final and sometimes ask for
        distributions.
        """
        number = self.request(choice)
        if number is None or number not in self.drafts or number in self.cancelled:
            return
        for count in counts:
            said = [draft for draft in self.drafts[number] if isinstance(draft, m.Drafts | m.Targets)]
            end = max((message.position + len(message.ids) for message in said), default=0)
            if end + count > LENGTH:
                continue
            if self.asked[number].rule == "coupled":
                follows = isinstance(self.drafts[number][0], m.FollowingWeight)
                for position in range(max(end + end % 2, 4), end + count, 2) if follows else ():
                    self.draft(number, m.Reweight(number, position, 0.5), arrives)
                self.draft(number, m.Drafts(number, 0, end, (1,) * count), arrives)
                continue
            if count > 2:
                self.draft(number, m.Fetch(number, end, 16 * count), arrives)
            self.draft(number, m.Targets(number, end, (1,) * count), arrives)

    def draft(self, number: int, said: m.JointFromDevice, arrives: bool) -> None:
        """Let the device send a message of a joint answer."""
        self.drafts[number].append(said)
        self.says(said, arrives)

    def request(self, choice: int) -> int | None:
        """Return the number of a request that is open on the device; None if there is none."""
        alive = self.device.alive
        return alive[choice % len(alive)] if alive else None

    @rule(choice=st.integers(0, 9), accepted=st.integers(0, 4), credit=st.integers(0, LENGTH), arrives=st.booleans())
    def start(self, choice: int, accepted: int, credit: int, arrives: bool) -> None:
        """Let the device ask for an answer from the passages of a search that it has requested."""
        number = self.request(choice)
        if number is None or number in self.cancelled | self.started or self.asked[number].generate:
            return
        start = () if self.by_text else tuple(token(number, index) for index in range(accepted))
        self.got[number] = list(start)
        self.started.add(number)
        self.says(m.Start(number, credit, start), arrives)

    @rule(choice=st.integers(0, 9), upto=st.integers(0, LENGTH), arrives=st.booleans())
    def grant(self, choice: int, upto: int, arrives: bool) -> None:
        """Let the device allow the server more tokens."""
        if number := self.request(choice):
            self.says(m.Credit(number, upto), arrives)

    @rule(choice=st.integers(0, 29), arrives=st.booleans())
    def cancel(self, choice: int, arrives: bool) -> None:
        """Let the device cancel a request, for some choices only, so that this is rare."""
        if choice < OFFER.requests and (number := self.request(choice)):
            self.cancelled.add(number)
            self.says(m.Cancel(number), arrives)

    def says(self, message: m.Ask | m.Start | m.Credit | m.Cancel | m.JointFromDevice, arrives: bool) -> None:
        """Let the device send a message."""
        self.up.extend(self.device.send(message))
        if arrives:
            self.deliver_up(1000)

    # What a server does, without asking whether anybody still listens.

    @rule(choice=st.integers(0, 9), counts=st.lists(st.integers(1, 4), min_size=1, max_size=5), arrives=st.booleans())
    def work(self, choice: int, counts: list[int], arrives: bool) -> None:
        """Make several steps of a request."""
        for count in counts:
            self.answer(choice, count)
        if arrives:
            self.deliver_down(1000)

    @rule(choice=st.integers(0, 9))
    def look_up(self, choice: int) -> None:
        """Let the server report a round of retrieval, if the protocol allows one now."""
        alive = self.server.alive
        if alive and (number := self.server.next_round(alive[choice % len(alive)])):
            self.say(m.Round(alive[choice % len(alive)], number, "hyde", ("?",), ()))

    def answer(self, choice: int, count: int) -> None:
        """Let the server send the next part of an answer: its sources, some tokens, or its end."""
        alive = self.server.alive
        if not alive:
            return
        number = alive[choice % len(alive)]
        standing: Any = self.server._requests[number]
        if standing.cancelled:
            self.say(m.Finished(number, "cancelled", m.Usage(0, 0, 0, 0)))
        elif not standing.searched:
            self.say(m.Queued(number, 1, 1))
            self.say(m.Sources(number, ()))
            if standing.together:
                self.say(m.Weight(number, 0.0))
        elif standing.together:
            if standing.together._pending_rests:
                self.say(m.Rest(number, standing.together._fetched[0], 0, 1, b"."))
            elif more := min(count, self.upto(number) - standing.index):
                self.say(self.drafted(number, standing.index, more))
            elif self.arrived.get(number, set()) >= set(self.drafts[number]):
                self.say(m.Finished(number, "length", m.Usage(0, 0, 0, 0)))
        elif standing.generate:
            first = self.server.next_index(number)
            indexes = range(first, first + min(count, self.server.sendable(number)))
            if indexes:
                words = "".join(text(number, index) for index in indexes) if self.by_text else None
                self.say(m.Tokens(number, first, tuple(token(number, index) for index in indexes), words))
            elif first == LENGTH:
                self.say(m.Finished(number, "length", m.Usage(0, 0, 0, 0)))

    def settled(self, number: int) -> int:
        """Return how many final tokens of the joint answer the server has received."""
        said = [event for event in self.arrived.get(number, ()) if isinstance(event, m.Drafts | m.Targets)]
        return max((message.position + len(message.ids) for message in said), default=0)

    def upto(self, number: int) -> int:
        """Return the index up to which the server may draft; it never falls."""
        standing: Any = self.server._requests[number]
        drafted: int = standing.index
        return max(min(self.settled(number) + self.asked[number].ahead, LENGTH), drafted)

    def drafted(self, number: int, index: int, count: int) -> m.Drafts:
        """Return the server's next drafts: a chain of drafts begins where the server knows the answer's tokens, and
        nowhere else.
        """
        if index <= self.settled(number):
            self.chains[number] = index
        given = (b".",) * count if self.asked[number].rule == "greedy" else ()
        return m.Drafts(number, self.chains.get(number, 0), index, (2,) * count, given)

    @rule(choice=st.integers(0, 9))
    def fail(self, choice: int) -> None:
        """Let the server fail a request."""
        if (alive := self.server.alive) and choice == 9:
            self.say(m.Failed(alive[0], "internal", ""))

    def say(self, event: m.Event) -> None:
        """Let the server send a message; on a connection that the device has left, the message is lost."""
        frames = self.server.send(event)
        if self.device.state is SessionState.OPEN or (
            self.device.state is SessionState.GREETING and not self.hello_waits
        ):
            self.down.extend(frames)

    @property
    def hello_waits(self) -> bool:
        """Return whether the server does not know yet that there is a new connection."""
        return any(isinstance(frame, str) for frame in self.up)

    # What always holds.

    @invariant()
    def nothing_is_out_of_place(self) -> None:
        """Check that the device's tokens are those of the answer, each once, and that the sessions' state is
        bounded.
        """
        for number, got in self.got.items():
            assert got == [token(number, index) for index in range(len(got))]
            if self.by_text:
                assert self.read[number] == "".join(text(number, index) for index in range(len(got)))
        for numbers in self.rounds.values():
            assert numbers == list(range(1, len(numbers) + 1))
        if hasattr(self, "server"):
            assert len(self.server.alive) <= OFFER.requests
            assert self.server.kept[0] <= MOST_KEPT_EVENTS + 2 * OFFER.requests

    def teardown(self) -> None:
        """Check that all requests end completely once the connection is stable."""
        if not hasattr(self, "server"):
            return
        if self.device.state is SessionState.CUT:
            self.connect()
        for _ in range(100):
            self.deliver_up(1000)
            self.deliver_down(1000)
            for choice, number in enumerate(self.device.alive):
                self.start(choice, 0, 0, arrives=True)
                self.up.extend(self.device.send(m.Credit(number, LENGTH)))
            for choice in range(OFFER.requests):
                self.answer(choice, 4)
            if not (self.device.alive or self.up or self.down):
                break
        assert self.device.alive == self.server.alive == ()
        for number in self.asked:
            assert (number in self.ended) != (number in self.lost)
            end = self.ended.get(number)
            if isinstance(end, m.Finished) and number not in self.cancelled | self.drafts.keys():
                assert self.got[number] == [token(number, index) for index in range(LENGTH)]
        assert self.server.kept[0] < ACKNOWLEDGE_EVENTS


def test_what_the_device_settled_is_said_again_after_a_cut_that_the_server_did_not_notice() -> None:
    """Until the server has received the final tokens, it drafts nothing after them, as a draft tells the device that
    the server has them.
    """
    exchange = Exchange()
    exchange.begin(True, m.VERSIONS, [], 0)
    exchange.ask_together(greedy=True, arrives=False)
    exchange.deliver_up(1)
    exchange.deliver_down(1)
    exchange.draft_on(0, [1], arrives=False)
    exchange.work(0, [1], arrives=False)
    exchange.work(0, [1, 1], arrives=True)
    exchange.cut(noticed=False, restarted=False, back=False)
    exchange.teardown()
    assert isinstance(exchange.ended[1], m.Finished)


TestExchange = Exchange.TestCase
TestExchange.settings = settings(max_examples=100)
