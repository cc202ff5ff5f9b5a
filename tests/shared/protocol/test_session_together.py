"""The order of messages that a session allows while a joint answer is generated."""

from collections.abc import Sequence

import msgspec
import pytest

from shared.errors import ProtocolError
from shared.protocol import codec
from shared.protocol import messages as m
from shared.protocol.messages import CloseCode
from shared.protocol.server import ServerSession
from tests.sessions import OFFER, PASSAGE, SESSION, USAGE, Link, ask, event, lossy, refused

JOINT = ask(credit=0, ahead=4)


def test_an_answer_is_written_together() -> None:
    link = Link().connect()
    link.says(JOINT)
    link.says(m.Weight(1, 12.5))
    link.says(m.Drafts(1, 0, 0, (5, 6)))
    assert link.server.sendable(1) == 0
    link.answers(m.Sources(1, (PASSAGE,)), m.Weight(1, None), m.Queued(1, 0, 0))
    assert link.server.sendable(1) == 64
    link.answers(m.Drafts(1, 0, 0, (5,)), m.Drafts(1, 1, 1, (8, 9)))
    link.says(m.Drafts(1, 0, 2, (7,)))
    link.answers(m.Finished(1, "end", USAGE))
    assert link.at_device[-3:] == [m.Drafts(1, 0, 0, (5,)), m.Drafts(1, 1, 1, (8, 9)), m.Finished(1, "end", USAGE)]
    assert link.at_server[:4] == [JOINT, m.Weight(1, 12.5), m.Drafts(1, 0, 0, (5, 6)), m.Drafts(1, 0, 2, (7,))]
    assert link.device.alive == link.server.alive == ()


def test_after_a_cut_weight_and_drafts_are_said_again() -> None:
    link = Link().connect()
    link.says(JOINT)
    link.answers(m.Sources(1, ()), m.Weight(1, 1.0))
    lossy(link, m.Weight(1, 2.0), m.Drafts(1, 0, 0, (5, 6)), m.Drafts(1, 1, 1, (7,)))
    link.connect()
    said = [m.Weight(1, 2.0), m.Drafts(1, 0, 0, (5, 6)), m.Drafts(1, 1, 1, (7,))]
    assert link.at_server[-3:] == said
    link.answers(m.Drafts(1, 0, 0, (5, 9, 9, 9)))
    link.connect()
    assert link.at_server[-3:] == said, "the server may not know that position 0 is settled"
    link.answers(m.Drafts(1, 1, 1, (9, 9, 9, 9)))
    link.connect()
    assert link.at_server[-2:] == [m.Weight(1, 2.0), m.Drafts(1, 1, 1, (7,))]
    link.answers(m.Finished(1, "end", USAGE))
    link.connect()
    assert link.at_server[-1] != m.Drafts(1, 1, 1, (7,))


@pytest.mark.parametrize(
    "changes", [{"generate": False}, {"accepted": (1,)}, {"sources": (1,)}], ids=["search", "go on", "named sources"]
)
def test_only_a_whole_answer_is_written_together(changes: dict[str, object]) -> None:
    link, wrong = Link().connect(), msgspec.structs.replace(JOINT, **changes)
    with pytest.raises(ProtocolError):
        link.device.send(wrong)
    refused(CloseCode.ILLEGAL, codec.device_frame(wrong), link.server)


@pytest.mark.parametrize("differs", ["vocabulary", "embedder", "receives"])
def test_sides_that_differ_write_nothing_together(differs: str) -> None:
    given: dict[str, object] = {differs: ("question",) if differs == "receives" else "others"}
    link = Link(server=ServerSession(SESSION, msgspec.structs.replace(OFFER, **given))).connect()
    with pytest.raises(ProtocolError):
        link.device.send(JOINT)
    refused(CloseCode.ILLEGAL, codec.device_frame(JOINT), link.server)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (CloseCode.ORDER, m.Drafts(1, 3, 2, (5,))),
        (CloseCode.ORDER, m.Drafts(1, 0, 62, (5, 6, 7))),
        (CloseCode.CREDIT, m.Drafts(1, 0, 0, (5, 6, 7, 8, 9))),
        (CloseCode.ILLEGAL, m.Drafts(2, 0, 0, (5,))),
        (CloseCode.ILLEGAL, m.Weight(3, 0.0)),
    ],
)
def test_drafts_out_of_order_end_the_session(code: CloseCode, said: m.Weight | m.Drafts) -> None:
    link = Link().connect()
    link.says(JOINT)
    link.says(ask(2))
    refused(code, codec.device_frame(said), link.server)
    other = Link().connect()
    other.says(JOINT)
    other.says(ask(2))
    other.answers(m.Sources(1, ()), m.Sources(2, ()), m.Weight(1, 0.0))
    if isinstance(said, m.Drafts):
        refused(code, event(4, said), other.device)


@pytest.mark.parametrize(
    "events",
    [
        (m.Weight(1, 0.0),),
        (m.Sources(1, ()), m.Drafts(1, 0, 0, (5,))),
        (m.Sources(1, ()), m.Weight(1, 0.0), m.Weight(1, 0.0)),
        (m.Sources(1, ()), m.Weight(1, 0.0), m.Tokens(1, 0, (5,))),
        (m.Sources(1, ()), m.Weight(1, 0.0), m.Drafts(1, 0, 0, (5,)), m.Queued(1, 0, 0)),
    ],
)
def test_a_server_keeps_to_the_order_of_what_is_written_together(events: Sequence[m.Event]) -> None:
    link = Link().connect()
    link.says(JOINT)
    link.answers(*events[:-1])
    with pytest.raises(ProtocolError):
        link.server.send(events[-1])
    refused(CloseCode.ILLEGAL, event(len(events), events[-1]), link.device)


def test_of_a_request_that_ended_drafts_mean_nothing() -> None:
    link = Link().connect()
    link.says(JOINT)
    link.answers(m.Failed(1, "no_source", ""))
    assert link.device.send(m.Drafts(1, 0, 0, (5,))) == []
    assert link.server.receive(codec.device_frame(m.Drafts(1, 0, 0, (5,)))).events == []


def test_a_round_trip_is_told_to_a_server_that_uses_it_and_to_no_other() -> None:
    alone = ask(credit=0, ahead=4, rule="algorithm1", place="server")
    link = Link(server=ServerSession(SESSION, msgspec.structs.replace(OFFER, aggregation=("scheduled",)))).connect()
    link.says(alone)
    link.says(m.RoundTrip(1, 50_000))
    assert link.at_server[-1] == m.RoundTrip(1, 50_000)
    older = Link().connect()
    older.says(alone)
    refused(CloseCode.ILLEGAL, codec.device_frame(m.RoundTrip(1, 50_000)), older.server)
    with pytest.raises(ProtocolError, match="did not offer to choose the deciding side by round-trip times"):
        older.device.send(m.RoundTrip(1, 50_000))


def test_weights_that_follow_the_text_are_told_to_a_server_that_offers_them_and_to_no_other() -> None:
    alone = ask(credit=0, ahead=4, rule="algorithm1")
    link = Link(server=ServerSession(SESSION, msgspec.structs.replace(OFFER, follows_text=True))).connect()
    link.says(alone)
    for said in (m.FollowingWeight(1, 12.5, 8), m.Reweight(1, 16, 0.5)):
        link.says(said)
        assert link.at_server[-1] == said
    older = Link().connect()
    older.says(alone)
    refused(CloseCode.ILLEGAL, codec.device_frame(m.FollowingWeight(1, 12.5, 8)), older.server)
    with pytest.raises(ProtocolError, match="did not offer weights that follow the text"):
        older.device.send(m.FollowingWeight(1, 12.5, 8))
