"""The phone's sources: what each contains, the command that lists it, and the name under which it is stored."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from shared.errors import PhoneSilent
from shared.types import StoredPassage

PREFIX: Final = "phone:"
"""The prefix of the stored names of phone sources, in the place of a file's path; no file's path begins so."""

SECONDS: Final = 20.0
"""Seconds to wait for a page of a source: a phone with many messages takes that long."""


@dataclass(frozen=True, slots=True)
class Source:
    """A phone source: its name, the command that lists it, and a description of its content for the person's consent.

    `is_paged`: the command lists it in pages, the newest entries first.
    """

    name: str
    command: str
    what: str
    arguments: tuple[str, ...] = ()
    is_paged: bool = True

    @property
    def path(self) -> bytes:
        """The name under which the source is stored, in the place of a file's path."""
        return f"{PREFIX}{self.name}".encode()


MESSAGES = Source(
    "messages", "termux-sms-list", "the text messages (SMS) on this phone, except one-time codes", ("-t", "all")
)
CONTACTS = Source("contacts", "termux-contact-list", "the names and numbers of your contacts", is_paged=False)
CALLS = Source("calls", "termux-call-log", "who called whom, when, and for how long")

SOURCES = {source.name: source for source in (MESSAGES, CONTACTS, CALLS)}

Fetch = Callable[[Source, int, int], Sequence[object]]
"""Lists a page of a source, given the number of entries to skip and the most to list. Raises PhoneSilent."""


def is_of_phone(path: bytes | str) -> bool:
    """Return whether a stored path is the name of a phone source."""
    return path.startswith(PREFIX) if isinstance(path, str) else path.startswith(PREFIX.encode())


def passage_is_of_phone(passage: StoredPassage) -> bool:
    """Return whether a passage is from a phone source."""
    return is_of_phone(passage.path)


def fetch(source: Source, skip: int, most: int) -> Sequence[object]:
    """List a page of a source by its command, after `skip` entries, at most `most`.

    Raises PhoneSilent with the next step for the person.
    """
    from device_app.system import phone, termux
    from device_app.system.commands import MOST_BYTES

    arguments = ("-l", str(most), "-o", str(skip), *source.arguments) if source.is_paged else source.arguments
    if termux.find(source.command) is None and not phone.is_phone():
        raise PhoneSilent(
            f"The {source.name} can be read only in Termux, on an Android phone: there is no {source.command} on this "
            "device."
        )
    listed, reply = termux.call_json(source.command, *arguments, seconds=SECONDS)
    if source.is_paged and most > 1 and f"{MOST_BYTES:,} bytes" in reply.problem:  # long messages
        half = most // 2
        return [*fetch(source, skip + half, most - half), *fetch(source, skip, half)]
    if not isinstance(listed, list):
        problem = reply.problem or f"{source.command} prints no list. Update the app Termux:API"
        raise PhoneSilent(f"The {source.name} cannot be read: {problem}.")
    return listed
