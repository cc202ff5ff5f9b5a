"""What was found out about the files that an answer cites. Looks at no disk: that is `freshness`."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, Literal

from shared.types import Hit

SMALL_BYTES: Final = 64_000
"""Files up to this size are read again within an answer: embedding what is new of one takes most of the time, on two
cores about 40 ms a passage of 100 words. `build.READ_AGAIN_S` ends it where that takes too long.
"""


@dataclass(frozen=True, slots=True)
class Stale:
    """A file that is not as it was read: `changed` and answered from its old text, `gone` and not used, or `away`, in a
    folder that cannot be looked into, and used as it was read. `reason` is a sentence for the person.
    """

    path: str
    state: Literal["changed", "gone", "away"]
    reason: str


@dataclass(slots=True)
class Looked:
    """What was found out about files for one answer; each is looked at once.

    `read` says whether any was read again, and `room` how many bytes of files still may be.
    """

    seen: set[bytes] = field(default_factory=set)
    gone: set[bytes] = field(default_factory=set)
    stale: list[Stale] = field(default_factory=list)
    read: bool = False
    room: int = SMALL_BYTES

    def of(self, hits: Iterable[Hit]) -> tuple[Stale, ...]:
        """What is to be told of an answer with these sources: of each of their files, and of those that are gone."""
        cited = {passage.path for hit in hits for passage in (hit.passage, *hit.copies)}
        return tuple(file for file in self.stale if file.state == "gone" or file.path in cited)
