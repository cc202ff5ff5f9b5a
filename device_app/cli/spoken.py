"""`jackdaw ask --voice` and `--speak`: asks a question by voice, and reads an answer aloud."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from device_app.system.voice import LISTEN, SPEAK, have, listen, read_aloud
from shared.errors import PhoneSilent, UsageError
from shared.printable import safe_line

if TYPE_CHECKING:
    from device_app.question.answer import Answer
    from device_app.settings import Settings

DISAGREED: Final = (
    "Speaking a question uses the phone's own speech recogniser, which may send the sound to its maker's servers. "
    "Jackdaw itself sends nothing. If you agree: jackdaw config set phone.voice true"
)


def require(question: tuple[str, ...], *, voice: bool, speak: bool, again: bool) -> None:
    """Raise UsageError if the question is also given as text, PhoneSilent if this device cannot listen or speak."""
    if voice and (question or again):
        raise UsageError("--voice asks for the question. Leave out the words, or --again.")
    for is_asked, command in ((voice, LISTEN), (speak, SPEAK)):
        if is_asked:
            have(command)


def question(settings: Settings) -> str:
    """Return the question that a person speaks, and print it. Raises UsageError without their consent; PhoneSilent."""
    if not settings.phone.voice:
        raise UsageError(DISAGREED)
    said = listen("Ask Jackdaw")
    click.echo(f"> {safe_line(said)}", err=True)
    return said


def say(answer: Answer | None) -> None:
    """Read the answer aloud, if there is one. A failure is printed as a note, as the answer is on the screen."""
    try:
        read_aloud(answer.text if answer else "")
    except PhoneSilent as error:
        click.echo(safe_line(str(error)), err=True)
