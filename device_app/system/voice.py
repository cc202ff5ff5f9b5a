"""Uses the phone's own voice: its speech recogniser, and its reading aloud. Independent of questions and models."""

import re
from typing import Final

from device_app.system import phone, termux
from shared.errors import NothingFound, PhoneSilent

LISTEN: Final = "termux-dialog"
SPEAK: Final = "termux-tts-speak"

LISTEN_S: Final = 90.0
"""Seconds to wait for the dialog in which the person speaks."""

_SPEAK_S, _CHARACTERS_A_SECOND = 15.0, 6.0
"""Seconds until the phone begins to speak, and the slowest speech in characters per second."""

_MARKS = re.compile(r"\[\d+\]|[*_`#>|]|^\s*[-+•]\s+", re.MULTILINE)


def have(command: str) -> None:
    """Raise PhoneSilent, with the next step for the person, if this device lacks the command."""
    if termux.find(command) is None:
        needs = "Run: pkg install termux-api" if phone.is_phone() else "It works on an Android phone, in Termux"
        raise PhoneSilent(f"This device has no command for the phone's voice ({command}). {needs}.")


def listen(title: str) -> str:
    """Return what a person says into the phone's dialog. Raises PhoneSilent; NothingFound if nothing was heard."""
    said, reply = termux.call_json(LISTEN, "speech", "-t", title, seconds=LISTEN_S)
    if not isinstance(said, dict):
        raise PhoneSilent(f"The phone did not listen: {reply.problem or f'{LISTEN} prints no answer'}.")
    text = said.get("text")
    if not isinstance(text, str) or not text.strip():
        raise NothingFound('Nothing was understood. Speak again, or type the question: jackdaw ask "…"')
    return " ".join(text.split())


def read_aloud(text: str) -> None:
    """Let the phone read a text aloud, and wait until it has finished. Raises PhoneSilent."""
    said, path = speakable(text), termux.find(SPEAK)
    if not said or path is None:
        return
    import subprocess

    from device_app.system.commands import MOST_GIVEN, output  # here, as few answers are spoken

    words = said.encode()[:MOST_GIVEN].decode(errors="ignore").encode()
    try:
        output((path,), _SPEAK_S + len(words) / _CHARACTERS_A_SECOND, given=words)
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        why = "reading aloud did not end" if isinstance(error, subprocess.TimeoutExpired) else str(error)
        raise PhoneSilent(
            f"The phone did not speak: {why}. Is the app Termux:API installed, and opened once?"
        ) from error


def speakable(text: str) -> str:
    """Return a text without the parts that are not read aloud: marks, numbers of sources, line breaks."""
    return " ".join(_MARKS.sub(" ", text).split())
