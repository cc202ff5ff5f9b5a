"""What the app tells the user about which data may leave the device."""

from dataclasses import replace

import pytest

from device_app.settings import Link
from device_app.tui.edge.preferences import Companion
from device_app.tui.settings.private import ways

LINK = Link()


def shown(link: Link) -> str:
    return " ".join(str(ways(Companion("wss://home:8765", link))).split())


@pytest.mark.parametrize(
    ("link", "said", "unsaid"),
    [
        (replace(LINK, allowed=False), "may not be asked", "rafts"),
        (replace(LINK, together="asked"), "sent only with /together", "far more"),
        (LINK, "Drafts of the answer are sent only with", "far more"),
        (replace(LINK, together="fitting"), "where that is faster", "only with"),
        (replace(LINK, privacy="open"), "reveal far more of your files", "fitting"),
    ],
)
def test_it_follows_the_settings(link: Link, said: str, unsaid: str) -> None:
    assert said in shown(link)
    assert unsaid not in shown(link)


def test_what_today_took_is_said() -> None:
    companion = Companion("wss://home:8765", LINK, "Today's answers took 5 joules.")
    assert companion.spent in str(ways(companion))
    assert "Today" not in shown(LINK)


def test_without_a_server_there_is_nobody_to_send_to() -> None:
    assert "No server is connected" in str(ways(None))
