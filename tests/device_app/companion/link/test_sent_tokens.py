"""What of an answer written together is counted as having left the device."""

from device_app.companion.link.request import SentTokens
from shared.protocol import messages as m


def test_what_left_counts_once_however_often_it_was_said() -> None:
    told = SentTokens()
    for said in (m.Drafts(1, 0, 0, (5, 6)), m.Drafts(1, 0, 1, (6, 7)), m.Drafts(1, 2, 2, (7,), (b"x",)), m.Ping(1)):
        told.add(said)
    assert (len(told.drafts), len(told.distributions), len(told.settled)) == (4, 1, 0)
    told.add(m.Targets(1, 3, (5, 6)))
    told.add(m.Targets(1, 4, (6,)))
    assert len(told.settled) == 2
