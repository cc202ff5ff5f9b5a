"""What of a passage stands for itself: a sentence, or a row of a table; and what it is understood with."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from shared.text import sentences
from shared.types import StoredPassage

SPEAKER = re.compile(r"([\w.’'\- ]{2,40}): ")
"""Before what somebody says in a chat or a transcript."""

_FIELDS = re.compile(r"[\w ]+: [^;]*; ")
"""How a row of a table is written: `name: Anna; birthday: 1987-05-03`."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A sentence or a row. `around` is the title, who says it and what stands beside it; of a row, the title and the
    heading alone: what another row says is not of this one.
    """

    text: str
    around: str
    is_row: bool


def units(passage: StoredPassage) -> Iterator[Unit]:
    """All of them, in order."""
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
