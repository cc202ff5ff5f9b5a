"""The device's end of an answer that both sides write, with a server that is played message by message."""

from types import SimpleNamespace
from typing import cast

import pytest

from device_app.companion.link.link import Link
from device_app.companion.link.request import OnEvent, RemoteRequest
from shared.protocol import messages as m
from tests.jointly import Written, together


class Played:
    """A link on which all that a server says of an answer is there before the device has read the first word of it."""

    incompatible_reason = ""
    state = SimpleNamespace(connected=True, round_trip_s=None, offer=SimpleNamespace(max_tokens=120, aggregation=()))

    def __init__(self, *said: m.Event) -> None:
        self._said = said

    def ask(self, ask: m.Ask, on_event: OnEvent) -> RemoteRequest:
        request = RemoteRequest(cast(Link, self), ask.request, ask.credit, on_event)
        for message in self._said:
            on_event(request, message)
        return request

    def send(self, request: RemoteRequest, message: m.JointFromDevice) -> None:
        """Nobody hears it."""


@pytest.mark.parametrize("most", [1, 2, 9, 120])
def test_of_a_server_that_is_far_ahead_nothing_is_missed(most: int) -> None:
    text = bytes(range(most))
    link = Played(
        m.Sources(1, ()),
        m.Weight(1, 40.0),  # so much that every token is the server's
        m.Queued(1, 0, 0),
        *(m.Drafts(1, 0, place, (token,)) for place, token in enumerate(text)),
        m.Finished(1, "length", m.Usage(0, 0, most, 0)),
    )
    joint = Written(cast(Link, link), together(max_tokens=most, similarity=0.0))
    assert (bytes(joint.settled), joint.report.alone, joint.report.together) == (text, "", most)
