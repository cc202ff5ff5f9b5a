"""Splits a passage into units, each a sentence or a row of a table, with the context needed to understand it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from shared.text import sentences
from shared.types import StoredPassage

SPEAKER = re.compile(r"([\w.’'\- ]{2,40}): ")
"""Matches a speaker's name before the words of a line in a chat or a transcript."""

_FIELDS = re.compile(r"[\w ]+: [^;]*; ")
"""Matches a row of a table in the program's own form: `name: Anna; birthday: 1987-05-03`."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A sentence or a row of a table. `around` is its context.

    For a sentence, the context is the title, the speaker and the adjacent sentences; for a row, only the title and the
    heading, since other rows do not explain it.
    """

    text: str
    around: str
    is_row: bool


def units(passage: StoredPassage) -> Iterator[Unit]:
    """Yield the sentences and rows of the passage in order."""
    lines = [line for line in passage.text.splitlines() if line.strip()]
    rows = [bool(_FIELDS.match(line)) or line.count("|") > 1 or line.count(";") > 1 for line in lines]
    for place, line in enumerate(lines):
        if rows[place]:
            heading = lines[0] if "|" in lines[0] else ""
            yield Unit(line.strip(), f"{passage.title} {heading}", is_row=True)
            continue
        speaker = SPEAKER.match(line)
        cut = sentences(line)
        for number, sentence in enumerate(cut):
            before = lines[place - 1] if number < 2 and place and not rows[place - 1] else ""
            beside = [*cut[max(0, number - 2) : number], *cut[number + 1 : number + 2]]
            yield Unit(
                sentence, " ".join([passage.title, speaker[1] if speaker else "", before, *beside]), is_row=False
            )
