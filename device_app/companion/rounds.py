"""A server's rounds of retrieval for an answer, made safe to show, and the passages that they added."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from device_app.question.answer import LookedUp
from shared.printable import safe_line
from shared.protocol import messages as m

MOST_FURTHER: Final = 32
"""The most passages from later rounds that become sources of one answer."""


@dataclass(slots=True)
class Rounds:
    """The server's rounds of retrieval for one answer.

    `looked_up` are all rounds, `further` the passages of later rounds that were not among the answer's sources.
    """

    looked_up: list[LookedUp] = field(default_factory=list)
    further: list[m.PublicPassage] = field(default_factory=list)
    _known: set[int] | None = None

    def begin_answer(self, sources: Iterable[m.PublicPassage]) -> None:
        """Record that the sources have come, so that later rounds count as rounds of the answer."""
        self._known = {passage.id for passage in sources}

    def add(self, said: m.Round) -> None:
        """Add the server's next round of retrieval."""
        queries = tuple(map(safe_line, said.queries))
        self.looked_up.append(LookedUp(said.pipeline, queries, tuple(passage.id for passage in said.passages)))
        if self._known is None:
            return
        for passage in said.passages:
            if passage.id not in self._known and len(self.further) < MOST_FURTHER:
                self._known.add(passage.id)
                self.further.append(passage)
