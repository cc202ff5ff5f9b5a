"""Who says what in a passage: lines of chats, where the reader knows who takes part."""

import re
from collections.abc import Iterator

from shared.types import StoredPassage

_SPEAKER = re.compile(r"([^\W\d][\w .'’-]{0,40}):\s+(.+)")


def spoken(passage: StoredPassage) -> Iterator[tuple[str, str]]:
    """(speaker, words) of each line; "" where nobody is named."""
    for line in passage.text.splitlines():
        said = _SPEAKER.match(line)
        yield (said[1], said[2]) if said and said[1] in passage.people else ("", line)
