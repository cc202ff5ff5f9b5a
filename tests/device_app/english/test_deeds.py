"""Which messages say that their speakers did something."""

import pytest

from device_app.english.deeds import tells_of
from device_app.english.words import content_words


def tells(message: str, deed: str, what: str, *, is_base: bool) -> bool:
    return tells_of(message, deed, content_words(what), is_base=is_base)


@pytest.mark.parametrize(
    ("message", "what"),
    [
        ("I passed the exam!", "pass the exam"),
        ("Good news. I have finally passed the exam", "pass the exam"),
        ("We’ve sold the kayak", "sell the kayak"),
        ("Just ordered the tiles", "order the tiles"),
        ("I put the key under the stone", "put the key away"),
        ("I think I lost the key", "lose the key"),
    ],
)
def test_a_message_tells_of_a_deed(message: str, what: str) -> None:
    assert tells(message, what.split(maxsplit=1)[0], what, is_base=True)


@pytest.mark.parametrize(
    ("message", "what"),
    [
        ("I bring the kayak on Sunday", "bring the kayak"),
        ("I move the boat tomorrow", "move the boat"),
        ("I am selling the kayak", "sell the kayak"),
        ("I will pass the exam", "pass the exam"),
        ("I did not pass the exam", "pass the exam"),
        ("I nearly broke the vase", "break the vase"),
        ("I wish I had sold the kayak", "sell the kayak"),
        ("Mark said I sold the kayak", "sell the kayak"),
        ("I hear that Petra sold the kayak", "sell the kayak"),
        ("Have I sold the kayak?", "sell the kayak"),
        ("When I sold the bakery, the kayak was old", "sell the kayak"),
        ("I sold the car. The kayak is blue", "sell the kayak"),
    ],
)
def test_a_message_tells_of_no_deed(message: str, what: str) -> None:
    assert not tells(message, what.split(maxsplit=1)[0], what, is_base=True)


def test_who_did_it_is_asked_in_the_past() -> None:
    assert tells("I brought the kayak", "brought", "brought the kayak", is_base=False)
    assert not tells("I bring the kayak", "brought", "brought the kayak", is_base=False)
    assert not tells("I bring the kayak", "bring", "bring the kayak", is_base=True)
