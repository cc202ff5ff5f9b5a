"""The documentation page of the protocol agrees with the code."""

from typing import get_args

from scripts import protocol_page
from shared.protocol import codec
from shared.protocol import messages as m


def test_the_page_is_current() -> None:
    """The page is generated: if this fails, run `python -m scripts.protocol_page`."""
    written = protocol_page.PAGE.read_text("utf-8")
    assert protocol_page.page(written) == written


def test_the_page_shows_every_message() -> None:
    down = {type(said.event if isinstance(said, m.Numbered) else said) for said in protocol_page.FROM_SERVER}
    assert down | {m.Numbered} == {*get_args(m.FromServer), *get_args(m.Event)}
    assert {type(said) for said in protocol_page.FROM_DEVICE} | {m.Closing} == {*get_args(m.FromDevice)}


def test_every_example_of_the_page_is_read_as_what_it_shows() -> None:
    for up in protocol_page.FROM_DEVICE:
        assert codec.from_device(codec.device_frame(up)) == up
    for down in protocol_page.FROM_SERVER:
        assert codec.from_server(codec.server_frame(down)) == down
