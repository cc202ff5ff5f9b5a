"""Which tokens of a joint answer are counted as sent from the device."""

from device_app.companion.link.request import SentTokens
from shared.protocol import messages as m


def test_what_left_counts_once_however_often_it_was_said() -> None:
    sent = SentTokens()
    for said in (m.Drafts(1, 0, 0, (5, 6)), m.Drafts(1, 0, 1, (6, 7)), m.Drafts(1, 2, 2, (7,), (b"x",)), m.Ping(1)):
        sent.add(said)
    assert (len(sent.drafts), len(sent.distributions), len(sent.settled)) == (4, 1, 0)
    sent.add(m.Targets(1, 3, (5, 6)))
    sent.add(m.Targets(1, 4, (6,)))
    assert len(sent.settled) == 2
