"""The device's part of a joint answer, which device and server generate together; the server's messages are
scripted.
"""

from types import SimpleNamespace
from typing import cast

import pytest

from device_app.companion.link.link import Link
from device_app.companion.link.request import OnEvent, RemoteRequest
from shared.protocol import messages as m
from tests.jointly import Written, together


class Played:
    """A fake link that delivers all of the server's messages for an answer as soon as the answer is requested."""

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
        """Drop the message: the server's messages are fixed in advance."""


@pytest.mark.parametrize("most", [1, 2, 9, 120])
def test_of_a_server_that_is_far_ahead_nothing_is_missed(most: int) -> None:
    text = bytes(range(most))
    link = Played(
        m.Sources(1, ()),
        m.Weight(1, 40.0),  # high enough that every token is the server's
        m.Queued(1, 0, 0),
        *(m.Drafts(1, 0, place, (token,)) for place, token in enumerate(text)),
        m.Finished(1, "length", m.Usage(0, 0, most, 0)),
    )
    joint = Written(cast(Link, link), together(max_tokens=most, similarity=0.0))
    assert (bytes(joint.settled), joint.report.alone, joint.report.together) == (text, "", most)
