"""Which messages are allowed for a joint answer, by its rule and its aggregating side; and which a device repeats after
a cut.
"""

import msgspec
import pytest

from shared.errors import ProtocolError
from shared.protocol import messages as m
from shared.protocol.messages import CloseCode
from shared.protocol.repeating import needed_again
from shared.protocol.together import Together

GREEDY = m.Ask(1, "?", True, 3, 64, 0, ahead=8, rule="greedy", place="device")
COUPLED = m.Ask(1, "?", True, 3, 64, 0, ahead=8)
BOTH = m.Ask(1, "?", True, 3, 64, 0, ahead=8, rule="algorithm1")
DEVICE = m.Ask(1, "?", True, 3, 64, 0, ahead=8, rule="algorithm1", place="device")
PIECE = bytes(m.PIECE_BYTES)


def order(ask: m.Ask, *said: m.JointFromServer) -> Together:
    """Return the checker of the order of messages for a joint answer, after these messages of the server."""
    together = Together(ask, by_text=False)
    for event in (m.Weight(1, 0.0), *said):
        together.advance(event)
    return together


@pytest.mark.parametrize(
    "ask",
    [
        msgspec.structs.replace(GREEDY, place="both"),
        msgspec.structs.replace(GREEDY, place="server"),
        msgspec.structs.replace(GREEDY, sampling=m.Sampling(temperature=0.7)),
        msgspec.structs.replace(COUPLED, accepted=(1,)),
    ],
)
def test_what_contradicts_itself_is_refused(ask: m.Ask) -> None:
    with pytest.raises(ProtocolError) as caught:
        Together(ask, by_text=False)
    assert caught.value.code == CloseCode.ILLEGAL


@pytest.mark.parametrize(
    ("ask", "said", "code"),
    [
        (COUPLED, m.Drafts(1, 0, 0, (5, 6)), None),
        (COUPLED, m.Drafts(1, 0, 0, (5,), (b"5",)), CloseCode.ILLEGAL),
        (COUPLED, m.Targets(1, 0, (5,)), CloseCode.ILLEGAL),
        (COUPLED, m.Switch(1, 3, 0, 0), CloseCode.ILLEGAL),
        (COUPLED, m.Fetch(1, 0, 256), CloseCode.ILLEGAL),
        (BOTH, m.Drafts(1, 0, 0, (5,), (b"5",)), None),
        (BOTH, m.Drafts(1, 0, 0, (5, 6), (b"5",)), CloseCode.ILLEGAL),
        (BOTH, m.Targets(1, 0, (5,)), CloseCode.ILLEGAL),
        (DEVICE, m.Targets(1, 0, (5,)), None),
        (DEVICE, m.Targets(1, 63, (5, 6)), CloseCode.ORDER),
        (DEVICE, m.Switch(1, 3, 0, 0), None),
        (DEVICE, m.Switch(1, 64, 0, 0), CloseCode.ORDER),
        (DEVICE, m.Fetch(1, 0, 256), CloseCode.ILLEGAL),
        (BOTH, m.RoundTrip(1, 50_000), CloseCode.ILLEGAL),
        (DEVICE, m.RoundTrip(1, 50_000), None),
        (GREEDY, m.RoundTrip(1, 50_000), CloseCode.ILLEGAL),
        (BOTH, m.FollowingWeight(1, 12.5, 8), None),
        (GREEDY, m.FollowingWeight(1, 12.5, 8), CloseCode.ILLEGAL),
        (GREEDY, m.Reweight(1, 16, 0.5), CloseCode.ILLEGAL),
        (GREEDY, m.Drafts(1, 0, 0, (5,), (b"5",)), CloseCode.ILLEGAL),
        (GREEDY, m.Targets(1, 0, (5,)), None),
        (GREEDY, m.Switch(1, 3, 0, 0), CloseCode.ILLEGAL),
        (GREEDY, m.Fetch(1, 63, 256), None),
        (GREEDY, m.Fetch(1, 64, 256), CloseCode.ILLEGAL),
    ],
)
def test_what_a_device_may_say(ask: m.Ask, said: m.JointFromDevice, code: CloseCode | None) -> None:
    joint = order(ask)
    if code is None:
        assert joint.on_message(said)
        return
    with pytest.raises(ProtocolError) as caught:
        joint.on_message(said)
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("ask", "said", "code"),
    [
        (COUPLED, m.Targets(1, 0, (5,)), CloseCode.ILLEGAL),
        (COUPLED, m.Weight(1, 0.0), CloseCode.ILLEGAL),
        (DEVICE, m.Targets(1, 0, (5,)), None),
        (DEVICE, m.Rest(1, 0, 0, 1, b"."), CloseCode.ILLEGAL),
        (GREEDY, m.Drafts(1, 0, 0, (5,), (b"5",)), None),
        (GREEDY, m.Drafts(1, 0, 0, (5,)), CloseCode.ILLEGAL),
        (GREEDY, m.Rest(1, 0, 0, 1, b"."), CloseCode.ILLEGAL),
    ],
)
def test_what_a_server_may_say(ask: m.Ask, said: m.JointFromServer, code: CloseCode | None) -> None:
    if code is None:
        order(ask, said)
        return
    with pytest.raises(ProtocolError) as caught:
        order(ask, said)
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("said", "code"),
    [
        (m.FollowingWeight(1, 12.5, 8), None),
        (m.FollowingWeight(1, 12.5, 16), CloseCode.ILLEGAL),
        (m.Reweight(1, 16, 0.5), None),
        (m.Reweight(1, 8, 0.5), CloseCode.ORDER),
        (m.Reweight(1, 17, 0.5), CloseCode.ORDER),
        (m.Reweight(1, 56, 0.5), None),
        (m.Reweight(1, 64, 0.5), CloseCode.ORDER),
    ],
)
def test_the_devices_weight_changes_at_the_agreed_positions_alone(
    said: m.JointFromDevice, code: CloseCode | None
) -> None:
    joint = order(BOTH)
    with pytest.raises(ProtocolError):
        joint.on_message(m.Reweight(1, 16, 0.5))
    joint.on_message(m.FollowingWeight(1, 12.5, 8))
    if code is None:
        assert joint.on_message(said)
        return
    with pytest.raises(ProtocolError) as caught:
        joint.on_message(said)
    assert caught.value.code == code


def test_a_rest_comes_in_pieces_one_behind_the_other() -> None:
    joint = order(GREEDY)
    assert joint.on_message(m.Fetch(1, 3, 4096))
    size = 2 * len(PIECE) + 1
    for offset, data in ((0, PIECE), (len(PIECE), PIECE), (2 * len(PIECE), b".")):
        joint.advance(m.Rest(1, 3, offset, size, data))
    with pytest.raises(ProtocolError, match="nobody asked"):
        joint.advance(m.Rest(1, 3, 0, size, PIECE))


@pytest.mark.parametrize(
    "piece",
    [
        m.Rest(1, 3, 2 * len(PIECE), 9 * len(PIECE), PIECE),
        m.Rest(1, 3, len(PIECE), 9 * len(PIECE), PIECE[1:]),
        m.Rest(1, 3, len(PIECE), 8 * len(PIECE), PIECE),
        m.Rest(1, 2, len(PIECE), 9 * len(PIECE), PIECE),
        m.Rest(1, 3, 9 * len(PIECE), 9 * len(PIECE), PIECE),
    ],
    ids=["one is missing", "too short", "of another whole", "of another position", "behind the end"],
)
def test_a_piece_out_of_order_is_refused(piece: m.Rest) -> None:
    joint = order(GREEDY)
    joint.on_message(m.Fetch(1, 3, 4096))
    joint.advance(m.Rest(1, 3, 0, 9 * len(PIECE), PIECE))
    with pytest.raises(ProtocolError):
        joint.advance(piece)


def test_a_position_is_asked_for_a_few_times_at_most() -> None:
    joint = order(GREEDY)
    for count in range(m.MOST_FETCHES):
        assert joint.on_message(m.Fetch(1, 3, 256 + count))
        assert not joint.on_message(m.Fetch(1, 3, 256 + count)), "said again"
    assert not joint.on_message(m.Fetch(1, 2, 9999)), "it is settled"
    with pytest.raises(ProtocolError) as caught:
        joint.on_message(m.Fetch(1, 3, 9999))
    assert caught.value.code == CloseCode.CREDIT
    assert joint.on_message(m.Fetch(1, 4, 256))


SAID: list[m.JointFromDevice] = [
    m.Weight(1, 0.0),
    m.Targets(1, 0, (5, 6)),
    m.Switch(1, 2, 0, 0),
    m.Drafts(1, 0, 2, (7,), (b"7",)),
    m.Drafts(1, 0, 3, (8,), (b"8",)),
]


@pytest.mark.parametrize(
    ("ask", "said", "event", "left"),
    [
        (DEVICE, SAID, m.Drafts(1, 0, 0, (5, 6), (b"5", b"6")), SAID),
        (DEVICE, SAID, m.Drafts(1, 0, 9, (5,), (b"5",)), [SAID[0], *SAID[2:]]),
        (DEVICE, SAID, m.Targets(1, 2, (7,)), [SAID[0], SAID[4]]),
        (
            DEVICE,
            [SAID[0], m.RoundTrip(1, 9), m.RoundTrip(1, 8), SAID[4]],
            m.Targets(1, 2, (7,)),
            [SAID[0], m.RoundTrip(1, 8), SAID[4]],
        ),
        (
            BOTH,
            [m.FollowingWeight(1, 9.0, 8), m.Reweight(1, 16, 0.5), m.Reweight(1, 24, 0.4), m.Reweight(1, 32, 0.3)],
            m.Drafts(1, 26, 30, (5,), (b"5",)),
            [m.FollowingWeight(1, 9.0, 8), m.Reweight(1, 24, 0.4), m.Reweight(1, 32, 0.3)],
        ),
        (GREEDY, [m.Fetch(1, 3, 9), m.Fetch(1, 5, 9)], m.Drafts(1, 4, 4, (5,), (b"5",)), [m.Fetch(1, 5, 9)]),
    ],
)
def test_what_the_server_must_have_heard_is_not_said_again(
    ask: m.Ask, said: list[m.JointFromDevice], event: m.Drafts | m.Targets, left: list[m.JointFromDevice]
) -> None:
    assert needed_again(ask, said, event) == left
