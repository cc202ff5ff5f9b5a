"""Moving a running answer between device and server: when it pays, and that no token is lost, repeated or reordered."""

from dataclasses import dataclass, field, replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from device_app.companion.dispatch.cost import Costs
from device_app.companion.dispatch.events import (
    Allow,
    Begin,
    Command,
    Doubtful,
    Ended,
    Event,
    Failed,
    Finish,
    GiveUp,
    Stop,
    Tick,
    Token,
)
from device_app.companion.dispatch.handover import Handover, Terms, plan_handover
from device_app.companion.dispatch.migration import Migration, MigrationPhase
from shared.side import Side, other

DEAR_DEVICE = Costs(device_prompt=1.0, device_decode=10.0, server_prompt=0.1, server_decode=1.0)
TERMS = Terms(
    costs=DEAR_DEVICE,
    prompt=50,
    rates={"device": 20.0, "server": 40.0},
    reading_rate=5.0,
    ready_s=lambda side, length: 0.5,
    remaining=lambda written: max(100.0 - written, 0.0),
)


def test_a_dear_side_hands_over_to_a_cheap_one() -> None:
    handover = plan_handover(TERMS, "device", written=10)
    assert isinstance(handover, Handover)
    assert (handover.target, handover.buffer) == ("server", 3)
    # Of 90 tokens 4 are still written while the buffer fills; the prompt, the answer and those are read again; one
    # more is written while the source would resume.
    assert handover.saving == pytest.approx(9 * (90 - 4) - 0.1 * (60 + 4) - 10 * 1)


@pytest.mark.parametrize(
    ("terms", "source", "why"),
    [
        pytest.param(TERMS, "server", "cost more", id="to the dearer side"),
        pytest.param(replace(TERMS, remaining=lambda written: 5.0), "device", "cost more", id="little is left"),
        pytest.param(replace(TERMS, margin=1e6), "device", "cost more", id="within the margin"),
        pytest.param(
            replace(TERMS, rates={"device": 5.0, "server": 40.0}), "device", "no faster", id="no buffer grows"
        ),
        pytest.param(
            replace(TERMS, rates={"device": 20.0, "server": 4.0}), "device", "no faster", id="too slow a target"
        ),
        pytest.param(replace(TERMS, allowed=frozenset({"device"})), "device", "not allowed", id="private passages"),
        pytest.param(replace(TERMS, used_up=frozenset({"server"})), "device", "today's budget", id="no money is left"),
    ],
)
def test_why_an_answer_stays(terms: Terms, source: Side, why: str) -> None:
    handover = plan_handover(terms, source, written=10)
    assert isinstance(handover, str)
    assert why in handover


def test_a_side_whose_budget_is_used_up_stands_in_for_a_failed_owner_all_the_same() -> None:
    live = Migration[int](replace(TERMS, used_up=frozenset({"server"})), "device")
    written(live, 10)
    assert [type(command) for command in live.receive(Failed("device", live.epoch))] == [Begin]


def test_a_prefill_that_is_kept_is_not_paid_twice() -> None:
    fresh = plan_handover(TERMS, "device", 10)
    kept = plan_handover(replace(TERMS, held={"server": 50}), "device", 10)
    assert isinstance(fresh, Handover)
    assert isinstance(kept, Handover)
    assert kept.saving - fresh.saving == pytest.approx(50 * 0.1)


def written(live: Migration[int], count: int, now: float = 0.0) -> list[Command]:
    """Let the owner write `count` tokens, and the reader read what is due; return the commands."""
    commands: list[Command] = []
    for _ in range(count):
        live.buffer.due(now)
        commands += live.receive(Token(live.side, live.epoch, live.buffer.count, live.buffer.count))
    return commands


def test_it_begins_once_the_buffer_can_hide_it() -> None:
    live = Migration[int](TERMS, "device")
    assert written(live, 3) == []
    (limit, begin) = written(live, 1)  # one of the four is read
    assert limit == Allow("device", 0, upto=4)
    assert isinstance(begin, Begin)
    assert (begin.side, begin.epoch, begin.accepted) == ("server", 1, 4)
    assert begin.reason


def test_the_source_writes_on_only_once_the_target_may_be_late() -> None:
    live = handing_over()
    live.buffer.due(0.2)
    assert live.receive(Tick()) == []  # two tokens are waiting
    live.buffer.due(0.4)
    assert live.receive(Tick()) == [Allow("device", 0, upto=4 + 3)]
    assert live.receive(Tick()) == []


def handing_over(terms: Terms = TERMS) -> Migration[int]:
    live = Migration[int](terms, "device")
    written(live, 4)
    assert live.phase is MigrationPhase.HANDING_OVER
    return live


def test_the_targets_first_token_commits_and_the_insurance_is_dropped() -> None:
    live = handing_over()
    assert live.receive(Token("device", 0, 4, 400)) == []
    assert live.receive(Token("server", 1, 4, 4)) == [Stop("device", 0)]
    assert live.receive(Token("device", 0, 5, 500)) == []
    assert live.receive(Token("server", 1, 5, 5)) == []
    assert live.receive(Ended("server", 1)) == [Finish("server")]
    assert live.buffer.tokens() == [0, 1, 2, 3, 4, 5]
    assert live.moves == [(4, "server")]


def test_a_target_that_fails_leaves_the_answer_where_it_was() -> None:
    live = handing_over()
    live.receive(Token("device", 0, 4, 4))
    assert live.receive(Failed("server", 1)) == [Allow("device", 0, None)]
    assert live.receive(Token("server", 1, 4, 999)) == []
    live.receive(Token("device", 0, 5, 5))
    assert live.receive(Ended("device", 0)) == [Finish("device")]
    assert live.buffer.tokens() == [0, 1, 2, 3, 4, 5]


def test_a_target_too_late_for_the_reader_is_given_up() -> None:
    live = handing_over()
    live.receive(Token("device", 0, 4, 4))
    for now in (0.2, 0.4, 0.6, 0.8):
        live.buffer.due(now)
    assert live.receive(Tick()) == [Stop("server", 1), Allow("device", 0, None)]
    assert live.buffer.tokens() == [0, 1, 2, 3, 4]
    assert live.buffer.due(1.0) == [4]  # the reader waits for nobody


def test_a_source_that_ends_as_insurance_ends_the_answer() -> None:
    live = handing_over()
    live.receive(Token("device", 0, 4, 4))
    assert live.receive(Ended("device", 0)) == [Stop("server", 1), Finish("device")]
    assert live.buffer.tokens() == [0, 1, 2, 3, 4]


def test_a_source_that_fails_meanwhile_waits_for_the_target() -> None:
    live = handing_over()
    live.receive(Token("device", 0, 4, 400))
    assert live.receive(Failed("device", 0)) == []
    assert live.receive(Token("server", 1, 4, 4)) == []
    assert live.buffer.tokens() == [0, 1, 2, 3, 4]


def test_both_failing_keeps_what_there_is() -> None:
    live = handing_over()
    live.receive(Token("device", 0, 4, 4))
    live.receive(Failed("device", 0))
    assert live.receive(Failed("server", 1)) == [GiveUp()]
    assert live.buffer.tokens() == [0, 1, 2, 3, 4]
    assert not live.buffer.paced


@pytest.mark.parametrize("allowed", [True, False])
def test_an_owner_that_fails_is_relieved_where_that_is_allowed(allowed: bool) -> None:
    sides: frozenset[Side] = frozenset({"device", "server"}) if allowed else frozenset({"server"})
    live = Migration[int](replace(TERMS, allowed=sides), "server")
    written(live, 3)
    (command,) = live.receive(Failed("server", 0))
    assert isinstance(command, Begin if allowed else GiveUp)
    if allowed:
        assert live.receive(Token("device", 1, 3, 3)) == []
        assert live.side == "device"


def test_a_source_that_leaves_tokens_out_counts_as_failed() -> None:
    live = Migration[int](TERMS, "server")
    written(live, 3)
    stop, begin = live.receive(Token("server", 0, 5, 5))
    assert stop == Stop("server", 0)
    assert isinstance(begin, Begin)
    assert begin.accepted == 3


def doubted() -> Migration[int]:
    live = Migration[int](TERMS, "server")
    written(live, 3)
    live.buffer.due(0.0)
    assert live.receive(Doubtful("server", 0)) == [Begin("device", 1, 3, "the server may have failed")]
    assert live.receive(Doubtful("server", 0)) == []
    return live


def test_an_owner_in_doubt_that_writes_again_goes_on() -> None:
    live = doubted()
    assert live.receive(Token("server", 0, 3, 3)) == [Stop("device", 1), Allow("server", 0, None)]
    assert live.receive(Token("device", 1, 3, 300)) == []
    assert (live.side, live.moves, live.buffer.tokens()) == ("server", [], [0, 1, 2, 3])


def test_an_owner_in_doubt_gives_way_to_the_first_token_of_the_other() -> None:
    live = doubted()
    assert live.receive(Token("device", 1, 3, 3)) == [Stop("server", 0)]
    assert live.receive(Token("server", 0, 3, 300)) == []
    assert (live.side, live.moves, live.buffer.tokens()) == ("device", [(3, "device")], [0, 1, 2, 3])


def test_an_end_is_not_believed_of_a_server_that_has_not_taken_over() -> None:
    live = Migration[int](TERMS, "device")
    written(live, 1)
    live.receive(Doubtful("device", 0))
    assert live.receive(Ended("server", 1)) == [Allow("device", 0, None)]
    assert live.receive(Failed("device", 0)) == [GiveUp()]


def test_an_owner_in_doubt_that_failed_is_not_relieved_twice() -> None:
    live = doubted()
    assert live.receive(Failed("server", 0)) == []
    assert live.receive(Token("device", 1, 3, 3)) == []
    assert live.side == "device"


def test_a_guarded_answer_keeps_a_buffer_while_the_server_writes() -> None:
    live = Migration[int](replace(TERMS, guarded=True), "server")
    written(live, 20)
    assert live.buffer.waiting == 19
    assert Migration[int](TERMS, "server").buffer.paced is False


@dataclass
class Stream:
    """The tokens that a side has still to send in one epoch. A stopped stream may have some in flight."""

    side: Side
    epoch: int
    index: int
    limit: int | None = None
    stopped: bool = False


@dataclass
class World:
    """Both sides and the network between them, driven by Hypothesis."""

    live: Migration[tuple[int, Side]]
    answer: int
    streams: list[Stream] = field(default_factory=list)
    begun: int = 0
    over: Command | None = None
    seen: list[tuple[int, Side]] = field(default_factory=list)
    now: float = 0.0
    failures: int = 0

    def happens(self, what: str, stream: Stream) -> None:
        """Let an event happen, legal or not, on time or late."""
        if what == "tick":
            self.read()
            self.tell(Tick())
        elif what == "fail" and not stream.stopped:
            self.failures += 1
            stream.stopped, stream.index = True, self.answer
            self.tell(Failed(stream.side, stream.epoch))
        elif what == "doubt":
            self.tell(Doubtful(stream.side, stream.epoch))
        elif what == "again" and stream.index:
            self.tell(Token(stream.side, stream.epoch, stream.index - 1, (stream.index - 1, stream.side)))
        elif what == "skip":
            self.failures += 1
            self.tell(Token(stream.side, stream.epoch, stream.index + 2, (stream.index + 2, stream.side)))
        elif what == "token":
            self.speak(stream)

    def tell(self, event: Event[tuple[int, Side]]) -> None:
        waiting = self.live.buffer.waiting
        for command in self.live.receive(event):
            self.obey(command, waiting)
        live = self.live
        if live.phase is MigrationPhase.OVER:
            assert self.over is not None
        self.read()

    def obey(self, command: Command, waiting: int) -> None:
        assert self.over is None, "nothing follows the end"
        if isinstance(command, Begin):
            assert command.accepted == self.live.buffer.count
            assert all(command.epoch > stream.epoch for stream in self.streams)
            failed = "failed" in command.reason
            assert failed or self.live.buffer.waiting >= 3, "the buffer hides a hand-over that was not forced"
            self.streams.append(Stream(command.side, command.epoch, command.accepted))
            self.begun += 1
        elif isinstance(command, Allow | Stop):
            (own,) = [stream for stream in self.streams if (stream.side, stream.epoch) == (command.side, command.epoch)]
            if isinstance(command, Stop):
                own.stopped = True
            else:
                own.limit = command.upto
                assert command.upto is None or command.upto <= self.live.buffer.count + 3
        else:
            self.over = command

    def read(self) -> None:
        self.seen += self.live.buffer.due(self.now)

    def speak(self, stream: Stream) -> None:
        """Deliver the stream's next token or its end."""
        if stream.limit is not None and stream.index >= stream.limit and not stream.stopped:
            return
        if stream.index >= self.answer:
            self.streams.remove(stream)
            self.streams.append(replace(stream, stopped=True, index=0))  # its epoch is known, it says no more
            # An end that the server says before it has taken over is not believed, and it is not started again.
            self.failures += stream.side == "server" and (stream.side, stream.epoch) != (
                self.live.side,
                self.live.epoch,
            )
            self.tell(Ended(stream.side, stream.epoch))
            return
        index = stream.index
        stream.index += 1
        self.tell(Token(stream.side, stream.epoch, index, (index, stream.side)))


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_no_interleaving_loses_repeats_or_reorders_a_token(data: st.DataObject) -> None:
    first: Side = data.draw(st.sampled_from(["device", "server"]))
    cheap = data.draw(st.booleans())
    costs = DEAR_DEVICE if cheap else Costs(0.1, 1.0, 1.0, 10.0)
    terms = replace(TERMS, costs=costs, guarded=data.draw(st.booleans()))
    world = World(Migration(terms, first), answer=data.draw(st.integers(1, 40)))
    world.streams.append(Stream(first, 0, 0))
    for _ in range(data.draw(st.integers(0, 120))):
        if world.over:
            break
        world.now += data.draw(st.sampled_from([0.0, 0.02, 0.2, 1.0]))
        world.happens(
            data.draw(st.sampled_from(["token"] * 8 + ["tick", "tick", "fail", "doubt", "again", "skip"])),
            data.draw(st.sampled_from(world.streams)),
        )
    for _ in range(20 * world.answer + 20):  # from here on the world is kind: it ends
        if world.over:
            break
        world.now += 0.2
        speaking = [stream for stream in world.streams if not stream.stopped]
        for stream in speaking:
            if not world.over:
                world.speak(stream)
        if not world.over:
            world.read()
            world.tell(Tick())
    assert world.over is not None, "no answer hangs"
    world.now += 100
    while world.live.buffer.waiting:
        world.read()
        world.now += 1
    assert [index for index, _ in world.seen] == list(range(len(world.seen)))
    owners = [side for _, side in world.seen]
    assert sum(before != after for before, after in pairwise(owners)) <= len(world.live.moves)
    if isinstance(world.over, Finish):
        assert len(world.seen) == world.answer
    else:
        assert world.failures >= 2


@pytest.mark.parametrize(("side", "counterpart"), [("device", "server"), ("server", "device")])
def test_there_are_two_sides(side: Side, counterpart: Side) -> None:
    assert other(side) == counterpart
