"""The state of the files that an answer cites. Does not read the disk: `freshness` does."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, Literal

from shared.types import Hit

SMALL_BYTES: Final = 64_000
"""Files up to this many bytes are read again while answering. Embedding new passages takes most of the time, on two
cores about 40 ms per passage of 100 words. `READ_AGAIN_S` in `ahead/reading` limits the time of that reading.
"""


@dataclass(frozen=True, slots=True)
class Stale:
    """A file that has changed or cannot be found since it was read; `reason` explains that in a sentence for the user.

    `state` is `changed` if the answer used the file's old text, `gone` if the file was deleted and not used, or `away`
    if its folder cannot be opened and the answer used the text as it was read.
    """

    path: str
    state: Literal["changed", "gone", "away"]
    reason: str


@dataclass(slots=True)
class Looked:
    """The files checked for one answer, each at most once: their paths as `seen`, those that are `gone`, and the
    changes.

    `read` says whether any file was read again; `room` is the number of bytes of files that may still be read.
    """

    seen: set[bytes] = field(default_factory=set)
    gone: set[bytes] = field(default_factory=set)
    stale: list[Stale] = field(default_factory=list)
    read: bool = False
    room: int = SMALL_BYTES

    def of(self, hits: Iterable[Hit]) -> tuple[Stale, ...]:
        """Return the changed or missing files to report with an answer: those that its sources cite, and all that are
        gone.
        """
        cited = {passage.path for hit in hits for passage in (hit.passage, *hit.copies)}
        return tuple(file for file in self.stale if file.state == "gone" or file.path in cited)
