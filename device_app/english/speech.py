"""Finds the speaker and the words of each line of a passage, for chats whose participants are known."""

import re
from collections.abc import Iterable, Iterator

from shared.types import StoredPassage

_SPEAKER = re.compile(r"([^\W\d][\w .'’-]{0,40}):\s+(.+)")


def spoken(passage: StoredPassage) -> Iterator[tuple[str, str]]:
    """Yield the speaker and the words of each line; the speaker is "" if none is named."""
    names = speakers(passage.people)
    for line in passage.text.splitlines():
        said = _SPEAKER.match(line)
        yield (said[1], said[2]) if said and said[1] in names else ("", line)


def speakers(people: Iterable[str]) -> frozenset[str]:
    """Return the names under which a document's people speak in it."""
    return frozenset(person.partition(" <")[0] for person in people)
